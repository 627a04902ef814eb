/** The columns of a thread. $1 is the project. */
import { limits } from '@rollcall/protocol';
import { columnsOf } from '../../columns.ts';
import { type ThreadRow, threadColumns } from '../../conversation/conversation-columns.ts';
import { toParticipants } from '../../conversation/shown-participants.ts';
import { PARTICIPANT_BYTES } from '../../conversation/thread-page-bounds.ts';
import type { ThreadRecord } from '../../ports/threads.ts';
import type { Row } from '../connections/postgres-connection.ts';

/** Of the thread `t`: the users who have seen it most recently, as JSON. */
const PARTICIPANTS = `
  SELECT json_agg(json_build_array(p.user_id, p.last_seen_at))::text AS participants, count(*) AS count,
    coalesce(sum(octet_length(p.user_id) + ${PARTICIPANT_BYTES}), 0) AS bytes
  FROM (
    SELECT user_id, last_seen_at FROM participant_times
    WHERE project_id = $1 AND thread_no = t.thread_no
    ORDER BY last_seen_at DESC, user_id DESC LIMIT ${limits.PARTICIPANTS_SHOWN}) AS p`;

/** Of the thread `t`: the messages after what the viewer has seen. Null for a viewer who is no participant. */
const counted = (viewer: string) => `(
  SELECT (
    SELECT count(*) FROM (
      SELECT 1 FROM messages m
      WHERE m.project_id = $1 AND m.thread_no = t.thread_no AND NOT m.deleted AND m.created_at > s.last_seen_at
      LIMIT ${limits.UNREAD_MAX}) AS after_that)
  FROM participants s WHERE s.project_id = $1 AND s.thread_no = t.thread_no AND s.user_id = ${viewer})`;

/**
 * A FROM item: what of the thread `t` is in other tables, its size in bytes, and how many rows were counted. A viewer who is
 * no participant has seen nothing, and the thread has the number of its messages.
 */
export const threadParts = (viewer: string) => `
  CROSS JOIN LATERAL (
    SELECT shown.participants, shown.bytes, shown.count + coalesce(unread.counted, 0) AS work,
      CASE WHEN ${viewer} IS NOT NULL
        THEN coalesce(unread.counted, least(t.user_messages + t.action_messages, ${limits.UNREAD_MAX})) END AS unread
    FROM (${PARTICIPANTS}) AS shown CROSS JOIN (SELECT ${counted(viewer)} AS counted) AS unread OFFSET 0) AS parts`;

/** A row of the thread `t` and its {@link threadParts}. */
interface FoundThread extends ThreadRow {
  readonly participants: string | null;
  readonly unread: number | null;
}
export const THREAD_COLUMNS = columnsOf<FoundThread>({
  ...threadColumns('t.group_id'),
  participants: 'parts.participants',
  unread: 'parts.unread',
});

export function toThread(row: Row): ThreadRecord {
  const found = THREAD_COLUMNS.toRecord(row);
  return { ...found, participants: toParticipants(found.participants ?? '[]') };
}
