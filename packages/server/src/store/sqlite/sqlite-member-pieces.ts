import type { GroupRecord, Json, ProjectKey } from '../store.ts';
import { readFailure } from './sqlite-errors.ts';
import { toGroup } from './sqlite-group-row.ts';
import { inside } from './sqlite-pages.ts';
import { LongRead, type SnapshotPool } from './sqlite-snapshots.ts';

/** Members read at a time, the event loop let go between: under a millisecond. */
const PIECE_MEMBERS = 5_000;

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
  const longRead = await LongRead.begin(pool);
  try {
    const row = longRead.statement(GROUP).get(project, id);
    if (row !== undefined) return toGroup(id, row, new MemberPieces(longRead, row[5] as number));
  } catch (error) {
    longRead.release();
    throw readFailure(error);
  }
  longRead.release();
  return null;
}

/** The members of one group as pieces of one JSON array. Its snapshot ends when it was read, left, or left idle. */
class MemberPieces implements AsyncIterable<Json>, AsyncIterator<Json> {
  readonly #longRead: LongRead;
  readonly #groupNo: number;
  #after = '';
  #next: 'beginning' | 'members' | 'end' | 'nothing' = 'beginning';

  constructor(longRead: LongRead, groupNo: number) {
    this.#longRead = longRead;
    this.#groupNo = groupNo;
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
        this.#longRead.release();
        return { done: false, value: ']' };
      default:
        return { done: true, value: undefined };
    }
  }

  async return(): Promise<IteratorResult<Json>> {
    this.#next = 'nothing';
    this.#longRead.release();
    return { done: true, value: undefined };
  }

  /** The next of them, the event loop let go before. */
  async #members(): Promise<Json> {
    await new Promise(setImmediate);
    const row = this.#longRead.statement(MEMBERS).get(this.#groupNo, this.#after) as [
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
}
