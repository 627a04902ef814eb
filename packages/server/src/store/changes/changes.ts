import type { ChangeWith, Status } from '@rollcall/protocol';
import { slices } from '../../values/slices.ts';
import { type IdList, packIds } from '../worker-threads/packed-ids.ts';

/**
 * A change that a write made, as the change feed names it. Values are not part of it: they are read from the resource. It names
 * at most {@link USERS_PER_CHANGE} users, who are packed where a write has several such changes. Soft deletion of a message,
 * and its end, are an update of `deleted`.
 */
export type Change = ChangeWith<IdList>;

/** The fields of users that presence shows. */
export const PROFILE_FIELDS = ['name', 'profile_picture_url'] as const;

/** Whether the change is of the name or picture of a user. */
export const changesProfile = (change: Change): change is Change & { readonly type: 'user.updated' } =>
  change.type === 'user.updated' && PROFILE_FIELDS.some((field) => change.fields.includes(field));

/** Most users that one change names, and most changes that are stored together. */
export const USERS_PER_CHANGE = 1_000;

/** The type of a change to this status: `user.deactivated`. */
export const STATUS_EVENTS = { active: 'activated', deleted: 'deactivated' } as const;

/** The changes of a user or group whose status was `before` (null: it was created) and is `after`. */
export function resourceChanges(
  resource: 'user' | 'group',
  id: string,
  before: Status | null,
  after: Status,
  fields: readonly string[],
): Change[] {
  const change = (event: string, more = {}) =>
    ({ type: `${resource}.${event}`, [resource]: id, ...more }) as Change;
  const changes: Change[] = [];
  if (before === null) changes.push(change('created'));
  else if (fields.length > 0) changes.push(change('updated', { fields }));
  if (after !== (before ?? 'active')) changes.push(change(STATUS_EVENTS[after]));
  return changes;
}

function memberChanges(
  type: 'member.added' | 'member.removed',
  group: string,
  users: readonly string[],
): Change[] {
  if (users.length === 0) return [];
  if (users.length <= USERS_PER_CHANGE) return [{ type, group, users }];
  return Array.from(slices(users, USERS_PER_CHANGE), (some) => ({ type, group, users: packIds(some) }));
}

/** The changes of a group whose list of members changed. `rejoined`: members who were removed, and then added again. */
export const membershipChanges = (
  group: string,
  added: Iterable<string>,
  removed: Iterable<string>,
  rejoined: Iterable<string> = [],
): Change[] => [
  ...memberChanges('member.removed', group, [...rejoined]),
  ...memberChanges('member.added', group, [...added, ...rejoined]),
  ...memberChanges('member.removed', group, [...removed]),
];

export const groupRemovalChanges = (group: string, members: readonly string[]): Change[] => [
  ...memberChanges('member.removed', group, members),
  { type: 'group.removed', group },
];

export const userRemovalChanges = (user: string, groups: readonly string[]): Change[] => [
  ...groups.flatMap((group) => memberChanges('member.removed', group, [user])),
  { type: 'user.removed', user },
];

/** The changes of a durable location that was set, with the outcome of the port. */
export function durablePresenceChanges(
  { groupId: group, userId: user, location }: Readonly<Record<'groupId' | 'userId' | 'location', string>>,
  { previous, endedTo }: { readonly previous: string | null; readonly endedTo: number | null },
): Change[] {
  const changes: Change[] = [];
  if (previous !== location) changes.push({ type: 'durable_presence.moved', group, user });
  if (endedTo !== null) changes.push({ type: 'durable_presence.removed', group, user });
  return changes;
}
