/** Deletions of a group, and of a user: of the row, and of all that hangs on it. */
import { departed, NO_EFFECTS, preconditionFailure } from '../outcomes.ts';
import type { DeleteOutcome, ProjectKey, WriteContext } from '../store.ts';
import { planEachTime, type Row } from './connections/postgres-connection.ts';
import type { Attempt } from './connections/postgres-database.ts';
import { LostRaceError } from './connections/postgres-errors.ts';
import { listed, lockByIds } from './postgres-lists.ts';
import { LOCK_GROUP, LOCK_USER, lockedRevision } from './postgres-locks.ts';
import { idsOf } from './postgres-outcomes.ts';
import { removals } from './postgres-removals.ts';
import { textArray } from './postgres-text.ts';
import { anyCountSlot, COUNT_USERS } from './postgres-users.ts';

const DELETE_GROUP = 'DELETE FROM groups WHERE project_id = $1 AND id = $2';
const REMOVE_GROUP_MEMBERS =
  'DELETE FROM memberships WHERE project_id = $1 AND group_id = $2 RETURNING user_id';
const REMOVE_GROUP_PRESENCE = 'DELETE FROM durable_presence WHERE project_id = $1 AND group_id = $2';
const REMOVE_GROUP_USAGES = 'DELETE FROM durable_usage WHERE project_id = $1 AND group_id = $2';
const REMOVE_GROUP_PAIRS = 'DELETE FROM durable_pairs WHERE project_id = $1 AND group_id = $2';

/** Removes a group with its memberships and durable presence: two round trips. */
export function deleteGroup(
  attempt: Attempt,
  project: ProjectKey,
  id: string,
  context: WriteContext,
): Promise<DeleteOutcome> {
  return attempt.transaction('unknown', async (transaction) => {
    const [[locked]] = await transaction.run([LOCK_GROUP, project, id]);
    const revision = lockedRevision(locked as Row);
    if (preconditionFailure(context, revision) !== null) return { kind: 'stale' };
    if (revision === null) return { kind: 'absent' };
    // Presence after memberships: who is being marked present holds their membership until that is written.
    const [members] = await transaction.commit(
      [REMOVE_GROUP_MEMBERS, project, id],
      [REMOVE_GROUP_USAGES, project, id],
      [REMOVE_GROUP_PRESENCE, project, id],
      [REMOVE_GROUP_PAIRS, project, id],
      [DELETE_GROUP, project, id],
    );
    return { kind: 'deleted', effects: departed(id, idsOf(members)) };
  });
}

/** Holds the groups that a user is seen to be in. */
const HOLD_GROUPS_OF_USER = lockByIds(
  'groups',
  '(SELECT m.group_id AS id FROM memberships m WHERE m.project_id = $1 AND m.user_id = $2) AS of_user',
  'FOR UPDATE',
);

const GROUPS_OF_USER = `
  SELECT group_id FROM memberships WHERE project_id = $1 AND user_id = $2 ORDER BY group_id`;

const LOSE_USER = planEachTime(`
  UPDATE groups g SET member_count = g.member_count - 1, revision = $3
  FROM ${listed('named.id', 'unnest($2::text[]) AS named(id)', 'w')}
  WHERE g.project_id = w.project_id AND g.id = w.id`);
const DELETE_USER = 'DELETE FROM users WHERE project_id = $1 AND id = $2';

/** Removes a user from everything: two round trips, and again when they joined a group before they were held. */
export function deleteUser(
  attempt: Attempt,
  project: ProjectKey,
  id: string,
  context: WriteContext,
): Promise<DeleteOutcome> {
  return attempt.transaction('unknown', async (transaction) => {
    const [held, [locked], groups] = await transaction.run(
      [HOLD_GROUPS_OF_USER, project, id],
      [LOCK_USER, project, id],
      [GROUPS_OF_USER, project, id],
    );
    const before = lockedRevision(locked as Row);
    if (preconditionFailure(context, before) !== null) return { kind: 'stale' };
    if (before === null) return { kind: 'absent' };
    const groupIds = idsOf(groups);
    const isHeld = new Set(idsOf(held));
    if (!groupIds.every((group) => isHeld.has(group)))
      throw new LostRaceError('the user joined a group meanwhile');
    const memberships = groupIds.map((group) => ({ id: group, users: [id] }));
    await transaction.commit(
      [LOSE_USER, project, textArray(groupIds), context.revision],
      ...removals(project, memberships),
      [DELETE_USER, project, id],
      [COUNT_USERS, project, anyCountSlot(), -1],
    );
    const departures = groupIds.map((groupId) => ({ groupId, userIds: [id] }));
    return { kind: 'deleted', effects: { ...NO_EFFECTS, departures } };
  });
}
