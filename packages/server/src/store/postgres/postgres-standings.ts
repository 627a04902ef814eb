import type { Status } from '@rollcall/protocol';
import { Gathered } from '../../gathered.ts';
import type { ProjectKey, Standing, StandingQuestion } from '../store.ts';
import type { Row } from './connections/postgres-connection.ts';
import type { PostgresDatabase } from './connections/postgres-database.ts';
import { textArray } from './postgres-text.ts';

/** Most standings that one statement reads. */
const MOST_TOGETHER = 1_000;

/** A user's standing in a group: see {@link toStanding}. */
export const STANDING = `
  SELECT (SELECT status FROM users WHERE project_id = $1 AND id = $3),
    (SELECT status FROM groups WHERE project_id = $1 AND id = $2),
    EXISTS (SELECT 1 FROM memberships WHERE project_id = $1 AND group_id = $2 AND user_id = $3)`;

/**
 * Those who may not be present, with their places in the list: nearly all may, and what is not sent costs nobody
 * anything. Not EXISTS: of that a planner without fresh statistics may make a table of all memberships of the project.
 */
const NOT_ALLOWED = `
  SELECT user_status, group_status, is_member, place FROM (
    SELECT asked.place,
      (SELECT status FROM users u WHERE u.project_id = $1 AND u.id = asked.user_id) AS user_status,
      (SELECT status FROM groups g WHERE g.project_id = $1 AND g.id = asked.group_id) AS group_status,
      (SELECT TRUE FROM memberships m
        WHERE m.project_id = $1 AND m.group_id = asked.group_id AND m.user_id = asked.user_id) AS is_member
    FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS asked(group_id, user_id, place)) AS found
  WHERE user_status IS DISTINCT FROM 'active' OR group_status IS DISTINCT FROM 'active' OR is_member IS NULL`;
const ALLOWED: Standing = Object.freeze({ user: 'active', group: 'active', member: true });

const PRESENTABLE = `
  SELECT DISTINCT w.id COLLATE "C" AS user_id FROM unnest($3::text[]) AS w(id)
  WHERE (SELECT g.status FROM groups g WHERE g.project_id = $1 AND g.id = $2) = 'active'
    AND (SELECT u.status FROM users u WHERE u.project_id = $1 AND u.id = w.id) = 'active'
    AND (SELECT TRUE FROM memberships m WHERE m.project_id = $1 AND m.group_id = $2 AND m.user_id = w.id)
  ORDER BY user_id`;

export const toStanding = ([user, group, member]: Row): Standing => ({
  user: user as Status | null,
  group: group as Status | null,
  member: member === true,
});

/** Reads of who may be present. */
export function standingReads(database: PostgresDatabase) {
  const standings = async (project: ProjectKey, asked: readonly StandingQuestion[]): Promise<Standing[]> => {
    const groups = textArray(asked.map(({ groupId }) => groupId));
    const users = textArray(asked.map(({ userId }) => userId));
    const found = asked.map(() => ALLOWED);
    for (const row of await database.read(NOT_ALLOWED, project, groups, users)) {
      found[Number(row[3]) - 1] = toStanding(row);
    }
    return found;
  };
  const gathered = new Gathered(MOST_TOGETHER, standings);
  return {
    standing: (project: ProjectKey, groupId: string, userId: string): Promise<Standing> =>
      gathered.ask(project, { groupId, userId }),
    standings,
    async presentable(project: ProjectKey, groupId: string, userIds: readonly string[]): Promise<string[]> {
      const rows = await database.read(PRESENTABLE, project, groupId, textArray(userIds));
      return rows.map(([id]) => id as string);
    },
  };
}
