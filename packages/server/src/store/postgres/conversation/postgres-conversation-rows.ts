/** How threads are found and locked. $1 is the project, $2 the ID of the thread. */
import { columnsOf } from '../../columns.ts';
import { type ThreadRow, threadColumns } from '../../conversation/conversation-columns.ts';
import type { Row } from '../connections/postgres-connection.ts';
import { rowOf } from '../postgres-lists.ts';
import type { ListPosition } from './postgres-conversation-lists.ts';

const threadNo = (id: string) => `SELECT thread_no FROM thread_ids WHERE project_id = $1 AND id = ${id}`;

/** The number of the thread with the ID $2, also where its group was deleted. */
export const THREAD_NO = threadNo('$2');

const OF_CONVERSATION = 'r.group_id = t.group_id AND r.conversation_no = t.conversation_no';

/** A FROM item without which the thread `t` is not there: its group, unless that was deleted. */
export const GROUP_OF_THREAD = rowOf('conversations', 'c', 'r.conversation_no', OF_CONVERSATION);

/** A FROM clause for the thread `t` with the ID. */
export const foundThread = (id: string) => `
  FROM (${threadNo(id)} OFFSET 0) AS named ${rowOf('threads', 't', 'r.*', 'r.thread_no = named.thread_no')} ${GROUP_OF_THREAD}`;
export const FOUND_THREAD = foundThread('$2');

/** A FROM clause for the message `m` of a thread. */
export const foundMessage = (threadNo: string, id: string, lock: 'OFFSET 0' | 'FOR UPDATE' = 'OFFSET 0') => `
  FROM (
    SELECT thread_no, created_at, seq FROM message_ids
    WHERE project_id = $1 AND thread_no = ${threadNo} AND id = ${id} OFFSET 0) AS named
  CROSS JOIN LATERAL (
    SELECT r.* FROM messages AS r WHERE r.project_id = $1 AND r.thread_no = named.thread_no
      AND r.created_at = named.created_at AND r.seq = named.seq ${lock}) AS m`;

export interface LockedThread extends ThreadRow {
  readonly threadNo: number;
  readonly conversationNo: number;
  /** The number of the next message in the order of arrival. */
  readonly nextSeq: number;
  /** How many writes of the thread and its messages there were. */
  readonly position: number;
}

const LOCKED = columnsOf<LockedThread>({
  ...threadColumns('t.group_id'),
  threadNo: 't.thread_no',
  conversationNo: 't.conversation_no',
  nextSeq: 't.next_seq',
  position: 't.position',
});

/**
 * Locks a thread until the commit, so that its writes are applied one after the other; and its conversation, so that the
 * group is not deleted meanwhile. The order of locks is: group, conversation or thread, message.
 */
export const LOCK_THREAD = `
  SELECT ${LOCKED.sql}
  FROM (${THREAD_NO} OFFSET 0) AS named
    CROSS JOIN LATERAL (
      SELECT r.* FROM threads AS r WHERE r.project_id = $1 AND r.thread_no = named.thread_no FOR UPDATE) AS t
    CROSS JOIN LATERAL (
      SELECT 1 FROM conversations AS r WHERE r.project_id = $1 AND ${OF_CONVERSATION} FOR KEY SHARE) AS c`;

/** The thread of {@link LOCK_THREAD}; null where there is none. */
export const toLockedThread = ([row]: readonly Row[]): LockedThread | null => LOCKED.toFound(row);

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
