/** The columns that every driver reads of a thread and of a message, in this order. */

import type { MessageType } from '@rollcall/protocol';
import type { MessageRecord } from './ports/messages.ts';
import type { ThreadRecord } from './ports/threads.ts';

/** A thread without what other tables have of it. */
export type ThreadRow = Omit<ThreadRecord, 'participants' | 'unread'>;

export const toThreadRow = (row: readonly unknown[]): ThreadRow => ({
  id: row[0] as string,
  groupId: row[1] as string,
  name: row[2] as string,
  url: row[3] as string | null,
  location: row[4] as string | null,
  metadata: row[5] as string,
  resolvedAt: row[6] as number | null,
  createdAt: row[7] as number,
  userMessages: row[8] as number,
  actionMessages: row[9] as number,
  deletedMessages: row[10] as number,
  lastMessageAt: row[11] as number | null,
  revision: row[12] as string,
});

export const toMessage = (row: readonly unknown[]): MessageRecord => ({
  id: row[0] as string,
  authorId: row[1] as string,
  type: row[2] as MessageType,
  content: row[3] as string,
  url: row[4] as string | null,
  metadata: row[5] as string,
  createdAt: row[6] as number,
  updatedAt: row[7] as number | null,
  deletedAt: row[8] as number | null,
  revision: row[9] as string,
  position: row[10] as number,
  writtenPosition: row[11] as number,
  markdownLength: row[12] as number | null,
});
