/**
 * One project's data as plain maps, and the store's operations on it in the most obvious way there is: no index, no
 * queue, no SQL. An operation works on a copy that takes the place of the original only when nothing was refused.
 */
import {
  compareCodePoints,
  type GroupWrite,
  type NotificationChannels,
  type Status,
  type UserWrite,
} from '@rollcall/protocol';
import type { DurableBounds } from '../../src/store/durable-bounds.ts';
import type {
  ChangeMembersOutcome,
  DeleteOutcome,
  DurablePresenceOutcome,
  DurablePresenceUpdate,
  Effects,
  IdSample,
  Json,
  Precondition,
  PutGroupOutcome,
  PutUserOutcome,
  Revision,
  Standing,
  UserRecord,
  WriteContext,
  WriteStamp,
} from '../../src/store/store.ts';

export interface ModelGroup {
  name: string;
  status: Status;
  metadata: Json;
  workspace: string | null;
  revision: Revision;
  members: Set<string>;
  /** Of the memberships, by user. */
  incarnations: Map<string, number>;
}

export type ModelUser = { -readonly [Field in keyof UserRecord]: UserRecord[Field] } & {
  channels: Required<NotificationChannels>;
};

export interface ModelPresence extends DurablePresenceUpdate {
  readonly at: number;
}

export interface World {
  groups: Map<string, ModelGroup>;
  users: Map<string, ModelUser>;
  presence: ModelPresence[];
  /** How many memberships there have ever been. */
  memberships: number;
}

export const emptyWorld = (): World => ({
  groups: new Map(),
  users: new Map(),
  presence: [],
  memberships: 0,
});

/** A copy that shares nothing with the original. */
export const copyWorld = (world: World): World => structuredClone(world);

type Changed = 'created' | 'updated' | 'unchanged';

/** Runs a write on a copy; where it was not refused, keeps the copy and says what it did to others. */
function commit<Outcome extends object | string>(
  world: World,
  write: (draft: World) => Outcome,
): Exclude<Outcome, string> | { kind: Extract<Outcome, string>; effects: Effects } {
  const draft = copyWorld(world);
  const outcome = write(draft);
  if (typeof outcome !== 'string') return outcome as Exclude<Outcome, string>;
  const effects = effectsBetween(world, draft);
  Object.assign(world, draft);
  return { kind: outcome as Extract<Outcome, string>, effects };
}

/** Who left which group, and whose status went over, between two states. */
export function effectsBetween(before: World, after: World): Effects {
  const departures = [...before.groups]
    .map(([groupId, group]) => ({
      groupId,
      userIds: [...group.members].filter((id) => !after.groups.get(groupId)?.members.has(id)),
    }))
    .filter(({ userIds }) => userIds.length > 0);
  const turned = (kind: 'users' | 'groups', from: Status, to: Status) =>
    [...before[kind]]
      .filter(([id, { status }]) => status === from && after[kind].get(id)?.status === to)
      .map(([id]) => id);
  return {
    departures,
    deactivated: turned('users', 'active', 'deleted'),
    reactivated: turned('users', 'deleted', 'active'),
    deactivatedGroups: turned('groups', 'active', 'deleted'),
    reactivatedGroups: turned('groups', 'deleted', 'active'),
  };
}

/** The first twenty of those who do not exist, in the order of naming; null when all exist. */
export function unknownAmong(world: World, ids: readonly string[]): IdSample | null {
  const unknown = [...new Set(ids)].filter((id) => !world.users.has(id));
  return unknown.length === 0 ? null : { count: unknown.length, ids: unknown.slice(0, 20) };
}

/** The refusal that a failed precondition comes to, or null. */
function refusal(
  current: Revision | undefined,
  condition: Precondition,
): { kind: 'stale' | 'exists' } | null {
  const { ifMatch, ifNoneMatch } = condition;
  if (ifMatch !== undefined && !matches(current, ifMatch)) return { kind: 'stale' };
  if (ifNoneMatch === undefined || !matches(current, ifNoneMatch)) return null;
  return { kind: ifNoneMatch === '*' ? 'exists' : 'stale' };
}

