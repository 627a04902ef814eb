import { Batcher } from '../../../concurrency/batcher.ts';
import type { Incarnation } from '../../../values/incarnation.ts';
import type { ProjectKey } from '../../../values/project-key.ts';
import type { Eligibility, EligibilityQuery, EligibilityStore } from '../../ports/eligibility.ts';
import type { Call, Row } from '../connections/postgres-connection.ts';
import type { PostgresEngine } from '../postgres-engine.ts';
import { listIn } from '../postgres-lists.ts';
import { textArray } from '../postgres-text.ts';

/** Most queries that one statement answers. */
const QUERIES_MAX = 1_000;

/** Not EXISTS: a planner without fresh statistics may make a table of all memberships of the project for it. */
const ELIGIBILITIES = `
  SELECT (SELECT status FROM users u WHERE u.project_id = $1 AND u.id = query.user_id),
    (SELECT status FROM groups g WHERE g.project_id = $1 AND g.id = query.group_id),
    (SELECT m.incarnation FROM memberships m
      WHERE m.project_id = $1 AND m.group_id = query.group_id AND m.user_id = query.user_id)
  FROM ${listIn('$2', '$3')} WITH ORDINALITY AS query(group_id, user_id, position)
  ORDER BY query.position`;

const ELIGIBLE = `
  SELECT user_id, incarnation FROM (
    SELECT DISTINCT w.id COLLATE "C" AS user_id, (SELECT m.incarnation FROM memberships m
      WHERE m.project_id = $1 AND m.group_id = $2 AND m.user_id = w.id) AS incarnation
    FROM ${listIn('$3')} AS w(id)
    WHERE (SELECT g.status FROM groups g WHERE g.project_id = $1 AND g.id = $2) = 'active'
      AND (SELECT u.status FROM users u WHERE u.project_id = $1 AND u.id = w.id) = 'active') AS found
  WHERE incarnation IS NOT NULL ORDER BY user_id`;

/** The call that reads eligibilities, in the order of the queries. */
export const eligibilityCall = (project: ProjectKey, queries: readonly EligibilityQuery[]): Call => [
  ELIGIBILITIES,
  project,
  textArray(queries.map(({ groupId }) => groupId)),
  textArray(queries.map(({ userId }) => userId)),
];

export const toEligibility = ([user, group, incarnation]: Row) =>
  ({ user, group, incarnation }) as Eligibility;

export function eligibilityStore({ database, timings }: PostgresEngine): EligibilityStore {
  const findMany = async (project: ProjectKey, queries: readonly EligibilityQuery[]) =>
    (await database.read(...eligibilityCall(project, queries))).map(toEligibility);
  const batcher = new Batcher(QUERIES_MAX, (project: ProjectKey, queries: readonly EligibilityQuery[]) => {
    timings.readBatches.observe(queries.length);
    return findMany(project, queries);
  });
  return {
    find: (project, groupId, userId) => batcher.add(project, { groupId, userId }),
    findMany,
    async filter(project, groupId, userIds) {
      const rows = await database.read(ELIGIBLE, project, groupId, textArray(userIds));
      return new Map(rows as unknown as [string, Incarnation][]);
    },
  };
}
