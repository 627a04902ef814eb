import type { PageRequest } from '../../../values/page.ts';
import type { ProjectKey } from '../../../values/project-key.ts';
import type { MemberStore } from '../../ports/members.ts';
import { isPacked } from '../../worker-threads/packed-ids.ts';
import type { Row } from '../connections/postgres-connection.ts';
import type { PostgresEngine } from '../postgres-engine.ts';
import { pageSql, toPage } from '../postgres-pages.ts';
import { jsonText } from '../postgres-text.ts';
import { changeMembers } from './postgres-group-writes.ts';

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

export function memberStore({ database, largeWrites }: PostgresEngine): MemberStore {
  const read = async (sql: string, project: ProjectKey, id: string, { after, limit }: PageRequest) => {
    const [row] = await database.read(sql, project, id, after ?? '', limit);
    return toPage(row as Row);
  };
  return {
    change: (project, id, change, context) =>
      isPacked(change.add) || isPacked(change.remove)
        ? largeWrites.apply('changeMembers', project, id, change, context)
        : changeMembers(database, project, id, change, context),
    list: (project, id, page) => read(MEMBERS, project, id, page),
    listGroups: (project, id, page) => read(GROUPS_OF_USER, project, id, page),
  };
}
