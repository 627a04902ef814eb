/**
 * One project's data as plain maps, and the store's operations on it in the most obvious way there is: no index, no
 * queue, no SQL. An operation works on a copy, which replaces the original only when it succeeds.
 */
import {
  compareCodePoints,
  type GroupWrite,
  type NotificationChannels,
  type Status,
} from '@rollcall/protocol';
import { type Change, membershipChanges, resourceChanges } from '../../src/store/changes/changes.ts';
import {
  type Absent,
  type DeleteOutcome,
  type IdSample,
  UNCHANGED,
  type Updated,
} from '../../src/store/outcomes.ts';
import type { DurablePresenceUpdate } from '../../src/store/ports/durable-presence.ts';
import type { PutGroupOutcome } from '../../src/store/ports/groups.ts';
import type { ChangeMembersOutcome } from '../../src/store/ports/members.ts';
import type { PutUserOutcome, StoredUserWrite, UserRecord } from '../../src/store/ports/users.ts';
import type { Precondition, Revision } from '../../src/store/precondition.ts';
import type { Stored } from '../../src/store/stored-write.ts';
import type { ConditionalContext, WriteContext } from '../../src/store/write-context.ts';
import type { Json } from '../../src/values/json.ts';
import { type ModelThread, STALE } from './model-conversation.ts';
import { copyWorld } from './model-copies.ts';

export interface ModelGroup {
  name: string;
  status: Status;
  metadata: Json;
  workspace: string | null;
  revision: Revision;
  members: Set<string>;
  /** The incarnations of the memberships, by user. */
  incarnations: Map<string, number>;
}

export type ModelUser = UserRecord & { readonly channels: Required<NotificationChannels> };

export interface ModelPresence extends DurablePresenceUpdate {
  readonly at: number;
}

export interface World {
  groups: Map<string, ModelGroup>;
  users: Map<string, ModelUser>;
  presence: ModelPresence[];
  /** The number of memberships that were ever created. */
  memberships: number;
  threads: Map<string, ModelThread>;
  /** The number of threads that were ever created. */
  threadsEver: number;
}

export const emptyWorld = (): World => ({
  groups: new Map(),
  users: new Map(),
  presence: [],
  memberships: 0,
  threads: new Map(),
  threadsEver: 0,
});

type Changed = 'created' | 'updated' | 'unchanged';

/** Runs a write on a copy. When it succeeds, the copy replaces the original, and the outcome has its changes. */
function commit<Outcome extends object | string>(
  world: World,
  write: (draft: World) => Outcome,
): Exclude<Outcome, string> | { kind: Extract<Outcome, string>; changes: Change[] } {
  const draft = copyWorld(world);
  const outcome = write(draft);
  if (typeof outcome !== 'string') return outcome as Exclude<Outcome, string>;
  const changes = changesBetween(world, draft);
  Object.assign(world, draft);
  return { kind: outcome as Extract<Outcome, string>, changes };
}

/** Whether a user, who is a member before and after a write, was no member in between. */
type IsRejoined = (groupId: string, userId: string) => boolean;

/** The changes of users, groups and members between two states. */
export function changesBetween(before: World, after: World, isRejoined: IsRejoined = () => false): Change[] {
  const removed = [...before.users.keys()].filter((id) => !after.users.has(id));
  return [
    ...[...after.users]
      .filter(([id, user]) => before.users.get(id) !== user)
      .flatMap(([id, user]) => changesOfResource('user', id, before.users.get(id), user, USER_FIELDS)),
    ...[...new Set([...before.groups.keys(), ...after.groups.keys()])].flatMap((id) =>
      changesOfGroup(id, isRejoined, before.groups.get(id), after.groups.get(id)),
    ),
    ...removed.map((user) => ({ type: 'user.removed', user }) as const),
  ];
}

const USER_FIELDS = {
  name: 'name',
  shortName: 'short_name',
  email: 'email',
  profilePictureUrl: 'profile_picture_url',
  metadata: 'metadata',
};
const GROUP_FIELDS = { name: 'name', metadata: 'metadata' };

function changesOfGroup(
  id: string,
  isRejoined: IsRejoined,
  before?: ModelGroup,
  after?: ModelGroup,
): Change[] {
  const [were, are] = [before?.members ?? new Set<string>(), after?.members ?? new Set<string>()];
  const rejoined = [...are.intersection(were)].filter((userId) => isRejoined(id, userId));
  return [
    ...(after === undefined ? [] : changesOfResource('group', id, before, after, GROUP_FIELDS)),
    ...membershipChanges(id, are.difference(were), were.difference(are), rejoined),
    ...(after === undefined ? [{ type: 'group.removed', group: id } as const] : []),
  ];
}

function changesOfResource<Resource extends { readonly status: Status }>(
  resource: 'user' | 'group',
  id: string,
  before: Resource | undefined,
  after: Resource,
  names: { readonly [field: string]: string },
): Change[] {
  const fields = Object.keys(names).filter(
    (field) => Reflect.get(before ?? after, field) !== Reflect.get(after, field),
  );
  return resourceChanges(
    resource,
    id,
    before?.status ?? null,
    after.status,
    fields.map((field) => names[field] as string),
  );
}

/** The first twenty unknown users in their order; null when all exist. */
export function unknownAmong(world: World, ids: readonly string[]): IdSample | null {
  const unknown = [...new Set(ids)].filter((id) => !world.users.has(id));
  return unknown.length === 0 ? null : { count: unknown.length, ids: unknown.slice(0, 20) };
}