function matches(current: Revision | undefined, wanted: '*' | readonly Revision[]): boolean {
  return current !== undefined && (wanted === '*' || wanted.includes(current));
}

/** The same where the operation never creates: there is no `exists` among its outcomes. */
function staleness(current: Revision | undefined, condition: Precondition): { kind: 'stale' } | null {
  return refusal(current, condition) === null ? null : { kind: 'stale' };
}

export function putGroup(
  world: World,
  id: string,
  write: GroupWrite,
  context: WriteContext,
): PutGroupOutcome {
  return commit(world, (draft) => {
    const current = draft.groups.get(id);
    if (current === undefined && write.name === undefined) {
      return { kind: context.ifMatch === undefined ? 'nameRequired' : 'stale' } as const;
    }
    const users = unknownAmong(draft, write.members ?? []);
    if (users !== null) return { kind: 'unknownUsers', users } as const;
    return refusal(current?.revision, context) ?? writeGroup(draft, id, write, context.revision);
  });
}

/** Applies the fields of a write that is known to be allowed. */
export function writeGroup(draft: World, id: string, write: GroupWrite, revision: Revision): Changed {
  const before = draft.groups.get(id);
  const members = new Set(write.members ?? before?.members ?? []);
  const incarnationOf = (userId: string) => {
    if (before?.members.has(userId) === true) return before.incarnations.get(userId) as number;
    draft.memberships += 1;
    return draft.memberships;
  };
  const after: ModelGroup = {
    name: write.name ?? before?.name ?? '',
    status: write.status ?? before?.status ?? 'active',
    metadata: write.metadata === undefined ? (before?.metadata ?? '{}') : JSON.stringify(write.metadata),
    workspace: before?.workspace ?? null,
    revision: before?.revision ?? revision,
    members,
    incarnations: new Map(Array.from(members, (userId) => [userId, incarnationOf(userId)])),
  };
  if (before !== undefined && sameGroup(before, after)) return 'unchanged';
  draft.groups.set(id, { ...after, revision });
  dropPresenceOfStrangers(draft);
  return before === undefined ? 'created' : 'updated';
}

function sameGroup(a: ModelGroup, b: ModelGroup): boolean {
  const sameMembers = a.members.symmetricDifference(b.members).size === 0;
  return sameMembers && a.name === b.name && a.status === b.status && a.metadata === b.metadata;
}

export function changeMembers(
  world: World,
  id: string,
  change: { readonly add: readonly string[]; readonly remove: readonly string[] },
  context: WriteContext,
): ChangeMembersOutcome {
  return commit(world, (draft) => {
    const group = draft.groups.get(id);
    if (group === undefined) return { kind: context.ifMatch === undefined ? 'absent' : 'stale' } as const;
    const users = unknownAmong(draft, change.add);
    if (users !== null) return { kind: 'unknownUsers', users } as const;
    const members = [...group.members.union(new Set(change.add)).difference(new Set(change.remove))];
    return staleness(group.revision, context) ?? writeGroup(draft, id, { members }, context.revision);
  });
}

export function deleteGroup(world: World, id: string, context: WriteContext): DeleteOutcome {
  return commit(world, (draft) => {
    const group = draft.groups.get(id);
    if (group === undefined) return { kind: context.ifMatch === undefined ? 'absent' : 'stale' } as const;
    const stale = staleness(group.revision, context);
    if (stale !== null) return stale;
    draft.groups.delete(id);
    dropPresenceOfStrangers(draft);
    return 'deleted';
  });
}

export function connectGroup(
  world: World,
  id: string,
  workspace: string | null,
  { revision }: WriteStamp,
): boolean {
  const group = world.groups.get(id);
  if (group === undefined) return false;
  // Only whether there is a workspace can be read, so only that is a change.
  if ((group.workspace === null) !== (workspace === null)) group.revision = revision;
  group.workspace = workspace;
  return true;
}

export function putUser(world: World, id: string, write: UserWrite, context: WriteContext): PutUserOutcome {
  return commit(world, (draft) => {
    return refusal(draft.users.get(id)?.revision, context) ?? writeUser(draft, id, write, context);
  });
}

