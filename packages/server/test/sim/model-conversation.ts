/** Threads and messages of the naive model: lists that are searched from their beginning, and counts that are counted. */

import { compareCodePoints, type Location, limits, locationMatches } from '@rollcall/protocol';
import type { Change } from '../../src/store/changes.ts';
import { type DeleteOutcome, UNCHANGED } from '../../src/store/outcomes.ts';
import {
  type AppendOutcome,
  type FoundMessage,
  MARKDOWN_END,
  type MessageAppend,
  type MessageListRequest,
  type MessagePage,
  type MessageRecord,
  type PutMessageOutcome,
  type StoredMessageWrite,
  type ThreadAbsent,
} from '../../src/store/ports/messages.ts';
import type {
  PutThreadOutcome,
  SeenOutcome,
  StoredThreadWrite,
  ThreadFilter,
  ThreadListRequest,
  ThreadPage,
  ThreadRecord,
} from '../../src/store/ports/threads.ts';
import { PARTICIPANT_BYTES } from '../../src/store/thread-page-bounds.ts';
import type { ConditionalContext, WriteContext } from '../../src/store/write-context.ts';
import type { ShownMessage } from '../contract/store/conversation.ts';
import { preconditionError, staleness, unknownAmong, type World } from './model-world.ts';

type Mutable<Value> = { -readonly [Field in keyof Value]: Value[Field] };

/** Without positions, which the model does not count. */
export interface ModelMessage extends Mutable<ShownMessage> {
  /** The order of arrival in the thread. */
  arrival: number;
  markdownLength: number | null;
}

export interface ModelThread {
  /** The order of creation in the project. */
  arrival: number;
  id: string;
  groupId: string;
  name: string;
  url: string | null;
  location: string | null;
  metadata: string;
  resolvedAt: number | null;
  createdAt: number;
  revision: string;
  messages: ModelMessage[];
  arrivals: number;
  /** Up to when users have seen it. */
  seen: Map<string, number>;
}

const STALE = { kind: 'stale' } as const;
const ABSENT = { kind: 'absent' } as const;
const THREAD_ABSENT = { kind: 'threadAbsent' } as const;

const lastMessageAt = ({ messages }: ModelThread) =>
  messages.length === 0 ? null : Math.max(...messages.map(({ createdAt }) => createdAt));

const activityOf = (thread: ModelThread) => lastMessageAt(thread) ?? thread.createdAt;

