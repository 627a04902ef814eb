/** The rows that a write of a message depends on, read when the thread is locked. */
import { limits, type Status } from '@rollcall/protocol';
import { columnsOf } from '../../columns.ts';
import { type MessageRow, messageColumns } from '../../conversation/conversation-columns.ts';
import type { IdSample } from '../../outcomes.ts';
import type { Row } from '../connections/postgres-connection.ts';
import { ALIVE, assertAlive } from '../postgres-row-writes.ts';
import { FOUND_THREAD, foundMessage } from './postgres-conversation-rows.ts';
import { CONTENT } from './postgres-messages-columns.ts';

export interface StoredMessage extends MessageRow {
  readonly seq: number;
  /** Whether it has the content of the write. */
  readonly hasContent: boolean;
}

const STORED = columnsOf<StoredMessage>({
  ...messageColumns('m.type'),
  seq: 'm.seq',
  hasContent: 'm.is_same IS TRUE',
});

/**
 * The rows that a write depends on, when the thread is locked: $4 is the author, $5 the group where the thread is to be made, $6
 * the new content, if there is one. Locks the message: appends lock that alone. What was appended while this waited for the lock is not
 * among the pieces that are compared, but counts in the bytes. (Whether the project is there; the thread; the status of the group, that of
 * the author, whether they are a member, and a participant; up to when a user has seen the thread; the message, and whether it has
 * the new content.)
 */
export const READ_FOR_WRITE = `
  WITH thread AS MATERIALIZED (SELECT t.thread_no, t.group_id ${FOUND_THREAD}),
  owner AS MATERIALIZED (SELECT coalesce((SELECT group_id FROM thread), $5) AS id)
  SELECT ${ALIVE}, (SELECT thread_no FROM thread), (SELECT g.status FROM groups g WHERE g.project_id = $1 AND g.id = owner.id),
    (SELECT u.status FROM users u WHERE u.project_id = $1 AND u.id = $4),
    (SELECT 1 FROM memberships b WHERE b.project_id = $1 AND b.group_id = owner.id AND b.user_id = $4) IS NOT NULL,
    (SELECT 1 FROM participants p
      WHERE p.project_id = $1 AND p.thread_no = (SELECT thread_no FROM thread) AND p.user_id = $4) IS NOT NULL,
    (SELECT max(s.last_seen_at) FROM participant_times s
      WHERE s.project_id = $1 AND s.thread_no = (SELECT thread_no FROM thread)),
    ${STORED.sql}
  FROM owner LEFT JOIN LATERAL (
    SELECT m.*, m.content_bytes = octet_length($6::text) AND $6 = ${CONTENT} AS is_same
    ${foundMessage('(SELECT thread_no FROM thread)', '$3', 'FOR UPDATE')}) AS m ON TRUE`;

/** Of the users $2, how many there are not, and the first of those. */
export const READ_UNKNOWN_USERS = `
  SELECT count(*), array_to_json((array_agg(unknown.id ORDER BY unknown.ordinal))[1:${limits.PROBLEMS_NAMED}]) FROM (
    SELECT w.id, w.ordinal FROM unnest($2::text[]) WITH ORDINALITY AS w(id, ordinal)
    WHERE (SELECT 1 FROM users u WHERE u.project_id = $1 AND u.id = w.id) IS NULL) AS unknown`;

interface Found {
  readonly threadNo: number | null;
  readonly groupStatus: Status | null;
  readonly authorStatus: Status | null;
  readonly isMember: boolean;
  readonly isParticipant: boolean;
  /** The latest time up to which a user has seen the thread; null where it has no participants. */
  readonly lastSeenAt: number | null;
  /** Mentioned users who do not exist. */
  readonly unknown: IdSample;
  readonly message: StoredMessage | null;
}

export function toFound(
  [alive, threadNo, group, author, isMember, isParticipant, lastSeenAt, ...message]: Row,
  [unknown]: readonly Row[],
): Found {
  assertAlive(alive);
  return {
    threadNo: threadNo as number | null,
    groupStatus: group as Status | null,
    authorStatus: author as Status | null,
    isMember: isMember as boolean,
    isParticipant: isParticipant as boolean,
    lastSeenAt: lastSeenAt as number | null,
    unknown: { count: (unknown?.[0] ?? 0) as number, ids: (unknown?.[1] ?? []) as string[] },
    message: message[0] === null ? null : STORED.toRecord(message),
  };
}
