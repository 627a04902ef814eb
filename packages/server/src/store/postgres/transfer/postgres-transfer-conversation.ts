/** The transfer of threads and messages of a store on PostgreSQL. */
import {
  contentColumns,
  type MessageCounts,
  newMessage,
  newThread,
  recounted,
} from '../../conversation/conversation-writes.ts';
import {
  type ImportedMessage,
  messageWriteOf,
  threadWriteOf,
} from '../../conversation/transfer-conversation.ts';
import type { Column, ConversationRecord, RecordOf } from '../../transfer-records.ts';
import { type Call, planEachTime } from '../connections/postgres-connection.ts';
import { listKeys } from '../conversation/postgres-conversation-lists.ts';
import { contentOf } from '../conversation/postgres-messages-columns.ts';
import { rowNamed } from '../postgres-lists.ts';
import { arraysOf, plainArray } from '../postgres-text.ts';

/** The threads `t` of projects `p` in the order of their creation, without those that are still to be purged. */
const THREADS = `projects p
  CROSS JOIN LATERAL (SELECT r.* FROM threads r WHERE r.project_id = p.project_id ORDER BY r.thread_no OFFSET 0) AS t
  CROSS JOIN LATERAL (
    SELECT 1 FROM conversations r WHERE r.project_id = t.project_id AND r.group_id = t.group_id
      AND r.conversation_no = t.conversation_no OFFSET 0) AS c`;
const ofThread = (table: string, order: string) => `LATERAL (
  SELECT r.* FROM ${table} r WHERE r.project_id = t.project_id AND r.thread_no = t.thread_no ORDER BY ${order} OFFSET 0)`;

export const CONVERSATION_ROWS: Readonly<Record<ConversationRecord['type'], string>> = {
  thread: `SELECT p.id, t.group_id, t.id, t.name, t.url, t.location, t.metadata, t.created_at, t.resolved_at, t.revision
    FROM ${THREADS}`,
  participant: `SELECT p.id, t.id, s.user_id, s.last_seen_at
    FROM ${THREADS} CROSS JOIN ${ofThread('participants', 'r.user_id')} AS s`,
  message: `SELECT p.id, t.id, m.id, m.author_id, m.type, ${contentOf('m.project_id')}, m.url, m.metadata, m.created_at,
      m.updated_at, m.deleted_at, m.revision
    FROM ${THREADS} CROSS JOIN ${ofThread('messages', 'r.created_at, r.seq')} AS m`,
};

const MAKE_CONVERSATIONS = planEachTime(`
  INSERT INTO conversations (project_id, group_id)
  SELECT g.project_id, g.id FROM unnest($1::uuid[], $2::text[]) AS w(project_id, id) CROSS JOIN LATERAL (
    SELECT r.project_id, r.id FROM groups r WHERE r.project_id = w.project_id AND r.id = w.id OFFSET 0) AS g
  ON CONFLICT (project_id, group_id) DO NOTHING`);

/** The thread of each entry `w` of a list, by its ID. */
const NAMED_THREAD = rowNamed('thread_ids', 'thread', 'r.thread_no', 'r.id = w.thread_id');

const INSERT_THREADS = planEachTime(`
  WITH made AS (
    INSERT INTO threads (project_id, conversation_no, group_id, id, name, url, location, list_keys, metadata, resolved_at,
      created_at, revision)
    SELECT w.project_id, c.conversation_no, w.group_id, w.id, w.name, w.url, w.location, w.list_keys::bigint[], w.metadata,
      w.resolved_at, w.created_at, w.revision
    FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
      $9::bigint[], $10::bigint[], $11::text[]) AS w(project_id, group_id, id, name, url, location, list_keys, metadata,
      resolved_at, created_at, revision)
      ${rowNamed('conversations', 'c', 'r.conversation_no', 'r.group_id = w.group_id')}
    RETURNING project_id, id, thread_no)
  INSERT INTO thread_ids (project_id, id, thread_no) SELECT project_id, id, thread_no FROM made RETURNING 1`);

const INSERT_PARTICIPANTS = planEachTime(`
  INSERT INTO participants (project_id, thread_no, user_id, last_seen_at)
  SELECT w.project_id, thread.thread_no, w.user_id, w.last_seen_at
  FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[]) AS w(project_id, thread_id, user_id, last_seen_at)
    ${NAMED_THREAD}
  RETURNING 1`);

/** The position of a message is its number. */
const INSERT_MESSAGES = planEachTime(`
  WITH w AS MATERIALIZED (
    SELECT w.*, thread.thread_no FROM unnest($1::uuid[], $2::text[], $3::integer[], $4::text[], $5::text[], $6::text[],
      $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::bigint[], $12::text[], $13::text[], $14::integer[],
      $15::integer[]) AS w(project_id, thread_id, seq, id, author_id, type, url, metadata, created_at, updated_at,
      deleted_at, revision, content, markdown_length, content_bytes) ${NAMED_THREAD}),
  named AS (
    INSERT INTO message_ids (project_id, thread_no, created_at, seq, id)
    SELECT project_id, thread_no, created_at, seq, id FROM w),
  positioned AS (
    INSERT INTO message_positions (project_id, thread_no, position, created_at, seq)
    SELECT project_id, thread_no, seq, created_at, seq FROM w)
  INSERT INTO messages (project_id, thread_no, seq, id, author_id, type, url, metadata, created_at, updated_at, deleted_at,
    revision, content, markdown_length, content_bytes, deleted, position, written_position)
  SELECT project_id, thread_no, seq, id, author_id, type, url, metadata, created_at, updated_at, deleted_at,
    revision, content, markdown_length, content_bytes, deleted_at IS NOT NULL, seq, seq FROM w
  RETURNING 1`);

