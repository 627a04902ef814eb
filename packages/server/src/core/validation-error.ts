import { type Problems, ValidationErrors } from '@rollcall/protocol';
import type { Precondition } from '../store/precondition.ts';
import { ServiceError } from './service-error.ts';

/** The three steps of a check; those of a batch come without the class around them. */
export type ErrorsByStep = Pick<ValidationErrors, 'unexpected' | 'missing' | 'invalid'>;

/**
 * The error that answers these: unexpected fields first, then missing, then invalid ones; all of that step are
 * named, up to a limit, and the rest counted.
 */
export function validationError(errors: ErrorsByStep): ServiceError {
  if (errors.unexpected.count > 0) {
    return new ServiceError(
      'unexpected_field',
      sentence('unexpected', errors.unexpected, 'expected fields: '),
    );
  }
  if (errors.missing.count > 0) {
    return new ServiceError('missing_field', sentence('missing', errors.missing, 'expected '));
  }
  return new ServiceError('invalid_field', sentence('invalid', errors.invalid, 'expected '));
}

/** The error of one field with a wrong value. */
export const invalidField = (field: string, expected: string): ServiceError =>
  invalidFields([field], expected);

/** The same for several fields of which the same is expected. */
export function invalidFields(fields: readonly string[], expected: string): ServiceError {
  const errors = new ValidationErrors();
  for (const field of fields) errors.invalid.add(field, expected);
  return validationError(errors);
}

/** The fields without which something is not created, and what is expected of each. */
export type RequiredFields = Readonly<Record<string, string>>;

/** The error of a creation without these fields, which may be invalid in other respects. */
export function requiredToCreate(fields: RequiredFields, errors: ErrorsByStep = new ValidationErrors()) {
  for (const [field, expected] of Object.entries(fields))
    errors.missing.add(field, `${expected}, to create it`);
  return validationError(errors);
}

/**
 * Rejects a write that is invalid. Which fields are missing depends on the resource being there, and missing comes before
 * invalid, so the store is read when only values are wrong. A caller who requires it to be there (`ifMatch`) is not
 * creating it.
 */
export async function rejectInvalidWrite(
  write: object,
  required: RequiredFields,
  { ifMatch }: Precondition,
  errors: ErrorsByStep,
  isThere: () => Promise<boolean>,
): Promise<never> {
  const missing = Object.entries(required).filter(([field]) => !Object.hasOwn(write, field));
  const mayCreate = missing.length > 0 && ifMatch === undefined && errors.unexpected.count === 0;
  if (mayCreate && !(await isThere())) throw requiredToCreate(Object.fromEntries(missing), errors);
  throw validationError(errors);
}

function sentence(step: string, problems: Problems, label: string): string {
  const field = problems.count === 1 ? 'field' : 'fields';
  // Fields of which the same is expected are named together, so that a long list has it once.
  const parts = [...Map.groupBy(problems.named, ({ expected }) => expected)].map(
    ([expected, same]) => `${same.map(({ path }) => clipped(path)).join(', ')} (${label}${expected})`,
  );
  return `${step} ${field} ${parts.join('; ')}${andMore(problems.count - problems.named.length)}`;
}

/** Longer than any path of a known field; an unknown field of the caller can have a name of megabytes. */
const PATH_MAX_LENGTH = 160;

const clipped = (path: string) =>
  path.length > PATH_MAX_LENGTH ? `${path.slice(0, PATH_MAX_LENGTH)}…` : path;

/** How a list that names only its first entries ends. */
export function andMore(unnamed: number): string {
  return unnamed > 0 ? ` and ${unnamed} more` : '';
}

/** Adds the errors of another part of the request, under paths that name the part. */
export function mergeErrors(
  all: ValidationErrors,
  errors: ErrorsByStep,
  rename = (path: string) => path,
): void {
  for (const step of ['unexpected', 'missing', 'invalid'] as const) {
    for (const { path, expected } of errors[step].named) all[step].add(rename(path), expected);
    all[step].count += errors[step].count - errors[step].named.length;
  }
}
