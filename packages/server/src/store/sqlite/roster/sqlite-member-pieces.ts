import type { Json } from '../../../values/json.ts';
import type { ProjectKey } from '../../../values/project-key.ts';
import type { GroupRecord } from '../../ports/groups.ts';
import { LongRead, type SnapshotPool } from '../sqlite-snapshots.ts';
import { GROUP, toGroup } from './sqlite-group-row.ts';

/** Members read in one event-loop tick: under a millisecond. */
const PIECE_MEMBERS = 5_000;

const FIND = `SELECT ${GROUP.sql}, group_no FROM groups WHERE project_no = ? AND id = ?`;
const MEMBERS = `
  SELECT group_concat(json_quote(user_id), ','), count(*), max(user_id) FROM (
    SELECT user_id FROM memberships WHERE group_no = ? AND user_id > ? ORDER BY user_id LIMIT ${PIECE_MEMBERS})`;

/** A group with many members: all of it from one snapshot, the members in pieces. Null when it is not there. */
export async function readMembersInPieces(
  pool: SnapshotPool,
  project: ProjectKey,
  id: string,
): Promise<GroupRecord | null> {
  using unfinished = new DisposableStack();
  const longRead = unfinished.adopt(await LongRead.begin(pool), (read) => read.release());
  const row = longRead.prepare(FIND).get(project, id);
  if (row === undefined) return null;
  unfinished.move();
  const members = readPieces(longRead, row.at(-1) as number);
  // A generator that has not begun would not release the snapshot when its reader leaves.
  await members.next();
  return toGroup(row, members);
}

/**
 * The members of a group as pieces of one JSON array, after a first piece that is empty. The snapshot ends with the iteration,
 * or when that is idle.
 */
async function* readPieces(longRead: LongRead, groupNo: number): AsyncGenerator<Json, void, void> {
  try {
    yield '';
    yield '[';
    for (let after = ''; ; ) {
      await new Promise(setImmediate);
      const members = longRead.prepare<[ids: string | null, count: number, last: string | null]>(MEMBERS);
      const [ids, count, last] = members.get(groupNo, after) ?? [null, 0, null];
      if (ids !== null) yield after === '' ? ids : `,${ids}`;
      if (count < PIECE_MEMBERS) break;
      after = last ?? after;
    }
  } finally {
    longRead.release();
  }
  yield ']';
}
