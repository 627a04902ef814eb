import type { ProjectKey } from '../../../values/project-key.ts';
import type { Change } from '../../changes/changes.ts';
import {
  changedMessage,
  changedMessageFields,
  changeTime,
  contentColumns,
  countOf,
  messageError,
  messageTime,
  newMessage,
  recounted,
  updateTime,
} from '../../conversation/conversation-writes.ts';
import { UNCHANGED } from '../../outcomes.ts';
import type {
  MessageStore,
  PutMessageOutcome,
  StoredContent,
  StoredMessageWrite,
} from '../../ports/messages.ts';
import type { ConditionalContext } from '../../write-context.ts';
import type { Call, Row } from '../connections/postgres-connection.ts';
import type { OnDatabase, Transaction } from '../connections/postgres-database.ts';
import { originOf, recordCalls, recorded, textOfChanges } from '../postgres-changes.ts';
import { targetOf } from '../postgres-row-writes.ts';
import { textArray } from '../postgres-text.ts';
import { listCalls } from './postgres-conversation-lists.ts';
import { LIST_PARTICIPANT, seen } from './postgres-conversation-participants.ts';
import { LOCK_THREAD, type LockedThread, positionOf, toLockedThread } from './postgres-conversation-rows.ts';
import {
  READ_FOR_WRITE,
  READ_UNKNOWN_USERS,
  type StoredMessage,
  toFound,
} from './postgres-messages-found.ts';
import { ADVANCE, countCall, OF_MESSAGE, REMOVE_PIECES } from './postgres-messages-statements.ts';
import { assertLocked, createThread } from './postgres-threads-writes.ts';

/** Which message: the thread's ID, and its own. */
interface MessageKey {
  readonly threadId: string;
  readonly id: string;
}

/** Creates or updates (see the port): two round trips, and a third where the thread is created too. */
export const putMessage: OnDatabase<MessageStore['put']> = (
  database,
  project,
  threadId,
  id,
  write,
  context,
) => {
  const key = { threadId, id };
  const { authorId = null, content, createThread: thread } = write;
  const wanted = [authorId, thread?.groupId ?? null, content?.json ?? null];
  const userIds = content?.userIds ?? [];
  const unknown: Call[] = userIds.length === 0 ? [] : [[READ_UNKNOWN_USERS, project, textArray(userIds)]];
  return database.transaction(targetOf('thread', project, threadId), async (transaction) => {
    const [locked, [row], ...more] = await transaction.run(
      [LOCK_THREAD, project, threadId],
      [READ_FOR_WRITE, project, threadId, id, ...wanted],
      ...unknown,
    );
    const stored = toLockedThread(locked);
    const found = toFound(row as Row, more[0] ?? []);
    assertLocked(stored, found.threadNo);
    const { message, groupStatus, authorStatus, isMember } = found;
    const read = {
      ...{ thread: stored, message, groupStatus: () => groupStatus },
      ...{ author: () => ({ status: authorStatus, isMember }), unknownUsers: () => found.unknown },
    };
    const error = messageError(read, write, context);
    if (error !== null) return error;
    if (message !== null) {
      const target = { key, thread: stored as LockedThread, message };
      return updateMessage(transaction, project, target, write, context);
    }
    const made =
      stored === null
        ? await createThread(transaction, project, threadId, thread ?? {}, context)
        : { thread: stored };
    const target = { ...made, isListed: found.isParticipant, lastSeenAt: found.lastSeenAt };
    return createMessage(transaction, project, key, target, write, context);
  });
};

/** The message, the counts and the activity of its thread, its author as a participant, and the record of the changes. */
const CREATE = `
  WITH made AS (
    INSERT INTO messages (project_id, thread_no, seq, id, author_id, type, url, metadata, created_at, updated_at, deleted_at,
      deleted, revision, content, markdown_length, content_bytes, position, written_position)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::bigint, $11::bigint IS NOT NULL, $12, $13, $14, $15, $24, $24)),
  positioned AS (
    INSERT INTO message_positions (project_id, thread_no, position, created_at, seq) VALUES ($1, $2, $24, $9, $3)),
  counted AS (
    UPDATE threads SET next_seq = $3::integer + 1, last_message_at = $16, user_messages = $17, action_messages = $18,
      deleted_messages = $19, revision = $12, position = $24
    WHERE project_id = $1 AND thread_no = $2),
  named AS (INSERT INTO message_ids (project_id, thread_no, created_at, seq, id) VALUES ($1, $2, $9, $3, $4)),
  ${seen('VALUES ($1::uuid, $2::bigint, $5, $9::bigint)', '$5')},
  ${recorded('SELECT $23::text', 20)}
  SELECT 1`;

