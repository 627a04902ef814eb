import type { Findings, Problem, Problems } from '@rollcall/protocol';
import { ServiceError } from './service-error.ts';

/** The three steps of a check; those of a batch come without the class around them. */
export type Misfit = Pick<Findings, 'unexpected' | 'missing' | 'invalid'>;

/**
 * The refusal that a misfit calls for: unexpected fields first, then missing, then invalid ones; all of that step are
 * named, up to a limit, and the rest counted.
 */
export function findingsError(misfit: Misfit): ServiceError {
  if (misfit.unexpected.count > 0) {
    return new ServiceError(
      'unexpected_field',
      sentence('unexpected', misfit.unexpected, 'expected fields: '),
    );
  }
  if (misfit.missing.count > 0) {
    return new ServiceError('missing_field', sentence('missing', misfit.missing, 'expected '));
  }
  return new ServiceError('invalid_field', sentence('invalid', misfit.invalid, 'expected '));
}

function sentence(step: string, problems: Problems, label: string): string {
  const field = problems.count === 1 ? 'field' : 'fields';
  const parts = [...byExpectation(problems.named)].map(
    ([expected, places]) => `${places.map(clipped).join(', ')} (${label}${expected})`,
  );
  return `${step} ${field} ${parts.join('; ')}${andMore(problems.count - problems.named.length)}`;
}

/** Long enough for any place of ours; a name made up by the caller may have megabytes. */
const PLACE_MAX_LENGTH = 100;

const clipped = (place: string) =>
  place.length > PLACE_MAX_LENGTH ? `${place.slice(0, PLACE_MAX_LENGTH)}…` : place;

/** Fields of which the same is expected are named together, so that a long list says it once. */
function byExpectation(problems: readonly Problem[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const { place, expected } of problems) {
    const places = groups.get(expected);
    if (places === undefined) groups.set(expected, [place]);
    else places.push(place);
  }
  return groups;
}

/** How a list that names only its first entries ends. */
export function andMore(unnamed: number): string {
  return unnamed > 0 ? ` and ${unnamed} more` : '';
}

/** Adds what another part of the request has wrong, under places that tell the parts apart. */
export function addMisfit(all: Findings, misfit: Misfit, rename = (place: string) => place): void {
  for (const step of ['unexpected', 'missing', 'invalid'] as const) {
    for (const { place, expected } of misfit[step].named) all[step].add(rename(place), expected);
    all[step].count += misfit[step].count - misfit[step].named.length;
  }
}
