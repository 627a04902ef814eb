/** Threads of the naive model: lists that are searched from their beginning, and counts that are counted. */
import { compareCodePoints, type Location, limits, locationMatches } from '@rollcall/protocol';
import { PARTICIPANT_BYTES } from '../../src/store/conversation/thread-page-bounds.ts';
import { type DeleteOutcome, UNCHANGED } from '../../src/store/outcomes.ts';
import type {
  PutThreadOutcome,
  SeenMark,
  SeenOutcome,
  StoredThreadWrite,
  ThreadFilter,
  ThreadListRequest,
  ThreadPage,
  ThreadRecord,
} from '../../src/store/ports/threads.ts';
import type { ConditionalContext } from '../../src/store/write-context.ts';
import {
  ABSENT,
  compare,
  cut,
  differences,
  fixedOf,
  futureOf,
  lastMessageAt,
  type ModelThread,
  missingOf,
  STALE,
  see,
  unavailable,
} from './model-conversation.ts';
import { preconditionError, staleness, type World } from './model-world.ts';

const activityOf = (thread: ModelThread) => lastMessageAt(thread) ?? thread.createdAt;

export function shown(thread: ModelThread, viewer: string | null): ThreadRecord {
  const { arrival: _, arrivals: __, messages, seen, ...record } = thread;
  const present = messages.filter(({ deletedAt }) => deletedAt === null);
  const unread = present.filter(
    ({ createdAt }) => createdAt > (seen.get(viewer ?? '') ?? Number.NEGATIVE_INFINITY),
  ).length;
  return {
    ...record,
    userMessages: present.filter(({ type }) => type === 'user_message').length,
    actionMessages: present.filter(({ type }) => type === 'action_message').length,
    deletedMessages: messages.length - present.length,
    lastMessageAt: lastMessageAt(thread),
    participants: [...seen]
      .map(([userId, lastSeenAt]) => ({ userId, lastSeenAt }))
      .sort((a, b) => b.lastSeenAt - a.lastSeenAt || compareCodePoints(b.userId, a.userId))
      .slice(0, limits.PARTICIPANTS_SHOWN),
    unread: viewer === null ? null : Math.min(unread, limits.UNREAD_MAX),
  };
}

export function findThread(world: World, id: string, viewer: string | null): ThreadRecord | null {
  const thread = world.threads.get(id);
  return thread === undefined ? null : shown(thread, viewer);
}

function passes(thread: ModelThread, { groupId, location, resolved }: ThreadFilter): boolean {
  if (groupId !== null && thread.groupId !== groupId) return false;
  if (resolved !== null && (thread.resolvedAt !== null) !== resolved) return false;
  if (location === null) return true;
  if (!location.partial || thread.location === null) return thread.location === location.location;
  return locationMatches(JSON.parse(thread.location) as Location, JSON.parse(location.location) as Location);
}

export function listThreads(world: World, { filter, viewer, ...page }: ThreadListRequest): ThreadPage {
  const positionOf = (thread: ModelThread) => [activityOf(thread), thread.arrival] as const;
  const found = [...world.threads.values()]
    .filter((thread) => passes(thread, filter))
    .sort((a, b) => compare(positionOf(b), positionOf(a)));
  const size = ({ id, name, url, location, metadata, seen }: ModelThread) => {
    const texts = [id, name, url, location, metadata, ...seen.keys()].join('');
    return Buffer.byteLength(texts) + seen.size * PARTICIPANT_BYTES;
  };
  const { taken, last } = cut(found, page, positionOf, -1, size);
  return { threads: taken.map((thread) => shown(thread, viewer)), last };
}

export function putThread(
  world: World,
  id: string,
  write: StoredThreadWrite,
  context: ConditionalContext,
): PutThreadOutcome {
  const { groupId, createdAt = context.now, resolvedAt, resolved, inGroup, ...fields } = write;
  const before = world.threads.get(id);
  if (inGroup !== undefined && before?.groupId !== inGroup) return ABSENT;
  if (before !== undefined) return changeThread(world, before, write, context);
  const missing = missingOf({ groupID: groupId, name: fields.name });
  if (missing.length > 0 && context.ifMatch === undefined) return { kind: 'fieldsRequired', fields: missing };
  const future = futureOf(context, { createdTimestamp: createdAt, resolvedTimestamp: resolvedAt });
  if (future !== null && context.ifMatch === undefined) return future;
  if (groupId === undefined) return STALE;
  const error = unavailable(world, groupId, write.createdAt) ?? preconditionError(undefined, context);
  if (error !== null) return error;
  const isResolved = resolved ?? resolvedAt !== undefined;
  world.threadsEver += 1;
  world.threads.set(id, {
    ...{ url: null, location: null, metadata: '{}', ...fields },
    ...{ id, groupId, name: fields.name as string, createdAt },
    ...{ resolvedAt: isResolved ? (resolvedAt ?? context.now) : null, revision: context.revision },
    ...{ arrival: world.threadsEver, arrivals: 0, messages: [], seen: new Map() },
  });
  return { kind: 'created', changes: [{ type: 'thread.created', group: groupId, thread: id }] };
}

function changeThread(
  world: World,
  thread: ModelThread,
  { groupId, createdAt, resolvedAt, resolved, inGroup: _, ...fields }: StoredThreadWrite,
  context: ConditionalContext,
): PutThreadOutcome {
  const error =
    fixedOf(
      context,
      ['groupID', groupId, thread.groupId],
      ['createdTimestamp', createdAt, thread.createdAt],
      ['resolvedTimestamp', resolvedAt, thread.resolvedAt],
    ) ??
    unavailable(world, groupId ?? thread.groupId, createdAt) ??
    preconditionError(thread.revision, context);
  if (error !== null) return error;
  const before = { ...thread };
  Object.assign(thread, fields);
  if (resolved === true) thread.resolvedAt ??= Math.max(context.now, thread.createdAt);
  if (resolved === false) thread.resolvedAt = null;
  const changed = differences(before, thread, ['name', 'url', 'location', 'metadata', 'resolvedAt']);
  if (changed.length === 0) return UNCHANGED;
  thread.revision = context.revision;
  const change = {
    type: 'thread.updated',
    group: thread.groupId,
    thread: thread.id,
    fields: changed,
  } as const;
  return { kind: 'updated', changes: [change] };
}

export function deleteThread(world: World, id: string, context: ConditionalContext): DeleteOutcome {
  const thread = world.threads.get(id);
  if (thread === undefined) return ABSENT;
  const stale = staleness(thread.revision, context);
  if (stale !== null) return stale;
  world.threads.delete(id);
  return { kind: 'deleted', changes: [{ type: 'thread.removed', group: thread.groupId, thread: id }] };
}

export function markSeen(
  world: World,
  id: string,
  { userId, messageId, inGroup }: SeenMark,
  context: ConditionalContext,
): SeenOutcome {
  const thread = world.threads.get(id);
  if (thread === undefined || (inGroup ?? thread.groupId) !== thread.groupId) return ABSENT;
  const message = thread.messages.find((each) => each.id === messageId);
  if (messageId !== null && message === undefined) return { kind: 'messageAbsent' };
  const stale = staleness(thread.revision, context);
  if (stale !== null) return stale;
  const { now, revision } = context;
  const at = message?.createdAt ?? Math.max(now, lastMessageAt(thread) ?? now);
  if (!see(thread, userId, at)) return UNCHANGED;
  thread.revision = revision;
  return { kind: 'updated', changes: [] };
}
