import type { Status } from '@rollcall/protocol';
import type { ProjectKey } from '../../../values/project-key.ts';
import type { Change } from '../../changes/changes.ts';
import {
  changedThread,
  changeTime,
  isThreadAbsent,
  newThread,
  type ThreadFields,
  threadChanges,
  threadError,
} from '../../conversation/conversation-writes.ts';
import { UNCHANGED } from '../../outcomes.ts';
import type { PutThreadOutcome, StoredThreadWrite, ThreadStore } from '../../ports/threads.ts';
import { preconditionFailure } from '../../precondition.ts';
import type { WriteContext } from '../../write-context.ts';
import type { Row } from '../connections/postgres-connection.ts';
import type { OnDatabase, Transaction } from '../connections/postgres-database.ts';
import { LostRaceError } from '../connections/postgres-errors.ts';
import { recordCalls } from '../postgres-changes.ts';
import { ALIVE, assertAlive, IS_ALIVE, targetOf } from '../postgres-row-writes.ts';
import { plainArray } from '../postgres-text.ts';
import { listCalls, listKeys, unlistCall } from './postgres-conversation-lists.ts';
import { LIST_PARTICIPANT, seen } from './postgres-conversation-participants.ts';
import {
  FOUND_THREAD,
  LOCK_THREAD,
  type LockedThread,
  positionOf,
  toLockedThread,
} from './postgres-conversation-rows.ts';

/** The thread with the ID $2, and the status of the group $3, or of the thread's group where $3 is null. */
const READ_GROUP = `
  WITH thread AS MATERIALIZED (SELECT t.thread_no, t.group_id ${FOUND_THREAD})
  SELECT ${ALIVE}, (SELECT thread_no FROM thread), (
    SELECT status FROM groups WHERE project_id = $1 AND id = coalesce($3, (SELECT group_id FROM thread)))`;

const UPDATE = `
  UPDATE threads SET name = $3, url = $4, location = $5, list_keys = $6::bigint[], metadata = $7, resolved_at = $8,
    revision = $9, position = position + 1, fields_position = position + 1
  WHERE project_id = $1 AND thread_no = $2`;

/** Creates or updates (see the port): two round trips, and a third where the thread is created. */
export const putThread: OnDatabase<ThreadStore['put']> = (database, project, id, write, context) =>
  database.transaction(targetOf('thread', project, id), async (transaction) => {
    const [locked, [group]] = await transaction.run(
      [LOCK_THREAD, project, id],
      [READ_GROUP, project, id, write.groupId ?? null],
    );
    const [alive, threadNo, status] = group as Row;
    assertAlive(alive);
    const stored = toLockedThread(locked);
    assertLocked(stored, threadNo as number | null);
    const error = threadError(stored, () => status as Status | null, write, context);
    if (error !== null) return error;
    if (stored === null) {
      const { thread, change } = await createThread(transaction, project, id, write, context);
      const record = recordCalls(project, [change], context);
      await transaction.commit([...listCalls(project, null, positionOf(thread)), ...record]);
      return { kind: 'created', changes: [change] };
    }
    return updateThread(
      transaction,
      project,
      { id, stored },
      changedThread(stored, write, changeTime(stored, context.now)),
      context,
    );
  });

/** @throws LostRaceError where a thread is found that was not there when it was to be locked */
export function assertLocked(locked: LockedThread | null, found: number | null): void {
  if (found !== (locked?.threadNo ?? null)) throw new LostRaceError('the thread was created meanwhile');
}

const fieldColumns = ({ name, url, location, metadata, resolvedAt }: ThreadFields) =>
  [name, url, location, plainArray(listKeys(location)), metadata, resolvedAt] as const;

async function updateThread(
  transaction: Transaction,
  project: ProjectKey,
  { id, stored }: { readonly id: string; readonly stored: LockedThread },
  fields: ThreadFields,
  context: WriteContext,
): Promise<PutThreadOutcome> {
  const changes = threadChanges({ group: stored.groupId, thread: id }, stored, fields);
  if (changes.length === 0) return UNCHANGED;
  await transaction.commit([
    [UPDATE, project, stored.threadNo, ...fieldColumns(fields), context.revision],
    ...listCalls(project, positionOf(stored), positionOf({ ...stored, ...fields })),
    ...recordCalls(project, changes, context),
  ]);
  return { kind: 'updated', changes };
}

/** Makes the conversation of a group whose first thread this is. Its group is locked: it cannot be deleted meanwhile. */
const MAKE_CONVERSATION = `
  INSERT INTO conversations (project_id, group_id)
  SELECT $1, id FROM (
    SELECT id FROM groups WHERE project_id = $1 AND id = $2
      AND (SELECT 1 FROM conversations WHERE project_id = $1 AND group_id = $2) IS NULL FOR KEY SHARE) AS locked
  ON CONFLICT (project_id, group_id) DO NOTHING`;
const LOCK_CONVERSATION = `
  SELECT conversation_no FROM conversations WHERE project_id = $1 AND group_id = $2 FOR KEY SHARE`;
