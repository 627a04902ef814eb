import type { ProjectKey } from '../store.ts';
import { type Call, planEachTime } from './connections/postgres-connection.ts';
import { listed } from './postgres-lists.ts';
import { textArray } from './postgres-text.ts';

/**
 * Removes the users $3 from the groups $2, pair by pair. Presence after memberships: a write of presence locks the
 * membership until it commits.
 */
const REMOVALS = ['memberships', 'durable_presence', 'durable_pairs'].map((table) =>
  planEachTime(`
  DELETE FROM ${table} t
  USING ${listed('pair.*', 'unnest($2::text[], $3::text[]) AS pair(group_id, user_id)', 'w')}
  WHERE t.project_id = w.project_id AND t.group_id = w.group_id AND t.user_id = w.user_id`),
);

/** Users of a group. */
export interface UsersOfGroup {
  readonly id: string;
  readonly users: readonly string[];
}

/** The calls that remove users from groups: memberships and durable presence. */
export function removals(project: ProjectKey, groups: readonly UsersOfGroup[]): Call[] {
  const pairs = pairColumns(groups);
  return REMOVALS.map((sql): Call => [sql, project, ...pairs]);
}

/** (group, user) for each user of each group, as two arrays. */
export function pairColumns(groups: readonly UsersOfGroup[]): [string, string] {
  const ids = groups.flatMap(({ id, users }) => users.map(() => id));
  return [textArray(ids), textArray(groups.flatMap(({ users }) => users))];
}