function shown(thread: ModelThread, viewer: string | null): ThreadRecord {
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

function shownMessage({ arrival: _, ...message }: ModelMessage): MessageRecord {
  return { ...message, position: 0, writtenPosition: 0 };
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

export function listMessages(
  world: World,
  threadId: string,
  { order, ...page }: MessageListRequest,
): MessagePage | null {
  const thread = world.threads.get(threadId);
  if (thread === undefined) return null;
  const positionOf = ({ createdAt, arrival }: ModelMessage) => [createdAt, arrival] as const;
  const sign = order === 'ascending' ? 1 : -1;
  const all = thread.messages.toSorted((a, b) => sign * compare(positionOf(a), positionOf(b)));
  const size = ({ content, metadata }: ModelMessage) => Buffer.byteLength(content + metadata);
  const { taken, last } = cut(all, page, positionOf, sign, size);
  return {
    groupId: thread.groupId,
    messages: taken.map(shownMessage),
    last,
    total: all.length,
    at: { epoch: '', position: 0 },
  };
}

type Position = readonly [time: number, arrival: number];

const compare = (a: Position, b: Position) => a[0] - b[0] || a[1] - b[1];

/** A page of what is in order: `sign` is 1 where positions ascend. */
function cut<Entry>(
  all: readonly Entry[],
  { after, limit, maxBytes }: Pick<ThreadListRequest, 'after' | 'limit' | 'maxBytes'>,
  positionOf: (entry: Entry) => Position,
  sign: number,
  sizeOf: (entry: Entry) => number,
): { taken: Entry[]; last: string | null } {
  const start = after?.split(' ').map(Number) as [number, number] | undefined;
  const rest = all.filter((entry) => start === undefined || sign * compare(positionOf(entry), start) > 0);
  const taken: Entry[] = [];
  for (let bytes = 0; taken.length < Math.min(limit, rest.length) && bytes <= maxBytes; ) {
    const entry = rest[taken.length] as Entry;
    taken.push(entry);
    bytes += sizeOf(entry);
  }
  const end = taken.at(-1);
  return {
    taken,
    last: end === undefined || taken.length === rest.length ? null : positionOf(end).join(' '),
  };
}

const missingOf = (fields: Readonly<Record<string, unknown>>) =>
  Object.keys(fields).filter((field) => fields[field] === undefined);

const fixedOf = (
  { ifNoneMatch }: ConditionalContext,
  ...fields: readonly (readonly [field: string, supplied: unknown, stored: unknown])[]
) => {
  const found = fields.find(([, supplied, stored]) => supplied !== undefined && supplied !== stored);
  if (ifNoneMatch === '*') return null;
  return found === undefined ? null : ({ kind: 'fixedField', field: found[0] } as const);
};

function unavailable(world: World, groupId: string, createdAt: number | undefined) {
  const group = world.groups.get(groupId);
  if (group === undefined) return { kind: 'groupUnavailable', groupId, isDeleted: false } as const;
  if (group.status === 'active' || createdAt !== undefined) return null;
  return { kind: 'groupUnavailable', groupId, isDeleted: true } as const;
}

/** The names of the fields in which two states differ, as the API has them. */
function differences<State extends object>(
  before: State,
  after: State,
  names: readonly (keyof State)[],
): string[] {
  const renamed: Readonly<Record<string, string>> = { resolvedAt: 'resolved', deletedAt: 'deleted' };
  return names
    .filter((name) => before[name] !== after[name])
    .map((name) => renamed[String(name)] ?? String(name));
}

export function putThread(
  world: World,
  id: string,
  write: StoredThreadWrite,
  context: ConditionalContext,
): PutThreadOutcome {
  const { groupId, createdAt = context.now, resolvedAt, resolved, ...fields } = write;
  const before = world.threads.get(id);
  if (before !== undefined) return changeThread(world, before, write, context);
  const missing = missingOf({ groupID: groupId, name: fields.name });
  if (missing.length > 0 && context.ifMatch === undefined) return { kind: 'fieldsRequired', fields: missing };
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
  { groupId, createdAt, resolvedAt, resolved, ...fields }: StoredThreadWrite,
  context: ConditionalContext,
): PutThreadOutcome {
  const error =
    fixedOf(
      context,
      ['groupID', groupId, thread.groupId],
      ['createdTimestamp', createdAt, thread.createdAt],
      ['resolvedTimestamp', resolvedAt, thread.resolvedAt],
    ) ??
    unavailable(world, thread.groupId, createdAt) ??
    preconditionError(thread.revision, context);
  if (error !== null) return error;
  const before = { ...thread };
  Object.assign(thread, fields);
  if (resolved === true) thread.resolvedAt ??= context.now;
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

function see(thread: ModelThread, userId: string, at: number): boolean {
  if ((thread.seen.get(userId) ?? Number.NEGATIVE_INFINITY) >= at) return false;
  thread.seen.set(userId, at);
  return true;
}

export function markSeen(
  world: World,
  id: string,
  userId: string,
  messageId: string | null,
  { now, revision }: WriteContext,
): SeenOutcome {
  const thread = world.threads.get(id);
  if (thread === undefined) return ABSENT;
  const message = thread.messages.find((each) => each.id === messageId);
  if (messageId !== null && message === undefined) return { kind: 'messageAbsent' };
  const at = message?.createdAt ?? Math.max(now, lastMessageAt(thread) ?? now);
  if (!see(thread, userId, at)) return UNCHANGED;
  thread.revision = revision;
  return { kind: 'updated', changes: [] };
}

export function findMessage(
  world: World,
  threadId: string,
  id: string,
): FoundMessage | ThreadAbsent | typeof ABSENT {
  const thread = world.threads.get(threadId);
  if (thread === undefined) return THREAD_ABSENT;
  const message = thread.messages.find((each) => each.id === id);
  if (message === undefined) return ABSENT;
  return { kind: 'found', groupId: thread.groupId, message: shownMessage(message) };
}

/** Where the message is rejected, no thread is made for it. */
export function putMessage(
  world: World,
  threadId: string,
  id: string,
  write: StoredMessageWrite,
  context: ConditionalContext,
): PutMessageOutcome {
  const wasThere = world.threads.has(threadId);
  const outcome = putMessageInto(world, threadId, id, write, context);
  if (!wasThere && outcome.kind !== 'created') world.threads.delete(threadId);
  return outcome;
}

function putMessageInto(
  world: World,
  threadId: string,
  id: string,
  write: StoredMessageWrite,
  context: ConditionalContext,
): PutMessageOutcome {
  const existing = world.threads.get(threadId);
  if (existing !== undefined && existing.groupId !== (write.inGroup ?? existing.groupId))
    return THREAD_ABSENT;
  const message = existing?.messages.find((each) => each.id === id);
  const missing = missingOf({ authorID: write.authorId, content: write.content });
  if (message === undefined && missing.length > 0 && context.ifMatch === undefined) {
    return { kind: 'fieldsRequired', fields: missing };
  }
  const changes: Change[] = [];
  if (!world.threads.has(threadId) && write.createThread !== undefined) {
    const { ifMatch: _, ifNoneMatch: __, ...unconditional } = context;
    const made = putThread(world, threadId, write.createThread, unconditional);
    if (made.kind !== 'created') return made;
    changes.push(...made.changes);
  }
  const thread = world.threads.get(threadId);
  if (thread === undefined) return THREAD_ABSENT;
  const error =
    fixedOf(
      context,
      ['authorID', message && write.authorId, message?.authorId],
      ['createdTimestamp', message && write.createdAt, message?.createdAt],
      ['updatedTimestamp', message && write.updatedAt, message?.updatedAt],
      ['deletedTimestamp', message && write.deletedAt, message?.deletedAt],
    ) ??
    unavailable(world, thread.groupId, write.createdAt) ??
    (message === undefined ? authorError(world, thread, write) : null) ??
    unknownUsers(world, write) ??
    preconditionError(message?.revision, context);
  if (error !== null) return error;
  if (message !== undefined) return changeMessage(thread, message, write, context);
  if (missing.length > 0) return STALE;
  createMessage(thread, id, write, context);
  const change = { type: 'message.created', group: thread.groupId, thread: threadId, message: id } as const;
  return { kind: 'created', changes: [...changes, change] };
}

function authorError(world: World, { groupId }: ModelThread, { authorId, createdAt }: StoredMessageWrite) {
  if (authorId === undefined) return null;
  const user = world.users.get(authorId);
  const isMember = world.groups.get(groupId)?.members.has(authorId) === true;
  const error = (reason: 'absent' | 'deleted' | 'notMember') =>
    ({ kind: 'authorUnavailable', reason, groupId }) as const;
  if (user === undefined) return error('absent');
  if (createdAt !== undefined) return null;
  if (user.status === 'deleted') return error('deleted');
  return isMember ? null : error('notMember');
}

function unknownUsers(world: World, { content }: StoredMessageWrite) {
  const users = unknownAmong(world, content?.userIds ?? []);
  return users === null ? null : ({ kind: 'unknownUsers', users } as const);
}

function createMessage(
  thread: ModelThread,
  id: string,
  {
    authorId = '',
    content,
    type = 'user_message',
    url = null,
    metadata = '{}',
    ...write
  }: StoredMessageWrite,
  { now, revision }: ConditionalContext,
): void {
  const { deleted = write.deletedAt !== undefined, updatedAt = null } = write;
  const createdAt = write.createdAt ?? Math.max(now, lastMessageAt(thread) ?? now);
  thread.arrivals += 1;
  thread.messages.push({
    ...{ id, authorId, type, url, metadata, createdAt, updatedAt, revision, arrival: thread.arrivals },
    content: content?.json ?? '',
    markdownLength: content?.markdownLength ?? null,
    deletedAt: deleted ? (write.deletedAt ?? now) : null,
  });
  thread.revision = revision;
  see(thread, authorId, createdAt);
}

function changeMessage(
  thread: ModelThread,
  message: ModelMessage,
  { content, type, url, metadata, deleted }: StoredMessageWrite,
  { now, revision }: ConditionalContext,
): PutMessageOutcome {
  const [before, counted] = [{ ...message }, countsOf(thread)];
  if (content !== undefined && content.json !== message.content) {
    Object.assign(message, { content: content.json, markdownLength: content.markdownLength });
  }
  message.type = type ?? message.type;
  if (url !== undefined) message.url = url;
  message.metadata = metadata ?? message.metadata;
  if (deleted === true) message.deletedAt ??= now;
  if (deleted === false) message.deletedAt = null;
  const fields = differences(before, message, ['type', 'content', 'url', 'metadata', 'deletedAt']);
  if (fields.length === 0) return UNCHANGED;
  if (fields.some((field) => field !== 'deleted'))
    message.updatedAt = Math.max(now, message.updatedAt ?? now);
  message.revision = revision;
  if (countsOf(thread) !== counted) thread.revision = revision;
  const { groupId: group, id: threadId } = thread;
  return {
    kind: 'updated',
    changes: [{ type: 'message.updated', group, thread: threadId, message: message.id, fields }],
  };
}

function countsOf(thread: ModelThread): string {
  const { userMessages, actionMessages, deletedMessages } = shown(thread, null);
  return [userMessages, actionMessages, deletedMessages].join();
}

export function appendText(
  world: World,
  threadId: string,
  id: string,
  { escaped, length, offset }: MessageAppend,
  context: ConditionalContext,
): AppendOutcome {
  const thread = world.threads.get(threadId);
  if (thread === undefined) return THREAD_ABSENT;
  const message = thread.messages.find((each) => each.id === id);
  if (message === undefined) return ABSENT;
  const error = unavailable(world, thread.groupId, undefined);
  if (error !== null) return error;
  if (message.markdownLength === null || message.deletedAt !== null) return { kind: 'notAppendable' };
  if (offset !== null && offset !== message.markdownLength) return STALE;
  const stale = staleness(message.revision, context);
  if (stale !== null) return stale;
  const content = message.content.slice(0, -MARKDOWN_END.length) + escaped + MARKDOWN_END;
  if (Buffer.byteLength(content) > limits.CONTENT_MAX_BYTES) return { kind: 'tooLarge' };
  message.content = content;
  message.markdownLength += length;
  message.revision = context.revision;
  const change = { type: 'message.appended', group: thread.groupId, thread: threadId, message: id } as const;
  return { kind: 'appended', length: message.markdownLength, changes: length === 0 ? [] : [change] };
}

export function deleteMessage(
  world: World,
  threadId: string,
  id: string,
  context: ConditionalContext,
): DeleteOutcome | ThreadAbsent {
  const thread = world.threads.get(threadId);
  if (thread === undefined) return THREAD_ABSENT;
  const message = thread.messages.find((each) => each.id === id);
  if (message === undefined) return ABSENT;
  const stale = staleness(message.revision, context);
  if (stale !== null) return stale;
  thread.messages = thread.messages.filter((each) => each !== message);
  thread.revision = context.revision;
  const change = { type: 'message.removed', group: thread.groupId, thread: threadId, message: id } as const;
  return { kind: 'deleted', changes: [change] };
}
