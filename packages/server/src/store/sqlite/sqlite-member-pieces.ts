import { type GroupRecord, type Json, type ProjectKey, StoreUnavailableError } from '../store.ts';
import { readFailure } from './sqlite-errors.ts';
import { toGroup } from './sqlite-group-row.ts';
import { inside } from './sqlite-pages.ts';
import type { Snapshot, SnapshotPool } from './sqlite-snapshots.ts';

/** Members read at a time, the event loop let go between: under a millisecond. */
const PIECE_MEMBERS = 5_000;
/** A reader that takes nothing for so long loses its snapshot, which keeps the log from being folded into the file. */
const IDLE_LIMIT_MS = 30_000;
/** Nobody holds a snapshot for longer, however steadily they read. */
const TOTAL_LIMIT_MS = 5 * 60_000;

const GROUP = `
  SELECT name, status, metadata, workspace IS NOT NULL, revision, group_no FROM groups
  WHERE project_no = ? AND id = ?`;
const MEMBERS = `
  SELECT json_group_array(user_id), count(*), max(user_id) FROM (
    SELECT user_id FROM memberships WHERE group_no = ? AND user_id > ? ORDER BY user_id LIMIT ${PIECE_MEMBERS})`;

/** A group with many members: all of it from one snapshot, the members in pieces. Null when it is not there. */
export async function readMembersInPieces(
  pool: SnapshotPool,
  project: ProjectKey,
  id: string,
): Promise<GroupRecord | null> {
  const snapshot = await pool.acquire();
  try {
    const row = snapshot.statement(GROUP).get(project, id);
    if (row !== undefined) return toGroup(id, row, new MemberPieces(pool, snapshot, row[5] as number));
  } catch (error) {
    pool.release(snapshot);
    throw readFailure(error);
  }
  pool.release(snapshot);
  return null;
}

/** The members of one group as pieces of one JSON array. Its snapshot ends when it was read, left, or left idle. */
class MemberPieces implements AsyncIterable<Json>, AsyncIterator<Json> {
  readonly #pool: SnapshotPool;
  readonly #groupNo: number;
  readonly #idle: NodeJS.Timeout;
  readonly #total: NodeJS.Timeout;
  #snapshot: Snapshot | null;
  #after = '';
  #next: 'beginning' | 'members' | 'end' | 'nothing' = 'beginning';

  constructor(pool: SnapshotPool, snapshot: Snapshot, groupNo: number) {
    this.#pool = pool;
    this.#snapshot = snapshot;
    this.#groupNo = groupNo;
    this.#idle = setTimeout(() => this.#end(), IDLE_LIMIT_MS).unref();
    this.#total = setTimeout(() => this.#end(), TOTAL_LIMIT_MS).unref();
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
        this.#end();
        return { done: false, value: ']' };
      default:
        return { done: true, value: undefined };
    }
  }

  async return(): Promise<IteratorResult<Json>> {
    this.#next = 'nothing';
    this.#end();
    return { done: true, value: undefined };
  }

  /** The next of them, the event loop let go before. */
  async #members(): Promise<Json> {
    await new Promise(setImmediate);
    if (this.#snapshot === null)
      throw new StoreUnavailableError('a long read took too long, and lost its snapshot');
    this.#idle.refresh();
    const row = this.#snapshot.statement(MEMBERS).get(this.#groupNo, this.#after) as [
      string,
      number,
      string | null,
    ];
    const [ids, count, last] = row;
    const separator = this.#after === '' || count === 0 ? '' : ',';
    this.#after = last ?? this.#after;
    if (count < PIECE_MEMBERS) this.#next = 'end';
    return separator + inside(ids);
  }

  #end(): void {
    clearTimeout(this.#idle);
    clearTimeout(this.#total);
    if (this.#snapshot !== null) this.#pool.release(this.#snapshot);
    this.#snapshot = null;
  }
}
