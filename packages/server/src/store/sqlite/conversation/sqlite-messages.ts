import { columnsOf } from '../../columns.ts';
import { messageColumns } from '../../conversation/conversation-columns.ts';
import { MARKDOWN_END, type MessageListRequest, type MessageRecord } from '../../ports/messages.ts';
import type { Reads } from '../sqlite-methods.ts';
import type { SqliteReader } from '../sqlite-reader.ts';
import { THREAD_BY_ID, THREAD_NUMBER_BY_ID } from './sqlite-threads.ts';

/** The whole content of a message `m`, with what was appended to it. */
export const CONTENT = `CASE WHEN m.markdown_length IS NULL THEN m.content
  ELSE m.content || coalesce((SELECT group_concat(text, '') FROM (
    SELECT text FROM message_pieces p WHERE p.message_no = m.message_no ORDER BY p.piece_no)), '')
  || '${MARKDOWN_END}' END`;

/** The type of a message `m`. */
export const MESSAGE_TYPE = `CASE m.is_action WHEN 1 THEN 'action_message' ELSE 'user_message' END`;

export const MESSAGE_COLUMNS = columnsOf<MessageRecord>({
  ...messageColumns(MESSAGE_TYPE),
  content: CONTENT,
});

export function messageReads(reader: Pick<SqliteReader, 'prepare'>): Reads<'messages'> {
  const thread = reader.prepare(`
    SELECT t.thread_no, g.id, t.user_messages + t.action_messages + t.deleted_messages, t.epoch, t.position
    ${THREAD_BY_ID}`);
  const threadNumber = reader.prepare<[threadNo: number, groupId: string]>(
    `SELECT t.thread_no, g.id ${THREAD_NUMBER_BY_ID}`,
  );
  const byId = reader.prepare(
    `SELECT ${MESSAGE_COLUMNS.sql} FROM messages m WHERE m.thread_no = ? AND m.id = ?`,
  );
  const inOrder = (comparison: string, order: string) =>
    reader.prepare(`
      SELECT ${MESSAGE_COLUMNS.sql}, m.seq FROM messages m INDEXED BY messages_by_time
      WHERE m.thread_no = ? AND (m.created_at, m.seq) ${comparison} (?, ?)
      ORDER BY m.created_at ${order}, m.seq ${order}`);
  const lists = { ascending: inOrder('>', 'ASC'), descending: inOrder('<', 'DESC') };

  return {
    async find(project, threadId, id) {
      const found = threadNumber.get(project, threadId);
      if (found === undefined) return { kind: 'threadAbsent' };
      const [threadNo, groupId] = found;
      const row = byId.get(threadNo, id);
      if (row === undefined) return { kind: 'absent' };
      return { kind: 'found', groupId, message: MESSAGE_COLUMNS.toRecord(row) };
    },
    async list(project, threadId, { order, after, limit, maxBytes }) {
      const found = thread.get(project, threadId);
      if (found === undefined) return null;
      const [threadNo, groupId, total, epoch, position] = found as [number, string, number, string, number];
      const at = { epoch, position };
      const messages: MessageRecord[] = [];
      let [last, bytes]: [string | null, number] = [null, 0];
      for (const row of lists[order].iterate(threadNo, ...startOf(order, after))) {
        if (messages.length === limit || bytes > maxBytes) return { groupId, messages, last, total, at };
        const message = MESSAGE_COLUMNS.toRecord(row);
        messages.push(message);
        bytes += Buffer.byteLength(message.content) + Buffer.byteLength(message.metadata);
        last = `${message.createdAt} ${row.at(-1)}`;
      }
      return { groupId, messages, last: null, total, at };
    },
  };
}

function startOf(order: MessageListRequest['order'], after: string | null): readonly [number, number] {
  const start = order === 'ascending' ? Number.MIN_SAFE_INTEGER : Number.MAX_SAFE_INTEGER;
  const [createdAt = start, seq = start] = after?.split(' ').map(Number) ?? [];
  return [createdAt, seq];
}
