import { limits } from '@rollcall/protocol';
import { type ConversationEntry, conversationConflict } from './conversation-line.ts';
import type { Entry } from './roster-entry.ts';

export interface BatchLimits {
  readonly users: number;
  readonly groups: number;
  /** Bytes of the request's body. Lowered during a run where the server takes less. */
  bytes: number;
}

/** Far below the server's default limit for a body, and more than a batch of ordinary lines needs. */
const BATCH_BYTES = 4 * 1_024 * 1_024;

export const batchLimits = (): BatchLimits => ({
  users: limits.BATCH_MAX_USERS,
  groups: limits.BATCH_MAX_GROUPS,
  bytes: BATCH_BYTES,
});

/** The length of `{"users":[],"groups":[]}`. */
const ENVELOPE_BYTES = 24;

/**
 * Consecutive lines that go in one request. The server applies a request's users before its groups; that has the same
 * outcome as the order of the file as long as no user comes after a group that names them.
 */
export class Batch {
  readonly entries: Entry[] = [];
  readonly #users = new Set<string>();
  readonly #groups = new Set<string>();
  readonly #members = new Set<string>();
  #userCount = 0;
  #bytes = ENVELOPE_BYTES;

  /** Whether the entry can follow in the same request. A batch takes any first entry, however large. */
  fits(entry: Entry, limits: BatchLimits): boolean {
    if (this.entries.length === 0) return true;
    if (this.#bytes + entry.bytes + 1 > limits.bytes) return false;
    if (entry.kind === 'group') return this.entries.length - this.#userCount < limits.groups;
    return this.#userCount < limits.users && !(entry.id !== null && this.#members.has(entry.id));
  }

  add(entry: Entry): void {
    this.entries.push(entry);
    this.#bytes += entry.bytes + 1;
    if (entry.kind === 'user') this.#userCount += 1;
    if (entry.id !== null) (entry.kind === 'user' ? this.#users : this.#groups).add(entry.id);
    for (const id of entry.members) this.#members.add(id);
  }

  /** Both write an ID, or one writes users whom the other names. */
  conflictsWith(other: Batch): boolean {
    return !(
      this.#users.isDisjointFrom(other.#users) &&
      this.#groups.isDisjointFrom(other.#groups) &&
      this.#members.isDisjointFrom(other.#users) &&
      this.#users.isDisjointFrom(other.#members)
    );
  }
}

/** What one request sends: users and groups, or a line about a thread or a message, which needs all users and groups before it. */
export type Unit = Batch | ConversationEntry;

/** Whether it matters which of the two is applied first. */
export function conflict(one: Unit, other: Unit): boolean {
  if (one instanceof Batch) return !(other instanceof Batch) || one.conflictsWith(other);
  return other instanceof Batch || conversationConflict(one, other);
}

const isOfConversation = (entry: Entry | ConversationEntry): entry is ConversationEntry =>
  entry.kind === 'thread' || entry.kind === 'message';

/**
 * Packs users and groups into batches, in order, and passes on threads and messages one by one. Where the source fails, the
 * entries before are still passed on.
 */
export async function* planBatches(
  entries: AsyncIterable<Entry | ConversationEntry>,
  limits: BatchLimits,
): AsyncGenerator<Unit> {
  let batch = new Batch();
  let failure: { readonly error: unknown } | null = null;
  try {
    for await (const entry of entries) {
      if (isOfConversation(entry)) {
        if (batch.entries.length > 0) yield batch;
        batch = new Batch();
        yield entry;
        continue;
      }
      if (!batch.fits(entry, limits)) {
        yield batch;
        batch = new Batch();
      }
      batch.add(entry);
    }
  } catch (error) {
    failure = { error };
  }
  if (batch.entries.length > 0) yield batch;
  if (failure !== null) throw failure.error;
}