/** A thread of a deleted group has its ID until it is removed, unless another thread takes the ID. */
const INSERT = `
  WITH made AS (
    INSERT INTO threads (project_id, conversation_no, id, group_id, name, url, location, list_keys, metadata, resolved_at,
      created_at, revision)
    SELECT $1, conversation_no, $2, $3, $4, $5, $6, $7::bigint[], $8, $9, $10, $11
    FROM conversations WHERE project_id = $1 AND group_id = $3
    RETURNING thread_no, conversation_no),
  named AS (
    INSERT INTO thread_ids (project_id, id, thread_no) SELECT $1, $2, thread_no FROM made
    ON CONFLICT (project_id, id) DO UPDATE SET thread_no = excluded.thread_no
    WHERE (
      SELECT t.conversation_no IS DISTINCT FROM (
        SELECT c.conversation_no FROM conversations c WHERE c.project_id = $1 AND c.group_id = t.group_id)
      FROM threads t WHERE t.project_id = $1 AND t.thread_no = thread_ids.thread_no)
    RETURNING thread_no)
  SELECT made.thread_no, made.conversation_no FROM made JOIN named USING (thread_no)`;

/** Inserts a thread that is not there, without its lists: one round trip. The write has a group and a name. */
export async function createThread(
  transaction: Transaction,
  project: ProjectKey,
  id: string,
  write: StoredThreadWrite,
  { now, revision }: WriteContext,
): Promise<{ readonly thread: LockedThread; readonly change: Change }> {
  const groupId = write.groupId as string;
  const fields = newThread(write, now);
  const createdAt = write.createdAt ?? now;
  const [, , [inserted]] = await transaction.run(
    [MAKE_CONVERSATION, project, groupId],
    [LOCK_CONVERSATION, project, groupId],
    [INSERT, project, id, groupId, ...fieldColumns(fields), createdAt, revision],
  );
  if (inserted === undefined)
    throw new LostRaceError('the group was deleted, or the thread created, meanwhile');
  const [threadNo, conversationNo] = inserted as readonly [number, number];
  const thread = {
    ...{ id, threadNo, conversationNo, groupId, ...fields, createdAt, lastMessageAt: null },
    ...{ userMessages: 0, actionMessages: 0, deletedMessages: 0, nextSeq: 1, revision, position: 0 },
  };
  return { thread, change: { type: 'thread.created', group: groupId, thread: id } };
}

/** Ends a thread: nothing of it is found. Its rows are removed in slices. */
const END = `
  WITH ended AS (UPDATE threads SET conversation_no = 0 WHERE project_id = $1 AND thread_no = $2)
  INSERT INTO deleted_threads (project_id, thread_no) VALUES ($1, $2)`;
const REMOVE_ID = 'DELETE FROM thread_ids WHERE project_id = $1 AND id = $2';

/** Two round trips, however many messages the thread has. */
export const deleteThread: OnDatabase<ThreadStore['delete']> = (database, project, id, context) =>
  database.transaction(targetOf('thread', project, id), async (transaction) => {
    const [locked, [alive]] = await transaction.run([LOCK_THREAD, project, id], [IS_ALIVE, project]);
    assertAlive(alive?.[0]);
    const stored = toLockedThread(locked);
    if (stored === null) return { kind: 'absent' };
    if (preconditionFailure(context, stored.revision) !== null) return { kind: 'stale' };
    const changes: Change[] = [{ type: 'thread.removed', group: stored.groupId, thread: id }];
    await transaction.commit([
      [END, project, stored.threadNo],
      [REMOVE_ID, project, id],
      unlistCall(project, positionOf(stored)),
      ...recordCalls(project, changes, context),
    ]);
    return { kind: 'deleted', changes };
  });

/**
 * Sets until when the user $3 has seen the thread $2, which is locked and meets the precondition if $7: the time of the message
 * $4, or $5 where that is null.
 * (Whether the message is there, and whether the time changed.)
 */
const SEE = `
  WITH target AS MATERIALIZED (
    SELECT CASE WHEN $4::text IS NULL THEN $5::bigint ELSE (
      SELECT created_at FROM message_ids WHERE project_id = $1 AND thread_no = $2 AND id = $4) END AS at),
  ${seen('SELECT $1::uuid, $2::bigint, $3, at FROM target WHERE at IS NOT NULL AND $7::boolean', '$3')},
  revised AS (
    UPDATE threads SET revision = $6 WHERE project_id = $1 AND thread_no = (SELECT thread_no FROM seen))
  SELECT target.at IS NOT NULL, EXISTS (SELECT 1 FROM seen) FROM target`;

/** Two round trips. */
export const markThreadSeen: OnDatabase<ThreadStore['markSeen']> = (database, project, id, mark, context) =>
  database.transaction(targetOf('thread', project, id), async (transaction) => {
    const [locked, [alive]] = await transaction.run([LOCK_THREAD, project, id], [IS_ALIVE, project]);
    assertAlive(alive?.[0]);
    const stored = toLockedThread(locked);
    if (stored === null || isThreadAbsent(stored, mark)) return { kind: 'absent' };
    const { userId, messageId } = mark;
    const { threadNo, lastMessageAt } = stored;
    const { now, revision } = context;
    const time = Math.max(now, lastMessageAt ?? now);
    const isMet = preconditionFailure(context, stored.revision) === null;
    const [answer] = await transaction.commit([
      [SEE, project, threadNo, userId, messageId, time, revision, isMet],
      [LIST_PARTICIPANT, project, threadNo, userId],
    ]);
    const [isThere, isChange] = (answer as [Row])[0];
    if (isThere !== true) return { kind: 'messageAbsent' };
    if (!isMet) return { kind: 'stale' };
    return isChange === true ? { kind: 'updated', changes: [] } : UNCHANGED;
  });
