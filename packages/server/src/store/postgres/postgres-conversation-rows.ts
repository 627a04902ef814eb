/** How threads are found and locked. $1 is the project, $2 the ID of the thread. */
import { type ThreadRow, toThreadRow } from '../conversation-columns.ts';
import type { Row } from './connections/postgres-connection.ts';
import type { ListPosition } from './postgres-conversation-lists.ts';
import { rowOf } from './postgres-lists.ts';

/** The number of the thread with the ID $2, also where its group was deleted. */
export const THREAD_NO = 'SELECT thread_no FROM thread_ids WHERE project_id = $1 AND id = $2';

const OF_CONVERSATION = 'r.group_id = t.group_id AND r.conversation_no = t.conversation_no';

/** A FROM item without which the thread `t` is not there: its group, unless that was deleted. */
export const GROUP_OF_THREAD = rowOf('conversations', 'c', 'r.conversation_no', OF_CONVERSATION);

/** A FROM clause for the thread `t`. */
export const FOUND_THREAD = `
  FROM (${THREAD_NO} OFFSET 0) AS named ${rowOf('threads', 't', 'r.*', 'r.thread_no = named.thread_no')} ${GROUP_OF_THREAD}`;

/** A FROM clause for the message `m` of a thread. */
export const foundMessage = (threadNo: string, id: string, lock: 'OFFSET 0' | 'FOR UPDATE' = 'OFFSET 0') => `
  FROM (
    SELECT thread_no, created_at, seq FROM message_ids
    WHERE project_id = $1 AND thread_no = ${threadNo} AND id = ${id} OFFSET 0) AS named
  CROSS JOIN LATERAL (
    SELECT r.* FROM messages AS r WHERE r.project_id = $1 AND r.thread_no = named.thread_no
      AND r.created_at = named.created_at AND r.seq = named.seq ${lock}) AS m`;

/** The columns of the row of the thread `t`, for `toThreadRow`. */
export const ROW_COLUMNS = `
  t.id, t.group_id, t.name, t.url, t.location, t.metadata, t.resolved_at, t.created_at, t.user_messages,
  t.action_messages, t.deleted_messages, t.last_message_at, t.revision`;

/**
 * Locks a thread until the commit, so that its writes are applied one after the other; and its conversation, so that the
 * group is not deleted meanwhile. The order of locks is: group, conversation or thread, message.
 */
export const LOCK_THREAD = `
  SELECT ${ROW_COLUMNS}, t.thread_no, t.conversation_no, t.next_seq, t.position
  FROM (${THREAD_NO} OFFSET 0) AS named
    CROSS JOIN LATERAL (
      SELECT r.* FROM threads AS r WHERE r.project_id = $1 AND r.thread_no = named.thread_no FOR UPDATE) AS t
    CROSS JOIN LATERAL (
      SELECT 1 FROM conversations AS r WHERE r.project_id = $1 AND ${OF_CONVERSATION} FOR KEY SHARE) AS c`;

export interface LockedThread extends ThreadRow {
  readonly threadNo: number;
  readonly conversationNo: number;
  /** The number of the next message in the order of arrival. */
  readonly nextSeq: number;
  /** How many writes of the thread and its messages there were. */
  readonly position: number;
}

/** The thread of {@link LOCK_THREAD}; null where there is none. */
export function toLockedThread([row]: readonly Row[]): LockedThread | null {
  if (row === undefined) return null;
  const [threadNo, conversationNo, nextSeq, position] = row.slice(13) as [number, number, number, number];
  return { ...toThreadRow(row), threadNo, conversationNo, nextSeq, position };
}

/** Where a thread stands in its lists. */
export const positionOf = (
  thread: Pick<
    LockedThread,
    'threadNo' | 'conversationNo' | 'location' | 'resolvedAt' | 'createdAt' | 'lastMessageAt'
  >,
): ListPosition => ({
  threadNo: thread.threadNo,
  conversationNo: thread.conversationNo,
  location: thread.location,
  resolved: thread.resolvedAt !== null,
  activity: thread.lastMessageAt ?? thread.createdAt,
});
