/**
 * Reads the body of a batch: the same for every engine, on whichever thread the engine reads it. Schema checks happen
 * here; the engine reads what needs the store (does a nameless group exist?).
 */
import {
  Batch,
  isJsonObject,
  JsonObjectError,
  limits,
  parseJsonObject,
  ValidationErrors,
  validator,
} from '@rollcall/protocol';
import type { BatchOutcome } from './ports/batches.ts';

type Rejected = Extract<BatchOutcome, { kind: 'malformed' | 'invalid' }>;

/** A parsed batch and what is wrong with it so far. */
export interface BatchDocument {
  readonly value: unknown;
  readonly errors: ValidationErrors;
  /** Groups that have no name of their own nor from an earlier item: each is an error unless the store has it. */
  readonly nameless: readonly { readonly index: number; readonly id: string }[];
}

const validateBatch = validator(Batch);

/** Parses and checks the bytes; the engine then reports the nameless groups that it lacks with {@link completeBatch}. */
export function readBatch(body: Uint8Array): BatchDocument | Rejected {
  try {
    const value = parseJsonObject(body);
    const errors = new ValidationErrors();
    validateBatch(value, errors);
    return { value, errors, nameless: namelessGroups(value.groups) };
  } catch (error) {
    if (error instanceof JsonObjectError) return { kind: 'malformed', message: error.message };
    throw error;
  }
}

/** The checked batch, or why it is rejected. `groupExists` is called for each nameless group. */
export function completeBatch(
  document: BatchDocument,
  groupExists: (id: string) => boolean,
): Batch | Rejected {
  const { errors } = document;
  for (const { index, id } of document.nameless) {
    if (!groupExists(id)) errors.missing.add(`groups[${index}].name`, 'a name, which a new group needs');
  }
  return errors.clean ? (document.value as Batch) : { kind: 'invalid', errors };
}

export function isRejected(read: object): read is Rejected {
  return 'kind' in read && (read.kind === 'malformed' || read.kind === 'invalid');
}

function namelessGroups(groups: unknown): { index: number; id: string }[] {
  // Of a list that is too long only the length is checked.
  if (!Array.isArray(groups) || groups.length > limits.BATCH_MAX_GROUPS) return [];
  const named = new Set<string>();
  const nameless: { index: number; id: string }[] = [];
  for (const [index, group] of groups.entries()) {
    if (!isJsonObject(group) || typeof group.id !== 'string') continue;
    if (Object.hasOwn(group, 'name')) named.add(group.id);
    else if (!named.has(group.id)) nameless.push({ index, id: group.id });
  }
  return nameless;
}
