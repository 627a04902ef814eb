/** The columns that every driver reads of a thread and of a message; the arguments are the SQL in which they differ. */
import type { SqlOf } from '../columns.ts';
import type { MessageRecord } from '../ports/messages.ts';
import type { ThreadRecord } from '../ports/threads.ts';

/** A thread without what other tables have of it. */
export type ThreadRow = Omit<ThreadRecord, 'participants' | 'unread'>;

/** Of the thread `t`. */
export const threadColumns = (groupId: string): SqlOf<ThreadRow> => ({
  id: 't.id',
  groupId,
  name: 't.name',
  url: 't.url',
  location: 't.location',
  metadata: 't.metadata',
  resolvedAt: 't.resolved_at',
  createdAt: 't.created_at',
  userMessages: 't.user_messages',
  actionMessages: 't.action_messages',
  deletedMessages: 't.deleted_messages',
  lastMessageAt: 't.last_message_at',
  revision: 't.revision',
});

export type MessageRow = Omit<MessageRecord, 'content'>;

/** Of the message `m`. */
export const messageColumns = (type: string): SqlOf<MessageRow> => ({
  id: 'm.id',
  authorId: 'm.author_id',
  type,
  url: 'm.url',
  metadata: 'm.metadata',
  createdAt: 'm.created_at',
  updatedAt: 'm.updated_at',
  deletedAt: 'm.deleted_at',
  revision: 'm.revision',
  position: 'm.position',
  writtenPosition: 'm.written_position',
  markdownLength: 'm.markdown_length',
});
