/** Statements that add users to groups and remove them, for lists of any length. $1 is the project. */
import type { ProjectKey } from '../../../values/project-key.ts';
import { type Call, planEachTime } from '../connections/postgres-connection.ts';
import { listed } from '../postgres-lists.ts';
import { TABLES_OF_MEMBERSHIP } from '../postgres-owned-tables.ts';
import { textArray } from '../postgres-text.ts';

/**
 * Removes the users $3 from the groups $2, pair by pair, in the order in which other writes lock memberships: in another order, two
 * writes could wait for each other.
 */
const REMOVE = TABLES_OF_MEMBERSHIP.map(([table]) =>
  planEachTime(`
  DELETE FROM ${table} t
  USING ${listed(
    'pair.*',
    `unnest($2::text[], $3::text[]) AS pair(group_id, user_id)
      ORDER BY pair.group_id COLLATE "C", pair.user_id COLLATE "C"`,
  )}
  WHERE t.project_id = w.project_id AND t.group_id = w.group_id AND t.user_id = w.user_id`),
);

/** SQL that removes durable presence: `rowsOf` selects the rows of a table. */
export const removePresence = (rowsOf: (table: string) => string) => `
  WITH usage AS (DELETE FROM ${rowsOf('durable_usage')}),
  pairs AS (DELETE FROM ${rowsOf('durable_pairs')})
  DELETE FROM ${rowsOf('durable_presence')}`;

/**
 * Adds the users $3 to the groups $2, pair by pair, in the order of the index. None is a member yet, and no other write
 * adds one while the groups are locked: a check of each row would cost a third more.
 */
const ADD = `
  INSERT INTO memberships (project_id, group_id, user_id)
  SELECT $1, w.group_id, w.user_id FROM unnest($2::text[], $3::text[]) AS w(group_id, user_id)
  ORDER BY w.group_id COLLATE "C", w.user_id COLLATE "C"`;

interface UsersOfGroup {
  readonly id: string;
  readonly users: Iterable<string>;
}

/** The calls that remove users from groups, with their durable presence there. Groups, and long lists of users, come in order of IDs. */
export function* removals(project: ProjectKey, groups: Iterable<UsersOfGroup>): Generator<Call> {
  for (const columns of pairColumns(groups)) for (const sql of REMOVE) yield [sql, project, ...columns];
}

/** The calls that add users to groups, which this transaction has locked, and of which they are no members. */
export function* additions(project: ProjectKey, groups: Iterable<UsersOfGroup>): Generator<Call> {
  for (const columns of pairColumns(groups)) yield [ADD, project, ...columns];
}

/** Pairs of one statement: their text is made within some milliseconds, and a large write has many such statements. */
export const PAIRS_AT_ONCE = 20_000;

/** (group, user) for each user of each group, as pieces of two arrays. */
function* pairColumns(groups: Iterable<UsersOfGroup>): Generator<[groupIds: string, userIds: string]> {
  let [groupIds, userIds]: [string[], string[]] = [[], []];
  const piece = (): [string, string] => [textArray(groupIds), textArray(userIds)];
  for (const { id, users } of groups) {
    for (const user of users) {
      groupIds.push(id);
      userIds.push(user);
      if (userIds.length < PAIRS_AT_ONCE) continue;
      yield piece();
      [groupIds, userIds] = [[], []];
    }
  }
  if (userIds.length > 0) yield piece();
}
