/**
 * Reads the body of a batch: the same for every engine, on whichever thread the engine reads it. Schema checks happen
 * here; what needs the store (does a nameless group exist?) is asked of the engine.
 */
import {
  Batch,
  Findings,
  inspector,
  isJsonObject,
  JsonObjectError,
  limits,
  parseJsonObject,
} from '@rollcall/protocol';
import type { BatchOutcome } from './store.ts';

type Refused = Extract<BatchOutcome, { kind: 'malformed' | 'misfit' }>;

/** A parsed batch and what is wrong with it so far. */
export interface BatchDocument {
  readonly value: unknown;
  readonly findings: Findings;
  /** Groups that have no name of their own nor from an earlier item: each is an error unless the store has it. */
  readonly nameless: readonly { readonly index: number; readonly id: string }[];
}

const inspectBatch = inspector(Batch);

/** Parses and checks the bytes; the engine then reports the nameless groups that it lacks with {@link settleBatch}. */
export function readBatch(body: Uint8Array): BatchDocument | Refused {
  try {
    const value = parseJsonObject(body);
    const findings = new Findings();
    inspectBatch(value, findings);
    return { value, findings, nameless: namelessGroups(value.groups) };
  } catch (error) {
    if (error instanceof JsonObjectError) return { kind: 'malformed', message: error.message };
    throw error;
  }
}

/** The checked batch, or why it is refused. `groupExists` is asked for each nameless group, before any of it applies. */
export function settleBatch(document: BatchDocument, groupExists: (id: string) => boolean): Batch | Refused {
  const { findings } = document;
  for (const { index, id } of document.nameless) {
    if (!groupExists(id)) findings.missing.add(`groups[${index}].name`, 'a name, which a new group needs');
  }
  return findings.clean ? (document.value as Batch) : { kind: 'misfit', findings };
}

export function isRefused(read: object): read is Refused {
  return 'kind' in read && (read.kind === 'malformed' || read.kind === 'misfit');
}

function namelessGroups(groups: unknown): { index: number; id: string }[] {
  // Of a list that is too long nothing but its length is looked at.
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
