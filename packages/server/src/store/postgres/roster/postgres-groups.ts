import type { Page, PageRequest } from '../../../values/page.ts';
import type { ProjectKey } from '../../../values/project-key.ts';
import type { GroupStore } from '../../ports/groups.ts';
import { isPacked } from '../../worker-threads/packed-ids.ts';
import type { Row } from '../connections/postgres-connection.ts';
import type { LongReads } from '../connections/postgres-snapshots.ts';
import type { PostgresEngine } from '../postgres-engine.ts';
import { byIdsSql, pageSql, toEndlessPage } from '../postgres-pages.ts';
import { textArray } from '../postgres-text.ts';
import { deleteGroup } from './postgres-deletions.ts';
import { connectGroup, putGroup } from './postgres-group-writes.ts';
import { findLargeGroup, GROUP } from './postgres-large-groups.ts';

/** Largest member list that is read in one piece, or deleted on the event loop. */
const MEMBERS_AT_ONCE = 10_000;

const FIND = `
  SELECT CASE WHEN member_count <= ${MEMBERS_AT_ONCE} THEN array_to_json(ARRAY(
      SELECT user_id FROM memberships m WHERE m.project_id = $1 AND m.group_id = $2 ORDER BY user_id))::text END,
    ${GROUP.sql}
  FROM groups WHERE project_id = $1 AND id = $2`;

const EXISTS = 'SELECT 1 FROM groups WHERE project_id = $1 AND id = $2';

/** A group in a list, from the row `page`. */
const ENTRY = `'{"id":' || to_json(page.id)::text || ',"name":' || to_json(page.name)::text
    || ',"status":"' || page.status || '","metadata":' || page.metadata
    || ',"connectedToMessenger":' || CASE WHEN page.workspace IS NULL THEN 'false' ELSE 'true' END || '}'`;

const LIST = pageSql({
  rows: 'SELECT * FROM groups WHERE project_id = $1 AND id > $2',
  entry: ENTRY,
  limit: '$3',
  total: 'NULL',
});
const LIST_BY_IDS = byIdsSql('groups', ENTRY);

export function groupStore({ database, longReads, largeWrites, purge }: PostgresEngine): GroupStore {
  const list = async (project: ProjectKey, { after, limit }: PageRequest): Promise<Page> => {
    const [row] = await database.read(LIST, project, after ?? '', limit);
    return toEndlessPage(row as Row);
  };
  return {
    async find(project, id) {
      const [row] = await database.read(FIND, project, id);
      if (row === undefined) return null;
      const [members, ...columns] = row;
      if (members === null) return findLargeGroup(longReads, project, id);
      return { ...GROUP.toRecord(columns), members: members as string };
    },
    exists: async (project, id) => (await database.read(EXISTS, project, id)).length > 0,
    list,
    async listByIds(project, ids) {
      const [row] = await database.read(LIST_BY_IDS, project, textArray(ids));
      return toEndlessPage(row as Row);
    },
    async *listAll(project, { after, limit }) {
      // A single page is of one state by itself, and needs no snapshot.
      const first = await list(project, { after, limit });
      if (first.last === null) yield first;
      else yield* listFromSnapshot(longReads, project, { after, limit });
    },
    put: (project, id, write, context) =>
      isPacked(write.members)
        ? largeWrites.apply('putGroup', project, id, write, context)
        : putGroup(database, project, id, write, context),
    async delete(...deletion) {
      const outcome =
        (await deleteGroup(database, deletion, MEMBERS_AT_ONCE)) ??
        (await largeWrites.apply('deleteGroup', ...deletion));
      if (outcome.kind === 'deleted') purge.start();
      return outcome;
    },
    connect: (...parameters) => connectGroup(database, ...parameters),
  };
}

async function* listFromSnapshot(
  longReads: LongReads,
  project: ProjectKey,
  { after, limit }: PageRequest,
): AsyncGenerator<Page, void, void> {
  using snapshot = await longReads.snapshot(project);
  let from: string | null = after ?? '';
  while (from !== null) {
    const [row] = await snapshot.read(LIST, project, from, limit);
    const page = toEndlessPage(row as Row);
    yield page;
    from = page.last;
  }
}