interface Target {
  readonly thread: LockedThread;
  /** Where the thread has been made with the message. */
  readonly change?: Change;
  /** Whether the author is a participant. */
  readonly isListed: boolean;
  /** The latest time up to which a user has seen the thread; null where it has no participants. */
  readonly lastSeenAt: number | null;
}

async function createMessage(
  transaction: Transaction,
  project: ProjectKey,
  { threadId, id }: MessageKey,
  { thread, change, isListed, lastSeenAt }: Target,
  write: StoredMessageWrite,
  context: ConditionalContext,
): Promise<PutMessageOutcome> {
  const { now, revision } = context;
  const fields = newMessage(write, now);
  const createdAt = messageTime(write, lastSeenAt, now);
  const lastMessageAt = Math.max(createdAt, thread.lastMessageAt ?? createdAt);
  const created: Change = { type: 'message.created', group: thread.groupId, thread: threadId, message: id };
  const changes = change === undefined ? [created] : [change, created];
  const { userMessages, actionMessages, deletedMessages } = recounted(thread, null, fields);
  const message = [thread.nextSeq, id, write.authorId, fields.type, fields.url, fields.metadata];
  const times = [createdAt, write.updatedAt ?? null, fields.deletedAt];
  const counts = [lastMessageAt, userMessages, actionMessages, deletedMessages];
  const content = contentColumns(write.content as StoredContent);
  const before = change === undefined ? positionOf(thread) : null;
  const columns = [...message, ...times, revision, ...content, ...counts];
  const record = [...originOf(context), textOfChanges(changes), thread.position + 1];
  const calls: Call[] = [[CREATE, project, thread.threadNo, ...columns, ...record]];
  if (!isListed) calls.push([LIST_PARTICIPANT, project, thread.threadNo, write.authorId]);
  await transaction.commit([
    ...calls,
    ...listCalls(project, before, positionOf({ ...thread, lastMessageAt })),
  ]);
  return { kind: 'created', changes };
}

const FIELDS = `type = $5, url = $6, metadata = $7, updated_at = $8, deleted_at = $9::bigint,
    deleted = $9::bigint IS NOT NULL, revision = $10, position = $11, written_position = $11`;
const UPDATE = `UPDATE messages SET ${FIELDS} WHERE ${OF_MESSAGE}`;
const REPLACE_CONTENT = `
  UPDATE messages SET ${FIELDS}, content = $12, markdown_length = $13, content_bytes = $14, piece_count = 0, piece_bytes = 0
  WHERE ${OF_MESSAGE}`;
const MOVE = `
  UPDATE message_positions SET position = $4 WHERE project_id = $1 AND thread_no = $2 AND position = $3`;
/** Content is compared where it is stored, so that it need not be read. */
const [SAME, OTHER] = ['same', 'other'];

async function updateMessage(
  transaction: Transaction,
  project: ProjectKey,
  { key, thread, message }: { key: MessageKey; thread: LockedThread; message: StoredMessage },
  write: StoredMessageWrite,
  context: ConditionalContext,
): Promise<PutMessageOutcome> {
  const { threadNo, groupId } = thread;
  const { now, revision } = context;
  const time = changeTime(message, now);
  const before = { ...message, content: SAME };
  const { content, ...others } = write;
  const isOther = content !== undefined && !message.hasContent;
  const fields = { ...changedMessage(before, others, time), ...(isOther && { content: OTHER }) };
  const names = changedMessageFields(before, fields);
  if (names.length === 0) return UNCHANGED;
  const changes: Change[] = [
    { type: 'message.updated', group: groupId, thread: key.threadId, message: key.id, fields: names },
  ];
  const updatedAt = updateTime(names, message, time);
  const row = [project, threadNo, message.createdAt, message.seq] as const;
  const position = thread.position + 1;
  const columns = [fields.type, fields.url, fields.metadata, updatedAt, fields.deletedAt, revision, position];
  const calls: Call[] = isOther
    ? [
        [REPLACE_CONTENT, ...row, ...columns, ...contentColumns(content)],
        [REMOVE_PIECES, project, threadNo, message.seq],
      ]
    : [[UPDATE, ...row, ...columns]];
  calls.push([MOVE, project, threadNo, message.position, position]);
  const isRecounted = countOf(message) !== countOf(fields);
  const counted = { ...thread, ...recounted(thread, message, fields), position };
  calls.push(isRecounted ? countCall(project, counted, revision) : [ADVANCE, project, threadNo, position]);
  await transaction.commit([...calls, ...recordCalls(project, changes, context)]);
  return { kind: 'updated', changes };
}
