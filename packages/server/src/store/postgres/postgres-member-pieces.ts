import type { GroupRecord, Json, ProjectKey } from '../store.ts';
import { toGroup } from './postgres-group-row.ts';
import type { LongReads, Snapshot } from './postgres-snapshots.ts';

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
  const snapshot = await longReads.snapshot();
  try {
    const [row] = await snapshot.read(GROUP, project, id);
    if (row !== undefined) return toGroup(id, row, new MemberPieces(snapshot, project, id));
  } catch (error) {
    snapshot.release();
    throw error;
  }
  snapshot.release();
  return null;
}

/** The members of one group as pieces of one JSON array. */
class MemberPieces implements AsyncIterable<Json>, AsyncIterator<Json> {
  readonly #snapshot: Snapshot;
  readonly #project: ProjectKey;
  readonly #id: string;
  #after = '';
  #next: 'beginning' | 'members' | 'end' | 'nothing' = 'beginning';

  constructor(snapshot: Snapshot, project: ProjectKey, id: string) {
    this.#snapshot = snapshot;
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
        this.#snapshot.release();
        return { done: false, value: ']' };
      default:
        return { done: true, value: undefined };
    }
  }

  async return(): Promise<IteratorResult<Json>> {
    this.#next = 'nothing';
    this.#snapshot.release();
    return { done: true, value: undefined };
  }

  async #members(): Promise<Json> {
    const [row] = await this.#snapshot.read(MEMBERS, this.#project, this.#id, this.#after);
    const [ids, count, last] = row as unknown as [string | null, number, string | null];
    if (count < PIECE_MEMBERS) this.#next = 'end';
    if (ids === null || last === null) return '';
    const separator = this.#after === '' ? '' : ',';
    this.#after = last;
    return separator + ids.slice(1, -1);
  }
}
