import type { Status } from '@rollcall/protocol';
import { Gathered } from '../../gathered.ts';
import type { Incarnation, ProjectKey, Standing, StandingQuestion } from '../store.ts';
import type { Row } from './connections/postgres-connection.ts';
import type { PostgresDatabase } from './connections/postgres-database.ts';
import { textArray } from './postgres-text.ts';

/** Most standings that one statement reads. */
const MOST_TOGETHER = 1_000;

/** A user's standing in a group: see {@link toStanding}. */
export const STANDING = `
  SELECT (SELECT status FROM users WHERE project_id = $1 AND id = $3),
    (SELECT status FROM groups WHERE project_id = $1 AND id = $2),
    (SELECT incarnation FROM memberships WHERE project_id = $1 AND group_id = $2 AND user_id = $3)`;

/**
 * Those whose answer is not what the caller remembers, with their positions in the list: nearly all are as remembered, and
 * what is not sent costs nobody anything. Not EXISTS: of that a planner without fresh statistics may make a table of all
 * memberships of the project.
 */
const NOT_AS_REMEMBERED = `
  SELECT user_status, group_status, incarnation, position FROM (
    SELECT asked.position, asked.remembered,
      (SELECT status FROM users u WHERE u.project_id = $1 AND u.id = asked.user_id) AS user_status,
      (SELECT status FROM groups g WHERE g.project_id = $1 AND g.id = asked.group_id) AS group_status,
      (SELECT m.incarnation FROM memberships m
        WHERE m.project_id = $1 AND m.group_id = asked.group_id AND m.user_id = asked.user_id) AS incarnation
    FROM unnest($2::text[], $3::text[], $4::integer[]) WITH ORDINALITY
      AS asked(group_id, user_id, remembered, position)) AS found
  WHERE user_status IS DISTINCT FROM 'active' OR group_status IS DISTINCT FROM 'active'
    OR incarnation IS NULL OR incarnation IS DISTINCT FROM remembered`;

const PRESENTABLE = `
  SELECT user_id, incarnation FROM (
    SELECT DISTINCT w.id COLLATE "C" AS user_id, (SELECT m.incarnation FROM memberships m
      WHERE m.project_id = $1 AND m.group_id = $2 AND m.user_id = w.id) AS incarnation
    FROM unnest($3::text[]) AS w(id)
    WHERE (SELECT g.status FROM groups g WHERE g.project_id = $1 AND g.id = $2) = 'active'
      AND (SELECT u.status FROM users u WHERE u.project_id = $1 AND u.id = w.id) = 'active') AS found
  WHERE incarnation IS NOT NULL ORDER BY user_id`;

export const toStanding = ([user, group, incarnation]: Row): Standing => ({
  user: user as Status | null,
  group: group as Status | null,
  incarnation: incarnation === null ? null : Number(incarnation),
});

/** Reads of who may be present. */
export function standingReads(database: PostgresDatabase) {
  const standings = async (project: ProjectKey, asked: readonly StandingQuestion[]): Promise<Standing[]> => {
    const groups = textArray(asked.map(({ groupId }) => groupId));
    const users = textArray(asked.map(({ userId }) => userId));
    const remembered = `{${asked.map(({ incarnation }) => incarnation ?? 'NULL').join(',')}}`;
    const found = asked.map(
      ({ incarnation = null }): Standing => ({ user: 'active', group: 'active', incarnation }),
    );
    for (const row of await database.read(NOT_AS_REMEMBERED, project, groups, users, remembered)) {
      found[Number(row[3]) - 1] = toStanding(row);
    }
    return found;
  };
  const gathered = new Gathered(MOST_TOGETHER, standings);
  return {
    standing: (project: ProjectKey, groupId: string, userId: string): Promise<Standing> =>
      gathered.ask(project, { groupId, userId }),
    standings,
    async presentable(
      project: ProjectKey,
      groupId: string,
      userIds: readonly string[],
    ): Promise<Map<string, Incarnation>> {
      const rows = await database.read(PRESENTABLE, project, groupId, textArray(userIds));
      return new Map(rows.map(([id, incarnation]) => [id as string, Number(incarnation)]));
    },
  };
}