/** The error of a precondition that does not hold, or null. */
export function preconditionError(
  current: Revision | undefined,
  condition: Precondition,
): { kind: 'stale' | 'exists' } | null {
  const { ifMatch, ifNoneMatch } = condition;
  if (ifNoneMatch === '*' && current !== undefined) return { kind: 'exists' };
  if (ifMatch !== undefined && !matches(current, ifMatch)) return { kind: 'stale' };
  return ifNoneMatch !== undefined && matches(current, ifNoneMatch) ? { kind: 'stale' } : null;
}

function matches(current: Revision | undefined, revisions: '*' | readonly Revision[]): boolean {
  return current !== undefined && (revisions === '*' || revisions.includes(current));
}

/** The same where the operation never creates: there is no `exists` among its outcomes. */
export function staleness(current: Revision | undefined, condition: Precondition): { kind: 'stale' } | null {
  return preconditionError(current, condition) === null ? null : { kind: 'stale' };
}

export function putGroup(
  world: World,
  id: string,
  write: Stored<GroupWrite>,
  context: ConditionalContext,
): PutGroupOutcome {
  return commit(world, (draft) => {
    const current = draft.groups.get(id);
    if (current === undefined && write.name === undefined && context.ifMatch === undefined)
      return { kind: 'nameRequired' } as const;
    const users = unknownAmong(draft, write.members ?? []);
    if (users !== null) return { kind: 'unknownUsers', users } as const;
    return preconditionError(current?.revision, context) ?? writeGroup(draft, id, write, context.revision);
  });
}

/** Applies the fields of a valid write. */
export function writeGroup(draft: World, id: string, write: Stored<GroupWrite>, revision: Revision): Changed {
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
    metadata: write.metadata ?? before?.metadata ?? '{}',
    workspace: before?.workspace ?? null,
    revision: before?.revision ?? revision,
    members,
    incarnations: new Map(Array.from(members, (userId) => [userId, incarnationOf(userId)])),
  };
  if (before !== undefined && sameGroup(before, after)) return 'unchanged';
  draft.groups.set(id, { ...after, revision });
  removePresenceOfNonMembers(draft);
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
  context: ConditionalContext,
): ChangeMembersOutcome {
  return commit(world, (draft) => {
    const group = draft.groups.get(id);
    if (group === undefined && context.ifMatch === undefined) return { kind: 'absent' } as const;
    const users = unknownAmong(draft, change.add);
    if (users !== null) return { kind: 'unknownUsers', users } as const;
    if (group === undefined) return STALE;
    const members = [...group.members.union(new Set(change.add)).difference(new Set(change.remove))];
    return staleness(group.revision, context) ?? writeGroup(draft, id, { members }, context.revision);
  });
}

export function deleteGroup(world: World, id: string, context: ConditionalContext): DeleteOutcome {
  return commit(world, (draft) => {
    const group = draft.groups.get(id);
    if (group === undefined) return { kind: context.ifMatch === undefined ? 'absent' : 'stale' } as const;
    const stale = staleness(group.revision, context);
    if (stale !== null) return stale;
    draft.groups.delete(id);
    for (const thread of [...draft.threads.values()]) {
      if (thread.groupId === id) draft.threads.delete(thread.id);
    }
    removePresenceOfNonMembers(draft);
    return 'deleted';
  });
}

export function connectGroup(
  world: World,
  id: string,
  workspace: string | null,
  { revision }: WriteContext,
): Updated | Absent {
  const group = world.groups.get(id);
  if (group === undefined) return { kind: 'absent' };
  // Only the existence of a workspace can be read, so only that is a change.
  const isChange = (group.workspace === null) !== (workspace === null);
  if (isChange) group.revision = revision;
  group.workspace = workspace;
  if (!isChange) return UNCHANGED;
  return {
    kind: 'updated',
    changes: [{ type: 'group.updated', group: id, fields: ['connectedToMessenger'] }],
  };
}

export function putUser(
  world: World,
  id: string,
  write: StoredUserWrite,
  context: ConditionalContext,
): PutUserOutcome {
  return commit(world, (draft) => {
    return preconditionError(draft.users.get(id)?.revision, context) ?? writeUser(draft, id, write, context);
  });
}

/** Applies the fields of a valid write. */
export function writeUser(
  draft: World,
  id: string,
  write: StoredUserWrite,
  { now, revision }: ConditionalContext,
): Changed {
  const before = draft.users.get(id) ?? newUser(id, now, revision);
  const after: ModelUser = {
    ...before,
    name: write.name ?? before.name,
    shortName: cleared(write.short_name, before.shortName),
    email: cleared(write.email, before.email),
    profilePictureUrl: cleared(write.profile_picture_url, before.profilePictureUrl),
    status: write.status ?? before.status,
    metadata: write.metadata ?? before.metadata,
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

/** Absent leaves the value, `""` and null clear it, anything else replaces it. */
function cleared(written: string | null | undefined, before: string | null): string | null {
  return written === undefined ? before : written || null;
}

export function deleteUser(world: World, id: string, context: ConditionalContext): DeleteOutcome {
  return commit(world, (draft) => {
    const user = draft.users.get(id);
    if (user === undefined) return { kind: context.ifMatch === undefined ? 'absent' : 'stale' } as const;
    const stale = staleness(user.revision, context);
    if (stale !== null) return stale;
    draft.users.delete(id);
    for (const group of draft.groups.values())
      if (group.members.delete(id)) group.revision = context.revision;
    removePresenceOfNonMembers(draft);
    return 'deleted';
  });
}

/** Durable presence ends with the membership that it needs. */
function removePresenceOfNonMembers(draft: World): void {
  draft.presence = draft.presence.filter(
    ({ groupId, userId }) => draft.groups.get(groupId)?.members.has(userId) ?? false,
  );
}

export const ascending = (ids: Iterable<string>): string[] => [...ids].sort(compareCodePoints);
