import type { MessageType } from '@rollcall/protocol';
import type { Change } from '../../changes/changes.ts';
import { recounted } from '../../conversation/conversation-writes.ts';
import { REMOVED_MAX } from '../../ports/conversation-feed.ts';
import type { MessageStore } from '../../ports/messages.ts';
import { preconditionFailure } from '../../precondition.ts';
import type { Row } from '../connections/postgres-connection.ts';
import type { OnDatabase } from '../connections/postgres-database.ts';
import { recordCalls } from '../postgres-changes.ts';
import { ALIVE, assertAlive, targetOf } from '../postgres-row-writes.ts';
import { listCalls } from './postgres-conversation-lists.ts';
import {
  foundMessage,
  LOCK_THREAD,
  positionOf,
  THREAD_NO,
  toLockedThread,
} from './postgres-conversation-rows.ts';
import { countCall, OF_MESSAGE, REMOVE_PIECES } from './postgres-messages-statements.ts';

/** The message, and the time of the latest of the others. */
const READ_FOR_REMOVAL = `
  SELECT ${ALIVE}, m.created_at, m.seq, m.type, m.deleted_at, m.revision, m.position, (
    SELECT o.created_at FROM messages o WHERE o.project_id = $1 AND o.thread_no = m.thread_no AND o.seq <> m.seq
    ORDER BY o.created_at DESC, o.seq DESC LIMIT 1)
  FROM (SELECT 1) AS one LEFT JOIN LATERAL (
    SELECT m.* ${foundMessage(`(${THREAD_NO})`, '$3', 'FOR UPDATE')}) AS m ON TRUE`;
const REMOVE = `DELETE FROM messages WHERE ${OF_MESSAGE}`;
const REMOVE_ID = 'DELETE FROM message_ids WHERE project_id = $1 AND thread_no = $2 AND id = $3';
const UNPLACE = 'DELETE FROM message_positions WHERE project_id = $1 AND thread_no = $2 AND position = $3';
const NOTE_REMOVED =
  'INSERT INTO removed_messages (project_id, thread_no, position, id) VALUES ($1, $2, $3, $4)';
/** Forgets removed messages of a thread but the last ones. */
const FORGET_REMOVED = `
  WITH old AS MATERIALIZED (
    SELECT position FROM removed_messages WHERE project_id = $1 AND thread_no = $2
    ORDER BY position DESC LIMIT 1 OFFSET ${REMOVED_MAX}),
  forgotten AS (
    DELETE FROM removed_messages x WHERE x.project_id = $1 AND x.thread_no = $2
      AND x.position <= (SELECT position FROM old))
  UPDATE threads SET removed_to = (SELECT position FROM old)
  WHERE project_id = $1 AND thread_no = $2 AND EXISTS (SELECT 1 FROM old)`;

/** Removes a message for good: two round trips. */
export const deleteMessage: OnDatabase<MessageStore['delete']> = (database, project, threadId, id, context) =>
  database.transaction(targetOf('thread', project, threadId), async (transaction) => {
    const [locked, [row]] = await transaction.run(
      [LOCK_THREAD, project, threadId],
      [READ_FOR_REMOVAL, project, threadId, id],
    );
    const [alive, createdAt, seq, type, deletedAt, revision, listedAt, latestOther] = row as Row;
    assertAlive(alive);
    const thread = toLockedThread(locked);
    if (thread === null) return { kind: 'threadAbsent' };
    if (revision === null) return { kind: 'absent' };
    if (preconditionFailure(context, revision as string) !== null) return { kind: 'stale' };
    const message = { type: type as MessageType, deletedAt: deletedAt as number | null };
    const lastMessageAt = latestOther as number | null;
    const position = thread.position + 1;
    const after = { ...thread, ...recounted(thread, message, null), lastMessageAt, position };
    const changes: Change[] = [
      { type: 'message.removed', group: thread.groupId, thread: threadId, message: id },
    ];
    const key = [project, thread.threadNo] as const;
    await transaction.commit([
      [REMOVE, ...key, createdAt, seq],
      [REMOVE_ID, ...key, id],
      [UNPLACE, ...key, listedAt],
      [NOTE_REMOVED, ...key, position, id],
      [FORGET_REMOVED, ...key],
      // After the message: an append that began before has written its piece by then.
      [REMOVE_PIECES, ...key, seq],
      countCall(project, after, context.revision),
      ...listCalls(project, positionOf(thread), positionOf(after)),
      ...recordCalls(project, changes, context),
    ]);
    return { kind: 'deleted', changes };
  });
