import type { PageRequest, ProjectKey, TotalPage } from '../store.ts';
import type { Row } from './connections/postgres-connection.ts';
import type { PostgresDatabase } from './connections/postgres-database.ts';
import { pageSql, toPage } from './postgres-pages.ts';
import { jsonText } from './postgres-text.ts';

const MEMBERS = pageSql({
  rows: 'SELECT user_id AS id FROM memberships WHERE project_id = $1 AND group_id = $2 AND user_id > $3',
  entry: `(SELECT '{"id":' || to_json(u.id)::text || ',"name":' || ${jsonText('u.name')}
    || ',"email":' || ${jsonText('u.email')} || '}' FROM users u WHERE u.project_id = $1 AND u.id = page.id)`,
  limit: '$4',
  total: '(SELECT member_count FROM groups WHERE project_id = $1 AND id = $2)',
});

const GROUPS_OF_USER = pageSql({
  rows: 'SELECT group_id AS id FROM memberships WHERE project_id = $1 AND user_id = $2 AND group_id > $3',
  entry: `(SELECT '{"id":' || to_json(g.id)::text || ',"name":' || to_json(g.name)::text
    || ',"status":"' || g.status || '"}' FROM groups g WHERE g.project_id = $1 AND g.id = page.id)`,
  limit: '$4',
  total: `(SELECT (SELECT count(*) FROM memberships WHERE project_id = $1 AND user_id = $2)
    FROM users WHERE project_id = $1 AND id = $2)`,
});

/** Reads of memberships from both sides. */
export function memberReads(database: PostgresDatabase) {
  const read = async (sql: string, project: ProjectKey, id: string, { after, limit }: PageRequest) => {
    const [row] = await database.read(sql, project, id, after ?? '', limit);
    return toPage(row as Row);
  };
  return {
    list: (project: ProjectKey, id: string, page: PageRequest): Promise<TotalPage | null> =>
      read(MEMBERS, project, id, page),
    groupsOf: (project: ProjectKey, id: string, page: PageRequest): Promise<TotalPage | null> =>
      read(GROUPS_OF_USER, project, id, page),
  };
}
