import { StoreUnavailableError } from '../../../values/engine-errors.ts';
import type { Json } from '../../../values/json.ts';
import type { ProjectKey } from '../../../values/project-key.ts';
import { columnsOf } from '../../columns.ts';
import type { GroupRecord } from '../../ports/groups.ts';
import { GROUP_COLUMNS, type GroupFields } from '../../roster-columns.ts';
import type { LongReads, Snapshot } from '../connections/postgres-snapshots.ts';

/** Members read at a time. */
const PIECE_MEMBERS = 5_000;

export const GROUP = columnsOf(GROUP_COLUMNS);

const FIND = `SELECT ${GROUP.sql} FROM groups WHERE project_id = $1 AND id = $2`;
const MEMBERS = `
  SELECT array_to_json(array_agg(user_id ORDER BY user_id))::text, count(*), max(user_id) FROM (
    SELECT user_id FROM memberships WHERE project_id = $1 AND group_id = $2 AND user_id > $3
    ORDER BY user_id LIMIT ${PIECE_MEMBERS}) piece`;

/** A group with many members: all of it from one state, the members in pieces. Null when it is not there. */
export async function findLargeGroup(
  longReads: LongReads,
  project: ProjectKey,
  id: string,
): Promise<GroupRecord | null> {
  const open = () => openGroup(longReads, project, id);
  const opened = await open();
  if (opened === null) return null;
  const members = membersOf(opened, open, project);
  // A generator that has not begun would not release the snapshot when its reader leaves.
  await members.next();
  return { ...opened.group, members };
}

/** A group in one state of the store. */
interface OpenedGroup {
  readonly snapshot: Snapshot;
  readonly group: GroupFields;
}

async function openGroup(longReads: LongReads, project: ProjectKey, id: string): Promise<OpenedGroup | null> {
  using opening = new DisposableStack();
  const snapshot = opening.use(await longReads.snapshot(project));
  const [row] = await snapshot.read(FIND, project, id);
  if (row === undefined) return null;
  opening.move();
  return { snapshot, group: GROUP.toRecord(row) };
}

/**
 * The members of a group as pieces of one JSON array, after a first piece that is empty. Where a slow reader has lost the
 * snapshot, another one serves as well, as long as the group has the same revision.
 */
async function* membersOf(
  opened: OpenedGroup,
  reopen: () => Promise<OpenedGroup | null>,
  project: ProjectKey,
): AsyncGenerator<Json, void, void> {
  let { snapshot } = opened;
  const { id, revision } = opened.group;
  try {
    yield '';
    let [piece, after, count]: [string, string, number] = ['[', '', PIECE_MEMBERS];
    while (count === PIECE_MEMBERS) {
      yield piece;
      if (snapshot.hasEnded) {
        const again = await reopen();
        if (again !== null) snapshot = again.snapshot;
        if (again?.group.revision !== revision)
          throw new StoreUnavailableError('a long read lost its snapshot, and the group has changed since');
      }
      const [row] = await snapshot.read(MEMBERS, project, id, after);
      const [ids, found, last] = row as unknown as [string | null, number, string | null];
      piece = ids === null ? '' : (after === '' ? '' : ',') + ids.slice(1, -1);
      [count, after] = [found, last ?? after];
    }
    yield piece;
    // Before the end of the text: its reader may take nothing after that.
    snapshot.release();
    yield ']';
  } finally {
    snapshot.release();
  }
}
