/** Messages of the naive model. */
import { limits } from '@rollcall/protocol';
import type { Change } from '../../src/store/changes/changes.ts';
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
import type { ConditionalContext } from '../../src/store/write-context.ts';
import {
  ABSENT,
  compare,
  cut,
  differences,
  fixedOf,
  futureOf,
  type ModelMessage,
  type ModelThread,
  missingOf,
  STALE,
  see,
  THREAD_ABSENT,
  unavailable,
} from './model-conversation.ts';
import { putThread, shown } from './model-threads.ts';
import { preconditionError, staleness, unknownAmong, type World } from './model-world.ts';

function shownMessage({ arrival: _, ...message }: ModelMessage): MessageRecord {
  return { ...message, position: 0, writtenPosition: 0 };
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
  if (write.ofAuthor !== undefined && message?.authorId !== write.ofAuthor)
    return existing === undefined ? THREAD_ABSENT : ABSENT;
  const missing = missingOf({ authorID: write.authorId, content: write.content });
  if (message === undefined && missing.length > 0 && context.ifMatch === undefined) {
    return { kind: 'fieldsRequired', fields: missing };
  }
  const { createdAt, updatedAt, deletedAt } = write;
  const times = { createdTimestamp: createdAt, updatedTimestamp: updatedAt, deletedTimestamp: deletedAt };
  const future = futureOf(context, times);
  if (message === undefined && future !== null && context.ifMatch === undefined) return future;
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
    (message === undefined || context.ifNoneMatch === '*' ? authorError(world, thread, write) : null) ??
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
  const seen = Math.max(...thread.seen.values());
  const createdAt = write.createdAt ?? Math.max(now, seen + 1);
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
  context: ConditionalContext,
): PutMessageOutcome {
  const { revision } = context;
  const now = Math.max(context.now, message.createdAt);
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
  if (length === 0)
    return { kind: 'appended', length: message.markdownLength, revision: message.revision, changes: [] };
  message.content = content;
  message.markdownLength += length;
  message.revision = context.revision;
  const change = { type: 'message.appended', group: thread.groupId, thread: threadId, message: id } as const;
  return {
    kind: 'appended',
    length: message.markdownLength,
    revision: context.revision,
    changes: [change],
  };
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
