import { type GroupRecord, type Json, type ProjectKey, StoreUnavailableError } from '../store.ts';
import type { Row } from './connections/postgres-connection.ts';
import type { LongReads, Snapshot } from './connections/postgres-snapshots.ts';
import { toGroup } from './postgres-group-row.ts';

/** Members read at a time. */
const PIECE_MEMBERS = 5_000;

const GROUP = `
  SELECT name, status, metadata, workspace IS NOT NULL, revision FROM groups WHERE project_id = $1 AND id = $2`;
const MEMBERS = `
  SELECT array_to_json(array_agg(user_id ORDER BY user_id))::text, count(*), max(user_id) FROM (
    SELECT user_id FROM memberships WHERE project_id = $1 AND group_id = $2 AND user_id > $3
    ORDER BY user_id LIMIT ${PIECE_MEMBERS}) piece`;

/** A group with many members: all of it from one state, the members in pieces. Null when it is not there. */
export async function readMembersInPieces(
  longReads: LongReads,
  project: ProjectKey,
  id: string,
): Promise<GroupRecord | null> {
  const held = await hold(longReads, project, id);
  return held && toGroup(id, held.row, new MemberPieces(longReads, held, project, id));
}

/** A group in one state of the store. */
interface HeldGroup {
  readonly snapshot: Snapshot;
  /** See {@link toGroup}. */
  readonly row: Row;
}

const revisionOf = ({ row }: HeldGroup) => row[4];

async function hold(longReads: LongReads, project: ProjectKey, id: string): Promise<HeldGroup | null> {
  const snapshot = await longReads.snapshot(project);
  try {
    const [row] = await snapshot.read(GROUP, project, id);
    if (row !== undefined) return { snapshot, row };
  } catch (error) {
    snapshot.release();
    throw error;
  }
  snapshot.release();
  return null;
}

/**
 * The members of one group as pieces of one JSON array. Where a slow reader has lost the snapshot, another one serves as
 * well, as long as the group still has the revision that it had.
 */
class MemberPieces implements AsyncIterable<Json>, AsyncIterator<Json> {
  readonly #longReads: LongReads;
  readonly #project: ProjectKey;
  readonly #id: string;
  #held: HeldGroup;
  #after = '';
  #next: 'beginning' | 'members' | 'end' | 'nothing' = 'beginning';

  constructor(longReads: LongReads, held: HeldGroup, project: ProjectKey, id: string) {
    this.#longReads = longReads;
    this.#held = held;
    this.#project = project;
    this.#id = id;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Json>> {
    switch (this.#next) {
      case 'beginning':
        this.#next = 'members';
        return { done: false, value: '[' };
      case 'members':
        return { done: false, value: await this.#members() };
      case 'end':
        this.#next = 'nothing';
        this.#held.snapshot.release();
        return { done: false, value: ']' };
      default:
        return { done: true, value: undefined };
    }
  }

  async return(): Promise<IteratorResult<Json>> {
    this.#next = 'nothing';
    this.#held.snapshot.release();
    return { done: true, value: undefined };
  }

  async #members(): Promise<Json> {
    if (this.#held.snapshot.hasEnded) await this.#holdAnew();
    const [row] = await this.#held.snapshot.read(MEMBERS, this.#project, this.#id, this.#after);
    const [ids, count, last] = row as unknown as [string | null, number, string | null];
    if (count < PIECE_MEMBERS) this.#next = 'end';
    if (ids === null || last === null) return '';
    const separator = this.#after === '' ? '' : ',';
    this.#after = last;
    return separator + ids.slice(1, -1);
  }

  /** @throws StoreUnavailableError when the group has changed */
  async #holdAnew(): Promise<void> {
    const held = await hold(this.#longReads, this.#project, this.#id);
    const isSame = held !== null && revisionOf(held) === revisionOf(this.#held);
    if (held !== null && isSame && !this.#isLeft) this.#held = held;
    else {
      held?.snapshot.release();
      throw new StoreUnavailableError('a long read lost its snapshot, and the group has changed since');
    }
  }

  /** Whether the reader left, which may be while something is read. */
  get #isLeft(): boolean {
    return this.#next === 'nothing';
  }
}