const COUNT = planEachTime(`
  UPDATE threads t SET user_messages = t.user_messages + w.user_messages,
    action_messages = t.action_messages + w.action_messages, deleted_messages = t.deleted_messages + w.deleted_messages,
    last_message_at = greatest(t.last_message_at, w.last_message_at), next_seq = w.last_seq + 1, position = w.last_seq
  FROM (
    SELECT w.*, thread.thread_no FROM unnest($1::uuid[], $2::text[], $3::integer[], $4::integer[], $5::integer[],
      $6::bigint[], $7::integer[]) AS w(project_id, thread_id, user_messages, action_messages, deleted_messages,
      last_message_at, last_seq) ${NAMED_THREAD} OFFSET 0) AS w
  WHERE t.project_id = w.project_id AND t.thread_no = w.thread_no`);

/** The rows that follow from the other rows. */
export const DERIVE_CONVERSATIONS: readonly Call[] = [
  [
    `INSERT INTO thread_lists (project_id, conversation_no, location_key, resolved, activity, thread_no)
    SELECT t.project_id, conversation.no, location.key, t.resolved_at IS NOT NULL, coalesce(t.last_message_at, t.created_at),
      t.thread_no
    FROM threads t
      CROSS JOIN LATERAL (VALUES (0::bigint), (t.conversation_no)) AS conversation(no)
      CROSS JOIN LATERAL unnest(t.list_keys) AS location(key)
    ORDER BY 1, 2, 3, 4, 5, 6`,
  ],
  [
    `INSERT INTO participant_times (project_id, thread_no, last_seen_at, user_id)
    SELECT project_id, thread_no, last_seen_at, user_id FROM participants ORDER BY 1, 2, 3, 4`,
  ],
];

/** The records of one thread in a batch. */
interface Counted {
  readonly key: readonly [project: string, thread: string];
  counts: MessageCounts;
  lastMessageAt: number;
  lastSeq: number;
}

const NONE: MessageCounts = { userMessages: 0, actionMessages: 0, deletedMessages: 0 };

/** Makes the calls that write threads, participants and messages; the last one answers a row for each that it has inserted. */
export class ConversationImport {
  readonly #keyOf: (record: ConversationRecord) => string;
  /** The number of the last message of the import. Numbers of a thread need only ascend. */
  #seq = 0;

  constructor(keyOf: (record: ConversationRecord) => string) {
    this.#keyOf = keyOf;
  }

  /** Of records of one type. */
  callsFor(records: readonly ConversationRecord[]): Call[] {
    return [
      ...this.#threadCalls(records.filter((record) => record.type === 'thread')),
      ...this.#participantCalls(records.filter((record) => record.type === 'participant')),
      ...this.#messageCalls(records.filter((record) => record.type === 'message')),
    ];
  }

  #threadCalls(records: readonly RecordOf<'thread'>[]): Call[] {
    if (records.length === 0) return [];
    const rows = records.map((record): Column[] => {
      const { name, url, location, metadata, resolvedAt } = newThread(
        threadWriteOf(record),
        record.created_at,
      );
      return [
        ...[this.#keyOf(record), record.group, record.id, name, url, location],
        ...[plainArray(listKeys(location)), metadata, resolvedAt, record.created_at, record.revision],
      ];
    });
    const [keys, groups, ...others] = arraysOf(rows);
    return [
      [MAKE_CONVERSATIONS, keys, groups],
      [INSERT_THREADS, keys, groups, ...others],
    ];
  }

  #participantCalls(records: readonly RecordOf<'participant'>[]): Call[] {
    if (records.length === 0) return [];
    const rows = records.map((record) => [
      ...[this.#keyOf(record), record.thread, record.user, record.last_seen_at],
    ]);
    return [[INSERT_PARTICIPANTS, ...arraysOf(rows)]];
  }

  #messageCalls(records: readonly RecordOf<'message'>[]): Call[] {
    if (records.length === 0) return [];
    const counted = new Map<string, Counted>();
    const rows = records.map((record): Column[] => {
      const write = messageWriteOf(record);
      const key = [this.#keyOf(record), record.thread] as const;
      this.#seq += 1;
      count(counted, key, write, this.#seq);
      const { type, url, metadata, deletedAt } = newMessage(write, write.createdAt);
      return [
        ...[...key, this.#seq, record.id, write.authorId, type, url, metadata],
        ...[write.createdAt, write.updatedAt ?? null, deletedAt, record.revision],
        ...contentColumns(write.content),
      ];
    });
    const sums = Array.from(counted.values(), ({ key, counts, lastMessageAt, lastSeq }): Column[] => [
      ...[...key, counts.userMessages, counts.actionMessages, counts.deletedMessages, lastMessageAt, lastSeq],
    ]);
    return [
      [COUNT, ...arraysOf(sums)],
      [INSERT_MESSAGES, ...arraysOf(rows)],
    ];
  }
}

function count(
  counted: Map<string, Counted>,
  key: Counted['key'],
  write: ImportedMessage,
  lastSeq: number,
): void {
  const name = JSON.stringify(key);
  const { counts, lastMessageAt } = counted.get(name) ?? { counts: NONE, lastMessageAt: write.createdAt };
  counted.set(name, {
    key,
    counts: recounted(counts, null, newMessage(write, write.createdAt)),
    lastMessageAt: Math.max(lastMessageAt, write.createdAt),
    lastSeq,
  });
}
