import { limits } from '@rollcall/protocol';
import {
  BYTES_MAX,
  type ConversationFeedStore,
  MESSAGES_MAX,
  REVISIONS_MAX,
  type RemovedMessage,
  type ThreadRevision,
} from '../../ports/conversation-feed.ts';
import type { MessageRecord } from '../../ports/messages.ts';
import type { ThreadPosition } from '../../ports/threads.ts';
import type { SqliteReader } from '../sqlite-reader.ts';
import { MESSAGE_COLUMNS } from './sqlite-messages.ts';
import { THREAD_BY_ID, threadReader } from './sqlite-threads.ts';

const BEFORE_ALL = Number.MIN_SAFE_INTEGER;

/** Reads of what streams of messages show, on the main thread. */
export function conversationFeedReads({ prepare }: Pick<SqliteReader, 'prepare'>): ConversationFeedStore {
  const position = prepare<[threadNo: number, string, number, fieldsPosition: number, removedTo: number]>(`
    SELECT t.thread_no, t.epoch, t.position, t.fields_position, t.removed_to ${THREAD_BY_ID}`);
  const messagesAfter = prepare(`
    SELECT ${MESSAGE_COLUMNS.sql} FROM messages m INDEXED BY messages_by_position
    WHERE m.thread_no = ? AND m.position > ? ORDER BY m.position LIMIT ${MESSAGES_MAX + 1}`);
  const removedAfter = prepare<[number, string]>(`
    SELECT position, id FROM removed_messages WHERE thread_no = ? AND position > ? AND position <= ?
    ORDER BY position`);
  const thread = threadReader({ prepare });
  const lastSeen = prepare<[number]>(
    'SELECT last_seen_at FROM participants WHERE thread_no = ? AND user_id = ?',
  );
  const newest = prepare<[number]>(`
    SELECT created_at FROM messages INDEXED BY messages_unread
    WHERE thread_no = ? AND created_at > ? AND is_deleted = 0
    ORDER BY created_at DESC LIMIT ${limits.UNREAD_MAX}`);
  const revisions = prepare<[threadNo: number, id: string, revision: string]>(`
    SELECT t.thread_no, t.id, t.revision
    FROM groups g CROSS JOIN conversations c ON c.group_no = g.group_no
      CROSS JOIN threads t INDEXED BY threads_by_conversation ON t.conversation_no = c.conversation_no
    WHERE g.project_no = ? AND g.id = ? AND t.thread_no > ? ORDER BY t.thread_no LIMIT ${REVISIONS_MAX}`);

  return {
    async positions(project, threadIds) {
      const found = new Map<string, ThreadPosition>();
      for (const id of threadIds) {
        const row = position.get(project, id);
        if (row !== undefined) found.set(id, { epoch: row[1], position: row[2] });
      }
      return found;
    },
    async changesSince(project, threadId, after) {
      const row = position.get(project, threadId);
      const record = thread.find(project, threadId, null);
      if (row === undefined || record === null) return { kind: 'threadAbsent' };
      const [threadNo, epoch, current, threadPosition, removedTo] = row;
      if (after > current || after < removedTo) return { kind: 'gone', epoch };
      const messages: MessageRecord[] = [];
      let [to, bytes] = [current, 0];
      for (const found of messagesAfter.iterate(threadNo, after)) {
        if (messages.length === MESSAGES_MAX || bytes > BYTES_MAX) {
          to = (messages.at(-1) as MessageRecord).position;
          break;
        }
        const message = MESSAGE_COLUMNS.toRecord(found);
        messages.push(message);
        bytes += Buffer.byteLength(message.content);
      }
      const removed: RemovedMessage[] = removedAfter
        .all(threadNo, after, to)
        .map(([at, id]) => ({ id, position: at }));
      return { kind: 'changes', epoch, position: to, thread: record, threadPosition, messages, removed };
    },
    async unread(project, threadId, userIds) {
      const [threadNo] = position.get(project, threadId) ?? [];
      if (threadNo === undefined) return new Map();
      const seenAt = (userId: string) => lastSeen.get(threadNo, userId)?.[0] ?? BEFORE_ALL;
      const seen = userIds.map((id) => ({ id, at: seenAt(id) })).sort((a, b) => b.at - a.at);
      const times = newest.all(threadNo, seen.at(-1)?.at ?? 0);
      let count = 0;
      // Both are the latest first, so one pass over the messages counts for all users.
      const counts = seen.map(({ id, at }): [string, number] => {
        while (count < times.length && (times[count]?.[0] as number) > at) count += 1;
        return [id, count];
      });
      return new Map(counts);
    },
    async revisions(project, groupId, after) {
      const rows = revisions.all(project, groupId, Number(after ?? 0));
      const threads = rows.map(([, id, revision]): ThreadRevision => ({ id, revision }));
      return { threads, last: rows.length < REVISIONS_MAX ? null : String(rows.at(-1)?.[0]) };
    },
  };
}
