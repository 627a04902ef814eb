import type { Status } from '@rollcall/protocol';
import type { Incarnation, ProjectKey, Standing, StandingQuestion } from '../store.ts';
import type { Row } from './sqlite-connection.ts';
import type { SqliteReader } from './sqlite-reader.ts';

/** A user's standing in a group, with the numbers of both: see {@link toStanding}. */
export const STANDING = `
  SELECT (SELECT status FROM users WHERE project_no = ?1 AND id = ?3), g.status,
    (SELECT user_no FROM memberships m WHERE m.group_no = g.group_no AND m.user_id = ?3), g.group_no,
    (SELECT incarnation FROM memberships m WHERE m.group_no = g.group_no AND m.user_id = ?3)
  FROM (SELECT 1) LEFT JOIN groups g ON g.project_no = ?1 AND g.id = ?2`;

/** The same for members, who nearly all askers are about: without looking the user up by ID. */
const MEMBER_STANDING = `
  SELECT u.status, g.status, m.incarnation FROM groups g
    CROSS JOIN memberships m ON m.group_no = g.group_no AND m.user_id = ?3
    CROSS JOIN users u ON u.user_no = m.user_no
  WHERE g.project_no = ?1 AND g.id = ?2`;

export function toStanding(row: Row): Standing {
  return {
    user: row[0] as Status | null,
    group: row[1] as Status | null,
    incarnation: row[4] as Incarnation | null,
  };
}

export const mayBePresent = ({ user, group, incarnation }: Standing): boolean =>
  user === 'active' && group === 'active' && incarnation !== null;

/** Reads of who may be present, on the main thread. */
export function standingReads(reader: SqliteReader) {
  const ofMember = reader.prepare(MEMBER_STANDING);
  const ofAnyone = reader.prepare(STANDING);
  const presentable = reader.prepare(`
    SELECT m.user_id, m.incarnation FROM groups g CROSS JOIN json_each(?3) wanted
      CROSS JOIN memberships m ON m.group_no = g.group_no AND m.user_id = wanted.value
      CROSS JOIN users u ON u.user_no = m.user_no
    WHERE g.project_no = ?1 AND g.id = ?2 AND g.status = 'active' AND u.status = 'active'
    ORDER BY m.user_id`);

  const standing = (project: ProjectKey, groupId: string, userId: string): Standing => {
    const row = ofMember.get(project, groupId, userId);
    if (row === undefined) return toStanding(ofAnyone.get(project, groupId, userId) as Row);
    return { user: row[0] as Status, group: row[1] as Status, incarnation: row[2] as Incarnation };
  };
  return {
    standing,
    standings: (project: ProjectKey, asked: readonly StandingQuestion[]): Standing[] =>
      asked.map(({ groupId, userId }) => standing(project, groupId, userId)),
    presentable: (project: ProjectKey, groupId: string, userIds: readonly string[]) =>
      new Map(
        presentable.all(project, groupId, JSON.stringify(userIds)) as unknown as [string, Incarnation][],
      ),
  };
}
