import type { ProjectKey } from '../store.ts';
import { type Call, planEachTime } from './connections/postgres-connection.ts';
import { listed } from './postgres-lists.ts';
import { textArray } from './postgres-text.ts';

/**
 * Removes the users $3 from the groups $2, pair by pair. Presence after memberships: a write of presence locks the
 * membership until it commits.
 */
const REMOVALS = ['memberships', 'durable_usage', 'durable_presence', 'durable_pairs'].map((table) =>
  planEachTime(`
  DELETE FROM ${table} t
  USING ${listed('pair.*', 'unnest($2::text[], $3::text[]) AS pair(group_id, user_id)', 'w')}
  WHERE t.project_id = w.project_id AND t.group_id = w.group_id AND t.user_id = w.user_id`),
);

/** Users of a group. */
export interface UsersOfGroup {
  readonly id: string;
  readonly users: Iterable<string>;
}

/** The calls that remove users from groups: memberships and durable presence. */
export function* removals(project: ProjectKey, groups: Iterable<UsersOfGroup>): Generator<Call> {
  for (const pairs of pairColumns(groups)) for (const sql of REMOVALS) yield [sql, project, ...pairs];
}

/** Pairs of one statement: their text is made within some milliseconds, and a large write has many such statements. */
const PAIRS_AT_ONCE = 20_000;

/** (group, user) for each user of each group, as pieces of two arrays. */
export function* pairColumns(groups: Iterable<UsersOfGroup>): Generator<[string, string]> {
  let [groupIds, userIds]: [string[], string[]] = [[], []];
  for (const { id, users } of groups) {
    for (const user of users) {
      groupIds.push(id);
      userIds.push(user);
      if (userIds.length < PAIRS_AT_ONCE) continue;
      yield [textArray(groupIds), textArray(userIds)];
      [groupIds, userIds] = [[], []];
    }
  }
  if (userIds.length > 0) yield [textArray(groupIds), textArray(userIds)];
}
