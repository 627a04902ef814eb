import type { Reads } from '../sqlite-methods.ts';
import { pagedList } from '../sqlite-pages.ts';
import type { SqliteReader } from '../sqlite-reader.ts';

export function memberReads({ prepare }: SqliteReader): Reads<'members'> {
  const group = prepare<[groupNo: number, total: number]>(
    'SELECT group_no, member_count FROM groups WHERE project_no = ? AND id = ?',
  );
  const members = pagedList(prepare, {
    entry: `json_object('id', user_id, 'name', name, 'email', email)`,
    from: 'memberships',
    owner: 'group_no',
    id: 'user_id',
  });
  const user = prepare<[userNo: number, total: number]>(`
    SELECT user_no, (SELECT count(*) FROM user_groups ug WHERE ug.user_no = u.user_no)
    FROM users u WHERE project_no = ? AND id = ?`);
  const groups = pagedList(prepare, {
    entry: `json_object('id', group_id, 'name', name, 'status', status)`,
    from: 'user_groups ug CROSS JOIN groups g ON g.group_no = ug.group_no',
    index: 'user_groups',
    owner: 'user_no',
    id: 'group_id',
  });

  return {
    async list(project, id, page) {
      const found = group.get(project, id);
      return found === undefined ? null : { ...members(found[0], page), total: found[1] };
    },
    async listGroups(project, id, page) {
      const found = user.get(project, id);
      return found === undefined ? null : { ...groups(found[0], page), total: found[1] };
    },
  };
}
