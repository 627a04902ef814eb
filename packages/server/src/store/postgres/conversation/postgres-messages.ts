import type { MessageStore } from '../../ports/messages.ts';
import type { OnDatabase } from '../connections/postgres-database.ts';
import type { PostgresEngine } from '../postgres-engine.ts';
import { FOUND_THREAD, foundMessage } from './postgres-conversation-rows.ts';
import { appendToMessage } from './postgres-messages-append.ts';
import { MESSAGE_COLUMNS } from './postgres-messages-columns.ts';
import { deleteMessage } from './postgres-messages-removal.ts';
import { putMessage } from './postgres-messages-writes.ts';

const FIND = `
  SELECT t.group_id, ${MESSAGE_COLUMNS.sql} ${FOUND_THREAD}
    LEFT JOIN LATERAL (SELECT m.* ${foundMessage('t.thread_no', '$3')}) AS m ON TRUE`;

/**
 * A page from the position ($4, $5) on: $3 messages at most, and the one with which content and metadata exceed $6 bytes is
 * the last. (The group, how many messages the thread has, how many were found and one more, the position, the message.)
 */
const listSql = (after: '<' | '>', direction: 'ASC' | 'DESC') => `
  WITH thread AS MATERIALIZED (
    SELECT t.thread_no, t.group_id, t.user_messages + t.action_messages + t.deleted_messages AS total,
      t.epoch, t.position ${FOUND_THREAD}),
  found AS MATERIALIZED (
    SELECT m.* FROM messages m
    WHERE m.project_id = $1 AND m.thread_no = (SELECT thread_no FROM thread)
      AND (m.created_at, m.seq) ${after} ($4::bigint, $5::bigint)
    ORDER BY m.created_at ${direction}, m.seq ${direction} LIMIT $3::bigint + 1),
  page AS (
    SELECT * FROM (
      SELECT found.*, row_number() OVER earlier AS ordinal,
        coalesce(sum(content_bytes + octet_length(metadata)) OVER before, 0) AS bytes_before
      FROM found
      WINDOW earlier AS (ORDER BY created_at ${direction}, seq ${direction}),
        before AS (
          ORDER BY created_at ${direction}, seq ${direction} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS summed
    WHERE ordinal <= $3::bigint AND bytes_before <= $6::bigint)
  SELECT thread.group_id, thread.total, (SELECT count(*) FROM found), thread.epoch, thread.position,
    m.created_at || '.' || m.seq, ${MESSAGE_COLUMNS.sql}
  FROM thread LEFT JOIN page AS m ON TRUE ORDER BY m.ordinal`;

const LISTS = { ascending: listSql('>', 'ASC'), descending: listSql('<', 'DESC') };
const STARTS = {
  ascending: ['-9223372036854775808', '0'],
  descending: ['9223372036854775807', '0'],
} as const;

const listMessages: OnDatabase<MessageStore['list']> = async (database, project, threadId, request) => {
  const { order, after, limit, maxBytes } = request;
  const start = after === null ? STARTS[order] : after.split('.');
  const rows = await database.read(LISTS[order], project, threadId, limit, ...start, maxBytes);
  const [first] = rows;
  if (first === undefined) return null;
  const [groupId, total, count, epoch, position] = first as readonly [string, number, number, string, number];
  const found = rows.filter(([, , , , , at]) => at !== null);
  return {
    groupId,
    messages: found.map((row) => MESSAGE_COLUMNS.toRecord(row.slice(6))),
    last: count > found.length ? (found.at(-1)?.[5] as string) : null,
    total,
    at: { epoch, position },
  };
};

export function messageStore({ database }: PostgresEngine): MessageStore {
  return {
    async find(project, threadId, id) {
      const [row] = await database.read(FIND, project, threadId, id);
      if (row === undefined) return { kind: 'threadAbsent' };
      const [groupId, ...message] = row;
      if (message[0] === null) return { kind: 'absent' };
      return { kind: 'found', groupId: groupId as string, message: MESSAGE_COLUMNS.toRecord(message) };
    },
    list: (...parameters) => listMessages(database, ...parameters),
    put: (...parameters) => putMessage(database, ...parameters),
    append: (...parameters) => appendToMessage(database, ...parameters),
    delete: (...parameters) => deleteMessage(database, ...parameters),
  };
}
