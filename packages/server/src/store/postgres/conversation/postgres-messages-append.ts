import { limits, type Status } from '@rollcall/protocol';
import type { ProjectKey } from '../../../values/project-key.ts';
import type { AppendOutcome, MessageAppend, MessageStore } from '../../ports/messages.ts';
import { preconditionFailure } from '../../precondition.ts';
import type { Column } from '../../transfer-records.ts';
import type { ConditionalContext } from '../../write-context.ts';
import type { Call, Row } from '../connections/postgres-connection.ts';
import type { OnDatabase } from '../connections/postgres-database.ts';
import { LostRaceError } from '../connections/postgres-errors.ts';
import { originOf, recordedParts } from '../postgres-changes.ts';
import { listed, rowsIn } from '../postgres-lists.ts';
import {
  ALIVE,
  assertAlive,
  meetsPrecondition,
  preconditionValues,
  targetOf,
} from '../postgres-row-writes.ts';
import { arraysOf } from '../postgres-text.ts';
import { foundMessage, foundThread, LOCK_THREAD } from './postgres-conversation-rows.ts';

/** A piece of a message takes appended texts until it is as large as this, in bytes. */
const PIECE_BYTES = 2_048;

/** The columns of an append, each a parameter from $2 on. */
const COLUMNS = [
  ...['thread_id', 'message_id', 'text', 'length', 'bytes', 'markdown_length', 'revision'],
  ...['if_match', 'if_none_match', 'may_exist', 'at', 'actor', 'request_id'],
] as const;

/**
 * Appends texts to messages of different threads, each of `length` code points and so many bytes, where the message has the length
 * `markdown_length`, if that is not null, and all
 * conditions hold. What is written does not grow with the content: a piece, and the row of the message. Every write of a message
 * advances the position of its thread. So where that is what it was when this statement began, the message is also what it was,
 * and otherwise nothing is written. A deleted thread has another conversation. The conversation is locked, so that the group is not
 * deleted meanwhile. (For each append: whether the project is there, the group, its status, the message before, the length
 * afterwards.)
 */
const APPEND = `
  WITH appends AS MATERIALIZED (
    SELECT thread_id, message_id, text, length::integer AS length, bytes::integer AS bytes, markdown_length::bigint AS markdown_length,
      revision, if_match, if_none_match, may_exist, at::bigint AS at, actor, request_id, number
    FROM ${rowsIn(COLUMNS)}),
  found AS MATERIALIZED (
    SELECT w.number, thread.*, message.* FROM appends w
      LEFT JOIN LATERAL (
        SELECT t.thread_no, t.conversation_no, t.group_id, t.position AS thread_position,
          (SELECT g.status FROM groups g WHERE g.project_id = $1 AND g.id = t.group_id) AS status
        ${foundThread('w.thread_id')}) AS thread ON TRUE
      LEFT JOIN LATERAL (
        SELECT m.created_at, m.seq, m.markdown_length, m.content_bytes, m.deleted, m.revision, m.position
        ${foundMessage('thread.thread_no', 'w.message_id')}) AS message ON TRUE),
  allowed AS MATERIALIZED (
    SELECT before.number, before.thread_no, before.conversation_no, before.group_id, before.thread_position, before.created_at,
      before.seq, before.position, w.thread_id, w.message_id, w.text, w.length, w.bytes, w.revision, w.at, w.actor, w.request_id
    FROM (SELECT * FROM found WHERE revision IS NOT NULL ORDER BY thread_no) AS before
      JOIN appends w ON w.number = before.number
      CROSS JOIN LATERAL (
        SELECT 1 FROM conversations AS r WHERE r.project_id = $1 AND r.group_id = before.group_id
          AND r.conversation_no = before.conversation_no FOR KEY SHARE) AS c
    WHERE w.length > 0 AND before.status = 'active' AND ${ALIVE} AND NOT before.deleted
      AND coalesce(before.markdown_length = w.markdown_length, before.markdown_length IS NOT NULL)
      AND before.content_bytes + w.bytes <= ${limits.CONTENT_MAX_BYTES}
      AND ${meetsPrecondition(['w.if_match', 'w.if_none_match', 'w.may_exist'])}),
  advanced AS (
    UPDATE threads t SET position = t.position + 1 FROM ${listed('allowed.*', 'allowed')}
    WHERE t.project_id = w.project_id AND t.thread_no = w.thread_no AND t.conversation_no = w.conversation_no
      AND t.position = w.thread_position
    RETURNING w.*, t.position AS next_position),
  moved AS (
    UPDATE message_positions t SET position = w.next_position FROM advanced AS w
    WHERE t.project_id = w.project_id AND t.thread_no = w.thread_no AND t.position = w.position),
  appended AS (
    UPDATE messages t SET
      markdown_length = t.markdown_length + w.length, content_bytes = t.content_bytes + w.bytes,
      piece_count = t.piece_count + CASE WHEN t.piece_count = 0 OR t.piece_bytes >= ${PIECE_BYTES} THEN 1 ELSE 0 END,
      piece_bytes = CASE WHEN t.piece_bytes >= ${PIECE_BYTES} THEN 0 ELSE t.piece_bytes END + w.bytes,
      revision = w.revision, position = w.next_position
    FROM advanced AS w
    WHERE t.project_id = w.project_id AND t.thread_no = w.thread_no AND t.created_at = w.created_at AND t.seq = w.seq
    RETURNING w.*, t.piece_count, t.markdown_length),
  pieces AS (
    INSERT INTO message_pieces (project_id, thread_no, seq, piece_no, text)
    SELECT $1, thread_no, seq, piece_count, text FROM appended
    ON CONFLICT (project_id, thread_no, seq, piece_no) DO UPDATE SET text = message_pieces.text || excluded.text),
  ${recordedParts(`
    SELECT at, actor, request_id, ARRAY['[{"type":"message.appended","group":' || to_json(group_id)::text
      || ',"thread":' || to_json(thread_id)::text || ',"message":' || to_json(message_id)::text || '}]']
    FROM appended ORDER BY number`)}
  SELECT ${ALIVE}, w.group_id, w.status, w.markdown_length, w.content_bytes, w.deleted, w.revision,
    (SELECT appended.markdown_length FROM appended WHERE appended.number = w.number)
  FROM found w ORDER BY w.number`;

