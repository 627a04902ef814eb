/** What is read of a thread. $1 is the project. */
import { limits } from '@rollcall/protocol';
import type { Json } from '../../values/json.ts';
import type { Participant, ThreadRecord } from '../ports/threads.ts';
import type { Row } from './connections/postgres-connection.ts';

/** The users who have seen the thread `t` most recently, as JSON. */
export const PARTICIPANTS = `(
  SELECT json_agg(json_build_array(p.user_id, p.last_seen_at))::text FROM (
    SELECT user_id, last_seen_at FROM participant_times
    WHERE project_id = $1 AND thread_no = t.thread_no
    ORDER BY last_seen_at DESC, user_id DESC LIMIT ${limits.PARTICIPANTS_SHOWN}) AS p)`;

/** The messages of the thread `t` that the viewer has not seen. */
const unread = (viewer: string) => `CASE WHEN ${viewer}::text IS NOT NULL THEN (
  SELECT count(*) FROM (
    SELECT 1 FROM messages m
    WHERE m.project_id = $1 AND m.thread_no = t.thread_no AND NOT m.deleted AND m.created_at > coalesce((
      SELECT last_seen_at FROM participants WHERE project_id = $1 AND thread_no = t.thread_no AND user_id = ${viewer}),
      -9223372036854775808)
    LIMIT ${limits.UNREAD_MAX}) AS unread) END`;

/** What is read of the thread `t`, for {@link toThread}. */
export const threadColumns = (viewer: string, participants = PARTICIPANTS) => `
  t.id, t.group_id, t.name, t.url, t.location, t.metadata, t.resolved_at, t.created_at, t.user_messages,
  t.action_messages, t.deleted_messages, t.last_message_at, t.revision, ${participants}, ${unread(viewer)}`;

export function toThread(row: Row): ThreadRecord {
  return {
    id: row[0] as string,
    groupId: row[1] as string,
    name: row[2] as string,
    url: row[3] as string | null,
    location: row[4] as Json | null,
    metadata: row[5] as Json,
    resolvedAt: row[6] as number | null,
    createdAt: row[7] as number,
    userMessages: row[8] as number,
    actionMessages: row[9] as number,
    deletedMessages: row[10] as number,
    lastMessageAt: row[11] as number | null,
    revision: row[12] as string,
    participants: toParticipants(row[13] as string | null),
    unread: row[14] as number | null,
  };
}

const toParticipants = (text: string | null): Participant[] =>
  (JSON.parse(text ?? '[]') as [string, number][]).map(([userId, lastSeenAt]) => ({ userId, lastSeenAt }));
