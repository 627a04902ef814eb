import type { ProjectKey } from '../../values/project-key.ts';
import type { ConversationFeedStore, RemovedMessage } from '../ports/conversation-feed.ts';
import type { MessageRecord } from '../ports/messages.ts';
import type { ThreadPosition } from '../ports/threads.ts';
import { MESSAGE_COLUMNS, toMessage } from './sqlite-messages.ts';
import type { SqliteReader } from './sqlite-reader.ts';
import { readThread, THREAD_BY_ID } from './sqlite-threads.ts';

/** What one reading has at most: messages, and the bytes of their content. */
const MESSAGES_MAX = 200;
const BYTES_MAX = 256 * 1_024;

/** Reads of what streams of messages show, on the main thread. */
export function conversationFeedReads({ prepare }: Pick<SqliteReader, 'prepare'>): ConversationFeedStore {
  const position = prepare<[threadNo: number, string, number, fieldsPosition: number, removedTo: number]>(`
    SELECT t.thread_no, t.epoch, t.position, t.fields_position, t.removed_to ${THREAD_BY_ID}`);
  const messagesAfter = prepare(`
    SELECT ${MESSAGE_COLUMNS} FROM messages m INDEXED BY messages_by_position
    WHERE m.thread_no = ? AND m.position > ? ORDER BY m.position LIMIT ${MESSAGES_MAX + 1}`);
  const removedAfter = prepare<[number, string]>(`
    SELECT position, id FROM removed_messages WHERE thread_no = ? AND position > ? AND position <= ?
    ORDER BY position`);
  const thread = readThread({ prepare });

  return {
    async positions(project: ProjectKey, threadIds: readonly string[]) {
      const found = new Map<string, ThreadPosition>();
      for (const id of threadIds) {
        const row = position.get(project, id);
        if (row !== undefined) found.set(id, { epoch: row[1], position: row[2] });
      }
      return found;
    },
    async changesSince(project: ProjectKey, threadId: string, after: number) {
      const row = position.get(project, threadId);
      const record = thread(project, threadId, null);
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
        const message = toMessage(found);
        messages.push(message);
        bytes += Buffer.byteLength(message.content);
      }
      const removed: RemovedMessage[] = removedAfter
        .all(threadNo, after, to)
        .map(([at, id]) => ({ id, position: at }));
      return { kind: 'changes', epoch, position: to, thread: record, threadPosition, messages, removed };
    },
  };
}
