import type { SQLInputValue } from 'node:sqlite';
import type { PageRequest, ProjectKey, TotalPage } from '../store.ts';
import type { Row } from './sqlite-connection.ts';
import { inside, toPage, UNPEEKED } from './sqlite-pages.ts';
import type { ReadStatement, SqliteReader } from './sqlite-reader.ts';

/** Reads of memberships from both sides, on the main thread. */
export function memberReads(reader: SqliteReader) {
  const group = reader.prepare('SELECT group_no, member_count FROM groups WHERE project_no = ? AND id = ?');
  const members = reader.prepare(`
    SELECT json_group_array(json_object('id', id, 'name', name, 'email', email)), count(*) FROM (
      SELECT user_id AS id, name, email FROM memberships WHERE group_no = ? AND user_id > ?
      ORDER BY user_id LIMIT ${UNPEEKED})`);
  const memberBoundary = reader.prepare(
    `SELECT user_id FROM memberships WHERE group_no = ? AND user_id > ? ORDER BY user_id LIMIT 2 OFFSET ${UNPEEKED}`,
  );
  const user = reader.prepare('SELECT user_no FROM users WHERE project_no = ? AND id = ?');
  const userGroups = reader.prepare(`
    SELECT json_group_array(json_object('id', id, 'name', name, 'status', status)), count(*) FROM (
      SELECT g.id, g.name, g.status FROM user_groups ug CROSS JOIN groups g ON g.group_no = ug.group_no
      WHERE ug.user_no = ? AND ug.group_id > ? ORDER BY ug.group_id LIMIT ${UNPEEKED})`);
  const groupBoundary = reader.prepare(
    `SELECT group_id FROM user_groups WHERE user_no = ? AND group_id > ? ORDER BY group_id LIMIT 2 OFFSET ${UNPEEKED}`,
  );
  const groupCount = reader.prepare('SELECT count(*) FROM user_groups WHERE user_no = ?');

  const read = (list: ReadStatement, boundary: ReadStatement, owner: SQLInputValue, page: PageRequest) => {
    const start = page.after ?? '';
    const row = list.get(owner, start, page.limit) as Row;
    const found = toPage(row, page.limit, (offset) => boundary.all(owner, start, offset));
    return { items: inside(found.items), count: found.count, last: found.last };
  };
  return {
    list(project: ProjectKey, id: string, page: PageRequest): TotalPage | null {
      const found = group.get(project, id);
      if (found === undefined) return null;
      const [groupNo = 0, total] = found;
      return { ...read(members, memberBoundary, groupNo, page), total: total as number };
    },
    groupsOf(project: ProjectKey, id: string, page: PageRequest): TotalPage | null {
      const found = user.get(project, id);
      if (found === undefined) return null;
      const [userNo = 0] = found;
      const total = groupCount.get(userNo)?.[0] as number;
      return { ...read(userGroups, groupBoundary, userNo, page), total };
    },
  };
}
