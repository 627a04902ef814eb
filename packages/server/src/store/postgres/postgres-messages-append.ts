import { limits, type Status } from '@rollcall/protocol';
import type { ProjectKey } from '../../values/project-key.ts';
import type { AppendOutcome, MessageAppend } from '../ports/messages.ts';
import { preconditionFailure } from '../precondition.ts';
import type { ConditionalContext } from '../write-context.ts';
import type { Row } from './connections/postgres-connection.ts';
import type { Attempt } from './connections/postgres-database.ts';
import { LostRaceError } from './connections/postgres-errors.ts';
import { originOf, recorded } from './postgres-changes.ts';
import { FOUND_THREAD, foundMessage, LOCK_THREAD } from './postgres-conversation-rows.ts';
import {
  ALIVE,
  assertAlive,
  meetsPrecondition,
  preconditionFrom,
  preconditionValues,
} from './postgres-row-writes.ts';

/** A piece of a message takes appended texts until it is as large as this, in bytes. */
const PIECE_BYTES = 2_048;

/**
 * Appends the text $4 of $5 code points and $6 bytes to the message $3, where it has the length $7, if that is not null, and all
 * conditions hold. What is written does not grow with the content: a piece, and the row of the message. Every write of a message
 * advances the position of its thread. So where that is what it was when this statement began, the message is also what it was,
 * and otherwise nothing is written. A deleted thread has another conversation. The conversation is locked, so that the group is not deleted meanwhile.
 * (Whether the project is there, the group, its status, the message before, the length afterwards.)
 */
const APPEND = `
  WITH thread AS MATERIALIZED (
    SELECT t.thread_no, t.conversation_no, t.group_id, t.position,
      (SELECT g.status FROM groups g WHERE g.project_id = $1 AND g.id = t.group_id) AS status
    ${FOUND_THREAD}),
  found AS MATERIALIZED (
    SELECT m.created_at, m.seq, m.markdown_length, m.content_bytes, m.deleted, m.revision, m.position
    ${foundMessage('(SELECT thread_no FROM thread)', '$3')}),
  allowed AS MATERIALIZED (
    SELECT thread.thread_no, thread.conversation_no, thread.position AS thread_position, before.created_at, before.seq, before.position
    FROM thread CROSS JOIN found AS before
      CROSS JOIN LATERAL (
        SELECT 1 FROM conversations AS r WHERE r.project_id = $1 AND r.group_id = thread.group_id
          AND r.conversation_no = thread.conversation_no FOR KEY SHARE) AS c
    WHERE thread.status = 'active' AND ${ALIVE} AND NOT deleted
      AND coalesce(markdown_length = $7::bigint, markdown_length IS NOT NULL)
      AND content_bytes + $6::integer <= ${limits.CONTENT_MAX_BYTES}
      AND ${meetsPrecondition(preconditionFrom(9))}),
  advanced AS (
    UPDATE threads SET position = position + 1
    WHERE project_id = $1 AND thread_no = (SELECT thread_no FROM allowed)
      AND conversation_no = (SELECT conversation_no FROM allowed) AND position = (SELECT thread_position FROM allowed)
    RETURNING thread_no, position),
  moved AS (
    UPDATE message_positions SET position = (SELECT position FROM advanced)
    WHERE project_id = $1 AND thread_no = (SELECT thread_no FROM advanced) AND position = (SELECT position FROM allowed)),
  appended AS (
    UPDATE messages m SET
      markdown_length = m.markdown_length + $5::integer, content_bytes = m.content_bytes + $6::integer,
      piece_count = m.piece_count + CASE WHEN $5::integer > 0 AND (m.piece_count = 0 OR m.piece_bytes >= ${PIECE_BYTES}) THEN 1 ELSE 0 END,
      piece_bytes = CASE WHEN $5::integer > 0 AND m.piece_bytes >= ${PIECE_BYTES} THEN 0 ELSE m.piece_bytes END + $6::integer,
      revision = $8, position = (SELECT position FROM advanced)
    WHERE m.project_id = $1 AND m.thread_no = (SELECT thread_no FROM advanced)
      AND m.created_at = (SELECT created_at FROM allowed) AND m.seq = (SELECT seq FROM allowed)
    RETURNING m.thread_no, m.seq, m.piece_count, m.markdown_length),
  piece AS (
    INSERT INTO message_pieces (project_id, thread_no, seq, piece_no, text)
    SELECT $1, thread_no, seq, piece_count, $4 FROM appended WHERE $5::integer > 0
    ON CONFLICT (project_id, thread_no, seq, piece_no) DO UPDATE SET text = message_pieces.text || excluded.text),
  ${recorded(
    `SELECT '[{"type":"message.appended","group":' || to_json(thread.group_id)::text || ',"thread":' || to_json($2::text)::text
      || ',"message":' || to_json($3::text)::text || '}]' FROM thread CROSS JOIN appended WHERE $5::integer > 0`,
    12,
  )}
  SELECT ${ALIVE}, thread.group_id, thread.status, found.markdown_length, found.content_bytes, found.deleted,
    found.revision, (SELECT markdown_length FROM appended)
  FROM (SELECT 1) AS one LEFT JOIN thread ON TRUE LEFT JOIN found ON TRUE`;

/** One statement. Where another write of the thread was faster, the thread is locked first: one round trip too. */
export async function appendToMessage(
  attempt: Attempt,
  project: ProjectKey,
  { threadId, id }: { readonly threadId: string; readonly id: string },
  { escaped, length, offset }: MessageAppend,
  context: ConditionalContext,
): Promise<AppendOutcome> {
  const bytes = Buffer.byteLength(escaped);
  const conditions = [offset, context.revision, ...preconditionValues(context)] as const;
  const text = [project, threadId, id, escaped, length, bytes] as const;
  const append = [APPEND, ...text, ...conditions, ...originOf(context)] as const;
  const requested = { threadId, id, bytes, length, offset };
  const [row] = await attempt.run(...append);
  const outcome = toOutcome(row as Row, requested, context);
  if (outcome !== null) return outcome;
  return attempt.transaction(async (transaction) => {
    const [, [again] = []] = await transaction.commit([[LOCK_THREAD, project, threadId], append]);
    const second = toOutcome(again as Row, requested, context);
    if (second === null) throw new LostRaceError('the thread was created, or its group deleted, meanwhile');
    return second;
  });
}

interface Append {
  readonly threadId: string;
  readonly id: string;
  readonly bytes: number;
  readonly length: number;
  readonly offset: number | null;
}

/** Null where another write came in between. */
function toOutcome(
  [alive, groupId, status, before, contentBytes, deleted, revision, after]: Row,
  { threadId, id, bytes, length, offset }: Append,
  context: ConditionalContext,
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
  if (after === null) return null;
  const change = { type: 'message.appended', group: group.groupId, thread: threadId, message: id } as const;
  return { kind: 'appended', length: after as number, changes: length === 0 ? [] : [change] };
}
