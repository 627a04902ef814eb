/** Removes what deleted threads, and the threads of deleted groups, left: in slices, none of which takes long. */
import { type Call, planEachTime, type Row } from '../connections/postgres-connection.ts';
import type { PostgresDatabase, Transaction } from '../connections/postgres-database.ts';
import { listed, rowOf } from '../postgres-lists.ts';
import { plainArray } from '../postgres-text.ts';

/** Threads of a slice, the messages of all of them unless it is a single thread, and most rows of one table that it removes. */
const SLICE_THREADS = 100;
const SLICE_MESSAGES = 500;
const SLICE_ROWS = 500;

/** The thread `t` of a number in `named`. */
const THREAD = rowOf('threads', 't', 'r.*', 'r.thread_no = named.thread_no');

/** One that no other process is at work on. */
const TAKE_CONVERSATION = `
  SELECT project_id, conversation_no FROM deleted_conversations
  ORDER BY project_id, conversation_no LIMIT 1 FOR UPDATE SKIP LOCKED`;
/** The threads, each with its number of messages. */
const THREADS_OF_CONVERSATION = `
  SELECT t.thread_no, t.user_messages + t.action_messages + t.deleted_messages
  FROM (
    SELECT thread_no FROM thread_lists WHERE project_id = $1 AND conversation_no = $2 AND location_key = 0
    ORDER BY resolved, activity, thread_no LIMIT ${SLICE_THREADS}) AS named
    ${THREAD}`;
const FORGET_CONVERSATION =
  'DELETE FROM deleted_conversations WHERE project_id = $1 AND conversation_no = $2';

const TAKE_THREAD = `
  SELECT project_id, thread_no FROM deleted_threads ORDER BY project_id, thread_no LIMIT 1 FOR UPDATE SKIP LOCKED`;
const FORGET_THREAD = 'DELETE FROM deleted_threads WHERE project_id = $1 AND thread_no = $2';

const THREADS = 'unnest($2::bigint[]) AS named(thread_no)';
const equal = (columns: readonly string[]) =>
  ['project_id', ...columns].map((column) => `x.${column} = w.${column}`).join(' AND ');

/** Locks threads before messages, as all writers do. A writer that began before the deletion may hold the lock of a thread. */
const LOCK_THREADS = `
  SELECT locked.thread_no FROM (SELECT thread_no FROM ${THREADS} ORDER BY thread_no) AS named
    CROSS JOIN LATERAL (
      SELECT r.thread_no FROM threads AS r WHERE r.project_id = $1 AND r.thread_no = named.thread_no FOR UPDATE) AS locked`;

/** How the rows of a table are removed, in the order of its key. */
interface Slice {
  /** Removes the first rows of the threads $2. (How many, and the key of the last one.) */
  readonly first: string;
  /** The same after a key, which is in the parameters from $3 on. */
  readonly next: string;
}

function slice(table: string, ...columns: readonly string[]): Slice {
  const key = columns.join(', ');
  const backwards = columns.map((column) => `${column} DESC`).join(', ');
  const removal = (condition: string) => {
    const first = `(
    SELECT row_key.* FROM ${THREADS} CROSS JOIN LATERAL (
      SELECT thread_no, ${key} FROM ${table} AS r WHERE r.project_id = $1 AND r.thread_no = named.thread_no ${condition}
      ORDER BY ${key} LIMIT ${SLICE_ROWS}) AS row_key
    LIMIT ${SLICE_ROWS}) AS first`;
    return planEachTime(`
    WITH gone AS (
      DELETE FROM ${table} x USING ${listed('first.*', first)}
      WHERE ${equal(['thread_no', ...columns])} RETURNING ${columns.map((column) => `x.${column}`).join(', ')})
    SELECT (SELECT count(*) FROM gone), ${key} FROM gone ORDER BY ${backwards} LIMIT 1`);
  };
  const parameters = columns.map((_, index) => `$${index + 3}`).join(', ');
  return { first: removal(''), next: removal(`AND (${key}) > (${parameters})`) };
}

/** Pieces after messages: an append that has begun has its message locked until the piece is written. */
const SLICES = [
  slice('messages', 'created_at', 'seq'),
  slice('message_ids', 'id'),
  slice('message_pieces', 'seq', 'piece_no'),
  slice('message_positions', 'position'),
  slice('removed_messages', 'position'),
  slice('participants', 'user_id'),
  slice('participant_times', 'last_seen_at', 'user_id'),
];