/** Applies the fields of a write that is known to be allowed. */
export function writeUser(
  draft: World,
  id: string,
  write: UserWrite,
  { now, revision }: WriteContext,
): Changed {
  const before = draft.users.get(id) ?? newUser(id, now, revision);
  const after: ModelUser = {
    ...before,
    name: write.name ?? before.name,
    shortName: cleared(write.short_name, before.shortName),
    email: cleared(write.email, before.email),
    profilePictureUrl: cleared(write.profile_picture_url, before.profilePictureUrl),
    status: write.status ?? before.status,
    metadata: write.metadata === undefined ? before.metadata : JSON.stringify(write.metadata),
  };
  const created = !draft.users.has(id);
  if (!created && JSON.stringify(before) === JSON.stringify(after)) return 'unchanged';
  draft.users.set(id, { ...after, updatedAt: Math.max(before.updatedAt, now), revision });
  return created ? 'created' : 'updated';
}

function newUser(id: string, now: number, revision: Revision): ModelUser {
  return {
    id,
    name: null,
    shortName: null,
    email: null,
    profilePictureUrl: null,
    status: 'active',
    metadata: '{}',
    createdAt: now,
    updatedAt: now,
    revision,
    channels: { sendViaMessenger: true, sendViaEmail: true },
  };
}

/** Absent keeps, `""` and null clear, anything else is the new value. */
function cleared(written: string | null | undefined, before: string | null): string | null {
  return written === undefined ? before : written || null;
}

export function deleteUser(world: World, id: string, context: WriteContext): DeleteOutcome {
  return commit(world, (draft) => {
    const user = draft.users.get(id);
    if (user === undefined) return { kind: context.ifMatch === undefined ? 'absent' : 'stale' } as const;
    const stale = staleness(user.revision, context);
    if (stale !== null) return stale;
    draft.users.delete(id);
    for (const group of draft.groups.values())
      if (group.members.delete(id)) group.revision = context.revision;
    dropPresenceOfStrangers(draft);
    return 'deleted';
  });
}

/** Durable presence goes with the membership that it needs. */
function dropPresenceOfStrangers(draft: World): void {
  draft.presence = draft.presence.filter(
    ({ groupId, userId }) => draft.groups.get(groupId)?.members.has(userId) ?? false,
  );
}

export function standing(world: World, groupId: string, userId: string): Standing {
  const group = world.groups.get(groupId);
  return {
    user: world.users.get(userId)?.status ?? null,
    group: group?.status ?? null,
    incarnation: group?.members.has(userId) === true ? (group.incarnations.get(userId) ?? 0) : null,
  };
}

export const mayBePresent = ({ user, group, incarnation }: Standing) =>
  user === 'active' && group === 'active' && incarnation !== null;

export function putDurablePresence(
  world: World,
  update: DurablePresenceUpdate,
  { now }: WriteStamp,
  bounds: DurableBounds,
): DurablePresenceOutcome {
  const found = standing(world, update.groupId, update.userId);
  if (!mayBePresent(found)) return { kind: 'refused', standing: found };
  const isOwn = (entry: DurablePresenceUpdate) =>
    entry.userId === update.userId && entry.groupId === update.groupId;
  const own = world.presence.filter(isOwn);
  const previous = own.find(({ region }) => region === update.region)?.location ?? null;
  const at = own.reduce((latest, entry) => Math.max(latest, entry.at + 1), now);
  const others = own.filter(({ region }) => region !== update.region).sort((a, b) => a.at - b.at);
  const ended: ModelPresence[] = [];
  while (others.length > 0 && exceeds([...others, update], bounds))
    ended.push(others.shift() as ModelPresence);
  world.presence = [...world.presence.filter((entry) => !isOwn(entry)), ...others, { ...update, at }];
  return { kind: 'set', previous, at, endedTo: ended.at(-1)?.at ?? null };
}

function exceeds(locations: readonly DurablePresenceUpdate[], bounds: DurableBounds): boolean {
  const bytes = locations.reduce((sum, { location }) => sum + Buffer.byteLength(location), 0);
  return locations.length > bounds.locations || bytes > bounds.bytes;
}

export const ascending = (ids: Iterable<string>): string[] => [...ids].sort(compareCodePoints);
