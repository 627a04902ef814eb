/** How threads are found and locked. $1 is the project, $2 the ID of the thread. */
import type { Json } from '../../values/json.ts';
import type { ThreadFields } from '../conversation-writes.ts';
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

/**
 * Locks a thread until the commit, so that its writes are applied one after the other; and its conversation, so that the
 * group is not deleted meanwhile. The order of locks is: group, conversation or thread, message.
 */
export const LOCK_THREAD = `
  SELECT t.thread_no, t.conversation_no, t.group_id, t.location, t.resolved_at, t.created_at, t.last_message_at,
    t.user_messages, t.action_messages, t.deleted_messages, t.next_seq, t.revision, t.name, t.url, t.metadata,
    t.position
  FROM (${THREAD_NO} OFFSET 0) AS named
    CROSS JOIN LATERAL (
      SELECT r.* FROM threads AS r WHERE r.project_id = $1 AND r.thread_no = named.thread_no FOR UPDATE) AS t
    CROSS JOIN LATERAL (
      SELECT 1 FROM conversations AS r WHERE r.project_id = $1 AND ${OF_CONVERSATION} FOR KEY SHARE) AS c`;

export interface LockedThread extends ThreadFields {
  readonly threadNo: number;
  readonly conversationNo: number;
  readonly groupId: string;
  readonly createdAt: number;
  readonly lastMessageAt: number | null;
  readonly userMessages: number;
  readonly actionMessages: number;
  readonly deletedMessages: number;
  /** The number of the next message in the order of arrival. */
  readonly nextSeq: number;
  readonly revision: string;
  /** How many writes of the thread and its messages there were. */
  readonly position: number;
}

/** The thread of {@link LOCK_THREAD}; null where there is none. */
export function toLockedThread([row]: readonly Row[]): LockedThread | null {
  if (row === undefined) return null;
  return {
    threadNo: row[0] as number,
    conversationNo: row[1] as number,
    groupId: row[2] as string,
    location: row[3] as Json | null,
    resolvedAt: row[4] as number | null,
    createdAt: row[5] as number,
    lastMessageAt: row[6] as number | null,
    userMessages: row[7] as number,
    actionMessages: row[8] as number,
    deletedMessages: row[9] as number,
    nextSeq: row[10] as number,
    revision: row[11] as string,
    name: row[12] as string,
    url: row[13] as string | null,
    metadata: row[14] as Json,
    position: row[15] as number,
  };
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
