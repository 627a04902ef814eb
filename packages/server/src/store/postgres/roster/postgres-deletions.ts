/** Deletions of a group, and of a user: of the row, and of all that ends with it. */

import { groupRemovalChanges, userRemovalChanges } from '../../changes/changes.ts';
import type { DeleteOutcome } from '../../outcomes.ts';
import type { GroupStore } from '../../ports/groups.ts';
import type { UserStore } from '../../ports/users.ts';
import { preconditionFailure } from '../../precondition.ts';
import { type Call, planEachTime, type Row } from '../connections/postgres-connection.ts';
import type { PostgresDatabase } from '../connections/postgres-database.ts';
import { LostRaceError } from '../connections/postgres-errors.ts';
import { recordCalls } from '../postgres-changes.ts';
import { listed } from '../postgres-lists.ts';
import { TABLES_OF_GROUP } from '../postgres-owned-tables.ts';
import { idsOf, LOCK_GROUP, LOCK_USER, lockedRevision, targetOf } from '../postgres-row-writes.ts';
import { textArray } from '../postgres-text.ts';
import { removals } from './postgres-member-lists.ts';
import { anyCountSlot, COUNT_USERS } from './postgres-user-counts.ts';

/** Reads do not find the group's threads from then on. */
const END_CONVERSATION = `
  WITH ended AS (DELETE FROM conversations WHERE project_id = $1 AND group_id = $2 RETURNING project_id, conversation_no)
  INSERT INTO deleted_conversations (project_id, conversation_no) SELECT project_id, conversation_no FROM ended`;
const EMPTY_GROUP = TABLES_OF_GROUP.map(
  ([table]) => `DELETE FROM ${table} WHERE project_id = $1 AND group_id = $2`,
);
const DELETE_GROUP = 'DELETE FROM groups WHERE project_id = $1 AND id = $2';
/** All of them where $3 is null. */
const MEMBERS_OF_GROUP = `
  SELECT user_id FROM memberships WHERE project_id = $1 AND group_id = $2 ORDER BY user_id LIMIT $3::bigint`;

type Deletion = Parameters<GroupStore['delete']>;

/**
 * Removes a group with its memberships, durable presence and threads: two round trips. A group of more than `mostMembers` stays
 * as it is, and the outcome is null: their list is for a thread of its own.
 */
export function deleteGroup(
  database: PostgresDatabase,
  deletion: Deletion,
  mostMembers: number,
): Promise<DeleteOutcome | null>;
export function deleteGroup(database: PostgresDatabase, deletion: Deletion): Promise<DeleteOutcome>;
export function deleteGroup(
  database: PostgresDatabase,
  [project, id, context]: Deletion,
  mostMembers?: number,
): Promise<DeleteOutcome | null> {
  return database.transaction(targetOf('group', project, id), async (transaction) => {
    const [[locked], members] = await transaction.run(
      [LOCK_GROUP, project, id],
      [MEMBERS_OF_GROUP, project, id, mostMembers === undefined ? null : mostMembers + 1],
    );
    const revision = lockedRevision(locked as Row);
    if (preconditionFailure(context, revision) !== null) return { kind: 'stale' };
    if (revision === null) return { kind: 'absent' };
    if (mostMembers !== undefined && members.length > mostMembers) return null;
    const changes = groupRemovalChanges(id, idsOf(members));
    await transaction.commit([
      ...EMPTY_GROUP.map((sql): Call => [sql, project, id]),
      [END_CONVERSATION, project, id],
      [DELETE_GROUP, project, id],
      ...recordCalls(project, changes, context),
    ]);
    return { kind: 'deleted', changes };
  });
}

/** All of them where $3 is null. */
const GROUPS_OF_USER = `
  SELECT group_id FROM memberships WHERE project_id = $1 AND user_id = $2 ORDER BY group_id LIMIT $3::bigint`;

/** One by one in ascending order, as all writers that lock several groups. */
const LOCK_GROUPS_OF_USER = `
  SELECT locked.id FROM (${GROUPS_OF_USER}) AS named(id)
  CROSS JOIN LATERAL (
    SELECT r.id FROM groups AS r WHERE r.project_id = $1 AND r.id = named.id FOR UPDATE) AS locked`;

const REMOVE_FROM_GROUPS = planEachTime(`
  UPDATE groups g SET member_count = g.member_count - 1, revision = $3
  FROM ${listed('named.id', 'unnest($2::text[]) AS named(id)')}
  WHERE g.project_id = w.project_id AND g.id = w.id`);
const DELETE_USER = 'DELETE FROM users WHERE project_id = $1 AND id = $2';

type UserDeletion = Parameters<UserStore['delete']>;

/**
 * Removes a user from everything: two round trips, and again where the user joined a group before it was locked. A user of more
 * than `mostGroups` stays as before, and the outcome is null: their list is for a thread of its own.
 */
export function deleteUser(
  database: PostgresDatabase,
  deletion: UserDeletion,
  mostGroups: number,
): Promise<DeleteOutcome | null>;
export function deleteUser(database: PostgresDatabase, deletion: UserDeletion): Promise<DeleteOutcome>;
export function deleteUser(
  database: PostgresDatabase,
  [project, id, context]: UserDeletion,
  mostGroups?: number,
): Promise<DeleteOutcome | null> {
  const limit = mostGroups === undefined ? null : mostGroups + 1;
  return database.transaction(targetOf('user', project, id), async (transaction) => {
    const [lockedGroups, [locked], groups] = await transaction.run(
      [LOCK_GROUPS_OF_USER, project, id, limit],
      [LOCK_USER, project, id],
      [GROUPS_OF_USER, project, id, limit],
    );
    const before = lockedRevision(locked as Row);
    if (preconditionFailure(context, before) !== null) return { kind: 'stale' };
    if (before === null) return { kind: 'absent' };
    if (mostGroups !== undefined && groups.length > mostGroups) return null;
    const groupIds = idsOf(groups);
    const isLocked = new Set(idsOf(lockedGroups));
    if (!groupIds.every((group) => isLocked.has(group)))
      throw new LostRaceError('the user joined a group meanwhile');
    const changes = userRemovalChanges(id, groupIds);
    const memberships = groupIds.map((group) => ({ id: group, users: [id] }));
    await transaction.commit([
      [REMOVE_FROM_GROUPS, project, textArray(groupIds), context.revision],
      ...removals(project, memberships),
      [DELETE_USER, project, id],
      [COUNT_USERS, project, anyCountSlot(), -1],
      ...recordCalls(project, changes, context),
    ]);
    return { kind: 'deleted', changes };
  });
}
