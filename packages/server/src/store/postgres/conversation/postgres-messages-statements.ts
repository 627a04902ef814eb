/** The statements that writes and removals of messages share: of a message's row, and of the counts of its thread. */
import type { ProjectKey } from '../../../values/project-key.ts';
import type { Call } from '../connections/postgres-connection.ts';
import type { LockedThread } from './postgres-conversation-rows.ts';

export const OF_MESSAGE = 'project_id = $1 AND thread_no = $2 AND created_at = $3 AND seq = $4';
export const REMOVE_PIECES =
  'DELETE FROM message_pieces WHERE project_id = $1 AND thread_no = $2 AND seq = $3';
/** Stores the position alone. */
export const ADVANCE = 'UPDATE threads SET position = $3 WHERE project_id = $1 AND thread_no = $2';
const COUNT = `
  UPDATE threads SET position = $3, user_messages = $4, action_messages = $5, deleted_messages = $6, last_message_at = $7,
    revision = $8
  WHERE project_id = $1 AND thread_no = $2`;

/** Stores the position of the thread, its counts, the time of its latest message, and its revision. */
export function countCall(project: ProjectKey, thread: LockedThread, revision: string): Call {
  const { threadNo, position, userMessages, actionMessages, deletedMessages, lastMessageAt } = thread;
  const counts = [userMessages, actionMessages, deletedMessages];
  return [COUNT, project, threadNo, position, ...counts, lastMessageAt, revision];
}