/** The threads `t` of $2. */
const ROWS = `${THREADS} ${THREAD}`;
/** A deleted thread is in no list any more. */
const REMOVE_LISTS = planEachTime(`
  DELETE FROM thread_lists x USING ${listed(
    'entry.*',
    `(SELECT conversation.no AS conversation_no, location.key AS location_key, t.thread_no,
        t.resolved_at IS NOT NULL AS resolved, coalesce(t.last_message_at, t.created_at) AS activity
      FROM ${ROWS} CROSS JOIN LATERAL (VALUES (0::bigint), (t.conversation_no)) AS conversation(no)
        CROSS JOIN LATERAL unnest(t.list_keys) AS location(key)) AS entry`,
  )}
  WHERE ${equal(['conversation_no', 'location_key', 'resolved', 'activity', 'thread_no'])}`);
const REMOVE_IDS = planEachTime(`
  DELETE FROM thread_ids x USING ${listed('t.id, t.thread_no', ROWS)}
  WHERE ${equal(['id'])} AND x.thread_no = w.thread_no`);
const REMOVE_THREADS = planEachTime(`
  DELETE FROM threads x USING ${listed('named.thread_no', THREADS)} WHERE ${equal(['thread_no'])}`);

/** How far the rows of one large thread are removed from one table. */
interface Reached {
  readonly threadNo: string;
  readonly slice: Slice;
  readonly key: readonly unknown[];
}

/** Removes what deleted threads, and the threads of deleted groups, left. */
export class ConversationPurge {
  readonly #database: PostgresDatabase;
  /** Until a vacuum, a search from the beginning of a thread would pass all that was removed from it. */
  #reached: Reached | null = null;

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  /** Removes a slice. False when there is nothing to remove now. */
  run(): Promise<boolean> {
    return this.#database.transaction(
      {},
      async (transaction) =>
        (await this.#purgeConversation(transaction)) || (await this.#purgeThread(transaction)),
    );
  }

  async #purgeConversation(transaction: Transaction): Promise<boolean> {
    const [[conversation]] = await transaction.run([TAKE_CONVERSATION]);
    if (conversation === undefined) return false;
    const [threads] = await transaction.run([THREADS_OF_CONVERSATION, ...conversation]);
    if (threads.length === 0) await transaction.commit([[FORGET_CONVERSATION, ...conversation]]);
    else await this.#removeThreads(transaction, conversation[0], firstOf(threads));
    return true;
  }

  async #purgeThread(transaction: Transaction): Promise<boolean> {
    const [[thread]] = await transaction.run([TAKE_THREAD]);
    if (thread === undefined) return false;
    const [project, threadNo] = thread;
    await this.#removeThreads(transaction, project, [threadNo as number], [FORGET_THREAD, ...thread]);
    return true;
  }

  /** Removes some rows of these threads, or the threads themselves and what is left when these have no more. */
  async #removeThreads(
    transaction: Transaction,
    project: unknown,
    threads: readonly (string | number)[],
    ...last: readonly Call[]
  ): Promise<void> {
    const list = plainArray(threads);
    await transaction.run([LOCK_THREADS, project, list]);
    const reached = this.#reached?.threadNo === list ? this.#reached : null;
    this.#reached = null;
    if (reached !== null) {
      const [[row]] = await transaction.run([reached.slice.next, project, list, ...reached.key]);
      if (isFull(row)) return this.#goOnAfter(transaction, { ...reached, key: row.slice(1) });
    }
    for (const each of SLICES) {
      const [[row]] = await transaction.run([each.first, project, list]);
      if (isFull(row)) {
        const position = { threadNo: list, slice: each, key: row.slice(1) };
        return this.#goOnAfter(transaction, position);
      }
    }
    await transaction.commit([
      [REMOVE_LISTS, project, list],
      [REMOVE_IDS, project, list],
      [REMOVE_THREADS, project, list],
      ...last,
    ]);
  }

  async #goOnAfter(transaction: Transaction, reached: Reached): Promise<void> {
    await transaction.commit();
    this.#reached = reached;
  }
}

/** More may be left in the table. */
const isFull = (row: Row | undefined): row is Row => Number(row?.[0]) === SLICE_ROWS;

/**
 * The first of the threads that one slice can remove with all their rows, or a single one. Rows of many threads, removed table
 * by table, would be searched again and again behind those that are removed already.
 */
function firstOf(threads: readonly Row[]): number[] {
  let messages = 0;
  const isWithin = ([, count]: Row) => {
    messages += count as number;
    return messages <= SLICE_MESSAGES;
  };
  const beyond = threads.findIndex((thread) => !isWithin(thread));
  const length = beyond === -1 ? threads.length : Math.max(1, beyond);
  return threads.slice(0, length).map(([threadNo]) => threadNo as number);
}
