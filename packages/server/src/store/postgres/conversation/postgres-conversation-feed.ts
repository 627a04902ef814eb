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
import type { Row } from '../connections/postgres-connection.ts';
import type { PostgresEngine } from '../postgres-engine.ts';
import { rowOf } from '../postgres-lists.ts';
import { textArray } from '../postgres-text.ts';
import { FOUND_THREAD, foundThread } from './postgres-conversation-rows.ts';
import { MESSAGE_COLUMNS } from './postgres-messages-columns.ts';
import { THREAD_COLUMNS, threadParts, toThread } from './postgres-threads-columns.ts';

const BEFORE_ALL = '-9223372036854775808';
const AFTER_ALL = ['true', '9223372036854775807', '9223372036854775807'] as const;

const POSITIONS = `
  SELECT w.id, thread.epoch, thread.position FROM unnest($2::text[]) AS w(id)
    CROSS JOIN LATERAL (SELECT t.epoch, t.position ${foundThread('w.id')}) AS thread`;

/**
 * The thread $2 and the messages that changed after the position $3, of one state: the epoch, the position, that of the
 * thread's own fields, up to which removed messages are forgotten, the removed ones, the thread; then each message.
 */
const CHANGES = `
  WITH thread AS MATERIALIZED (SELECT t.* ${FOUND_THREAD}),
  later AS MATERIALIZED (
    SELECT p.position, p.created_at, p.seq FROM message_positions p
    WHERE p.project_id = $1 AND p.thread_no = (SELECT thread_no FROM thread) AND p.position > $3::bigint
    ORDER BY p.position LIMIT ${MESSAGES_MAX + 1}),
  changed AS MATERIALIZED (
    SELECT m.*, coalesce(sum(m.content_bytes) OVER (
      ORDER BY m.position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS bytes_before
    FROM later ${rowOf('messages', 'm', 'r.*', 'r.thread_no = (SELECT thread_no FROM thread) AND r.created_at = later.created_at AND r.seq = later.seq')})
  SELECT state.*, ${MESSAGE_COLUMNS.sql}
  FROM (SELECT t.epoch, t.position, t.fields_position, t.removed_to, (
      SELECT json_agg(json_build_array(x.position, x.id) ORDER BY x.position)::text FROM removed_messages x
      WHERE x.project_id = $1 AND x.thread_no = t.thread_no AND x.position > $3::bigint),
    (SELECT count(*) FROM changed), ${THREAD_COLUMNS.sql}
    FROM thread AS t ${threadParts('NULL::text')} OFFSET 0) AS state LEFT JOIN changed AS m ON m.bytes_before <= ${BYTES_MAX} ORDER BY m.position`;

/**
 * Of the users $3, how many messages of the thread $2 are newer than what each has seen. Messages and users are put into one
 * order of time, so that one pass over the newest messages counts for all users.
 */
const UNREAD = `
  WITH thread AS MATERIALIZED (SELECT t.thread_no ${FOUND_THREAD}),
  viewers AS MATERIALIZED (
    SELECT wanted.id, coalesce((
      SELECT p.last_seen_at FROM participants p
      WHERE p.project_id = $1 AND p.thread_no = thread.thread_no AND p.user_id = wanted.id), ${BEFORE_ALL}) AS at
    FROM thread CROSS JOIN unnest($3::text[]) AS wanted(id)),
  newest AS MATERIALIZED (
    SELECT m.created_at AS at FROM messages m
    WHERE m.project_id = $1 AND m.thread_no = (SELECT thread_no FROM thread) AND NOT m.deleted
      AND m.created_at > (SELECT min(at) FROM viewers)
    ORDER BY m.created_at DESC LIMIT ${limits.UNREAD_MAX})
  SELECT id, unread FROM (
    SELECT id, sum(is_message) OVER (ORDER BY at DESC, is_message ROWS UNBOUNDED PRECEDING) AS unread FROM (
      SELECT id, at, 0 AS is_message FROM viewers UNION ALL SELECT NULL, at, 1 FROM newest) AS both_kinds) AS counted
  WHERE id IS NOT NULL`;

/** The threads of the group $2 after the position ($3, $4, $5) in the list of all of them, backwards. */
const REVISIONS = `
  SELECT t.id, t.revision, entry.resolved, entry.activity, entry.thread_no FROM (
    SELECT l.resolved, l.activity, l.thread_no FROM thread_lists l
    WHERE l.project_id = $1 AND l.location_key = 0 AND l.conversation_no = (
        SELECT conversation_no FROM conversations WHERE project_id = $1 AND group_id = $2)
      AND (l.resolved, l.activity, l.thread_no) < ($3::boolean, $4::bigint, $5::bigint)
    ORDER BY l.resolved DESC, l.activity DESC, l.thread_no DESC LIMIT ${REVISIONS_MAX}) AS entry
    ${rowOf('threads', 't', 'r.id, r.revision', 'r.thread_no = entry.thread_no')}
  ORDER BY entry.resolved DESC, entry.activity DESC, entry.thread_no DESC`;

/** Columns before those of the thread, and those of the thread. */
const HEAD = 6;
const THREAD = 15;

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
      const messages: MessageRecord[] = found.slice(0, MESSAGES_MAX).map(MESSAGE_COLUMNS.toRecord);
      const position = messages.length < count ? (messages.at(-1)?.position as number) : current;
      const removed: RemovedMessage[] = (JSON.parse(removedText ?? '[]') as [number, string][])
        .filter(([at]) => at <= position)
        .map(([at, id]) => ({ id, position: at }));
      const thread = toThread(first.slice(HEAD, HEAD + THREAD));
      return { kind: 'changes', epoch, position, thread, threadPosition, messages, removed };
    },
    async unread(project, threadId, userIds) {
      const rows = await database.read(UNREAD, project, threadId, textArray(userIds));
      return new Map(rows.map(([id, count]) => [id as string, count as number]));
    },
    async revisions(project, groupId, after) {
      const [resolved, activity, threadNo] = after?.split(' ') ?? AFTER_ALL;
      const rows = await database.read(REVISIONS, project, groupId, resolved, activity, threadNo);
      const last = rows.length < REVISIONS_MAX ? null : (rows.at(-1) as Row).slice(2).join(' ');
      return { threads: rows.map(([id, revision]) => ({ id, revision }) as ThreadRevision), last };
    },
  };
}
