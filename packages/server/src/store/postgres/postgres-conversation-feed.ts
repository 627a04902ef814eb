import type { ConversationFeedStore, RemovedMessage } from '../ports/conversation-feed.ts';
import type { MessageRecord } from '../ports/messages.ts';
import type { ThreadPosition } from '../ports/threads.ts';
import { FOUND_THREAD } from './postgres-conversation-rows.ts';
import type { PostgresEngine } from './postgres-engine.ts';
import { rowOf } from './postgres-lists.ts';
import { MESSAGE_COLUMNS, toMessage } from './postgres-messages-columns.ts';
import { textArray } from './postgres-text.ts';
import { threadColumns, toThread } from './postgres-threads-columns.ts';

/** What one reading has at most: messages, and the bytes of their content. */
const MESSAGES_MAX = 200;
const BYTES_MAX = 256 * 1_024;
/** Removed messages of a thread that are stored. */
export const REMOVED_MAX = 1_000;

const POSITIONS = `
  SELECT w.id, t.epoch, t.position FROM unnest($2::text[]) AS w(id)
    CROSS JOIN LATERAL (SELECT thread_no FROM thread_ids WHERE project_id = $1 AND id = w.id OFFSET 0) AS named
    ${rowOf('threads', 't', 'r.*', 'r.thread_no = named.thread_no')}
    ${rowOf('conversations', 'c', '1', 'r.group_id = t.group_id AND r.conversation_no = t.conversation_no')}`;

/**
 * The thread $2 and the messages that changed after the position $3, of one state: the epoch, the position, that of the
 * thread's own fields, up to which removed messages are forgotten, the removed ones, the thread; then each message.
 */
const CHANGES = `
  WITH thread AS MATERIALIZED (SELECT t.* ${FOUND_THREAD}),
  placed AS MATERIALIZED (
    SELECT p.position, p.created_at, p.seq FROM message_positions p
    WHERE p.project_id = $1 AND p.thread_no = (SELECT thread_no FROM thread) AND p.position > $3::bigint
    ORDER BY p.position LIMIT ${MESSAGES_MAX + 1}),
  changed AS MATERIALIZED (
    SELECT m.*, coalesce(sum(m.content_bytes) OVER (
      ORDER BY m.position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS bytes_before
    FROM placed ${rowOf('messages', 'm', 'r.*', 'r.thread_no = (SELECT thread_no FROM thread) AND r.created_at = placed.created_at AND r.seq = placed.seq')})
  SELECT state.*, ${MESSAGE_COLUMNS}
  FROM (SELECT t.epoch, t.position, t.fields_position, t.removed_to, (
      SELECT json_agg(json_build_array(x.position, x.id) ORDER BY x.position)::text FROM removed_messages x
      WHERE x.project_id = $1 AND x.thread_no = t.thread_no AND x.position > $3::bigint),
    (SELECT count(*) FROM changed), ${threadColumns('NULL')}
    FROM thread AS t OFFSET 0) AS state LEFT JOIN changed AS m ON m.bytes_before <= ${BYTES_MAX} ORDER BY m.position`;

/** Columns before those of the thread, and those of the thread. */
const HEAD = 6;
const THREAD = 15;

/** What streams of messages are made from (see the port). */
export function conversationFeedStore({ database }: PostgresEngine): ConversationFeedStore {
  return {
    async positions(project, threadIds) {
      const rows = await database.read(POSITIONS, project, textArray(threadIds));
      return new Map(
        rows.map(([id, epoch, position]) => [id as string, { epoch, position } as ThreadPosition]),
      );
    },
    async changesSince(project, threadId, after) {
      const rows = await database.read(CHANGES, project, threadId, after);
      const [first] = rows;
      if (first === undefined) return { kind: 'threadAbsent' };
      const [epoch, current, threadPosition, removedTo, removedText, count] = first as [
        string,
        number,
        number,
        number,
        string | null,
        number,
      ];
      if (after > current || after < removedTo) return { kind: 'gone', epoch };
      const found = rows.map((row) => row.slice(HEAD + THREAD)).filter(([id]) => id !== null);
      const messages: MessageRecord[] = found.slice(0, MESSAGES_MAX).map(toMessage);
      const position = messages.length < count ? (messages.at(-1)?.position as number) : current;
      const removed: RemovedMessage[] = (JSON.parse(removedText ?? '[]') as [number, string][])
        .filter(([at]) => at <= position)
        .map(([at, id]) => ({ id, position: at }));
      const thread = toThread(first.slice(HEAD, HEAD + THREAD));
      return { kind: 'changes', epoch, position, thread, threadPosition, messages, removed };
    },
  };
}
