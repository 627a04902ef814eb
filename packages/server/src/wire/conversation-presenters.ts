/** The JSON text of threads and messages. */
import { type ContentNode, plaintextOf } from '@rollcall/protocol';
import type { MessageRecord } from '../store/ports/messages.ts';
import type { ThreadRecord } from '../store/ports/threads.ts';
import type { Json } from '../values/json.ts';
import { listHead, listTail, text } from './json-answer.ts';
import { timestamp } from './timestamp.ts';

const time = (milliseconds: number | null) =>
  milliseconds === null ? 'null' : `"${timestamp(milliseconds)}"`;

export function presentThread(thread: ThreadRecord): Json {
  const { userMessages, actionMessages, deletedMessages, unread } = thread;
  const participants = thread.participants.map(
    ({ userId, lastSeenAt }) => `{"userID":${text(userId)},"lastSeenTimestamp":${time(lastSeenAt)}}`,
  );
  return (
    `{"id":${text(thread.id)},"groupID":${text(thread.groupId)},"name":${text(thread.name)},` +
    `"url":${text(thread.url)},"location":${thread.location},"metadata":${thread.metadata},` +
    `"resolved":${thread.resolvedAt !== null},"resolvedTimestamp":${time(thread.resolvedAt)},` +
    `"createdTimestamp":${time(thread.createdAt)},"total":${userMessages + actionMessages + deletedMessages},` +
    `"userMessages":${userMessages},"actionMessages":${actionMessages},"deletedMessages":${deletedMessages},` +
    `"lastMessageTimestamp":${time(thread.lastMessageAt)},"participants":[${participants.join(',')}]` +
    `${unread === null ? '' : `,"unread":${unread}`}}`
  );
}

export const presentThreads = (threads: readonly ThreadRecord[], token: string | null): Json =>
  `${listHead('threads')}${threads.map(presentThread).join(',')}${listTail(token)}`;

export interface MessageOwner {
  readonly threadId: string;
  readonly groupId: string;
}

/** The content of a deleted message stays stored and is not shown. */
export function presentMessage(message: MessageRecord, { threadId, groupId }: MessageOwner): Json {
  const isDeleted = message.deletedAt !== null;
  const plaintext = isDeleted ? '' : plaintextOf(JSON.parse(message.content) as ContentNode[]);
  return (
    `{"id":${text(message.id)},"threadID":${text(threadId)},"groupID":${text(groupId)},` +
    `"authorID":${text(message.authorId)},"type":"${message.type}",` +
    `"content":${isDeleted ? '[]' : message.content},"plaintext":${text(plaintext)},` +
    `"url":${text(message.url)},"metadata":${isDeleted ? '{}' : message.metadata},` +
    `"createdTimestamp":${time(message.createdAt)},"updatedTimestamp":${time(message.updatedAt)},` +
    `"deletedTimestamp":${time(message.deletedAt)}}`
  );
}