/** A text of so many bytes does not delay other appends of its transaction. */
const BYTES_MERGED = 4_096;

/**
 * One statement, for other appends too. Where another write of the thread was faster, the thread is locked first: one round trip
 * as well.
 */
export const appendToMessage: OnDatabase<MessageStore['append']> = (
  database,
  project,
  threadId,
  id,
  text,
  context,
) => {
  const bytes = Buffer.byteLength(text.escaped);
  const append: Append = { threadId, id, ...text, bytes, context };
  return database.operation(targetOf('thread', project, threadId), async (attempt) => {
    const row = bytes <= BYTES_MERGED ? await attempt.merge(appendCalls, project, append) : null;
    const outcome = row === null ? null : toOutcome(row, append);
    if (outcome !== null) return outcome;
    return attempt.transaction(async (transaction) => {
      const calls: Call[] = [[LOCK_THREAD, project, threadId], ...appendCalls(project, [append])];
      const [, [again]] = (await transaction.commit(calls)) as [Row[], [Row]];
      const second = toOutcome(again, append);
      if (second === null) throw new LostRaceError('the thread was created, or its group deleted, meanwhile');
      return second;
    });
  });
};

const appendCalls = (project: ProjectKey, appends: readonly Append[]): Call[] => [
  [APPEND, project, ...arraysOf(appends.map(columnsOf))],
];

/** By {@link COLUMNS}. */
const columnsOf = ({ threadId, id, escaped, length, bytes, offset, context }: Append): Column[] => [
  ...[threadId, id, escaped, length, bytes, offset, context.revision],
  ...preconditionValues(context),
  ...originOf(context),
];

interface Append extends MessageAppend {
  readonly threadId: string;
  readonly id: string;
  readonly bytes: number;
  readonly context: ConditionalContext;
}

/** Null where another write came in between. */
function toOutcome(
  [alive, groupId, status, before, contentBytes, deleted, revision, after]: Row,
  { threadId, id, bytes, length, offset, context }: Append,
): AppendOutcome | null {
  assertAlive(alive);
  if (groupId === null) return { kind: 'threadAbsent' };
  if (revision === null) return { kind: 'absent' };
  const group = { groupId: groupId as string };
  if ((status as Status) !== 'active') {
    return { kind: 'groupUnavailable', ...group, isDeleted: true };
  }
  if (deleted === true || before === null) return { kind: 'notAppendable' };
  const failure = preconditionFailure(context, revision as string);
  if (failure !== null || (offset !== null && offset !== before)) return { kind: 'stale' };
  if ((contentBytes as number) + bytes > limits.CONTENT_MAX_BYTES) return { kind: 'tooLarge' };
  if (length === 0)
    return { kind: 'appended', length: before as number, revision: revision as string, changes: [] };
  if (after === null) return null;
  const change = { type: 'message.appended', group: group.groupId, thread: threadId, message: id } as const;
  return { kind: 'appended', length: after as number, revision: context.revision, changes: [change] };
}
