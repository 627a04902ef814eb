/** How a store gets threads and messages before they are measured: by its driver, and by SQL where that takes too long. */
import { join } from 'node:path';
import { storedContent } from '../packages/server/src/store/conversation/stored-content.ts';
import { DURABLE_BOUNDS } from '../packages/server/src/store/durable-bounds.ts';
import type { PutMessageOutcome } from '../packages/server/src/store/ports/messages.ts';
import type { PutThreadOutcome } from '../packages/server/src/store/ports/threads.ts';
import { openPostgresStore } from '../packages/server/src/store/postgres/postgres-store.ts';
import { SqliteConnection } from '../packages/server/src/store/sqlite/sqlite-connection.ts';
import { sqliteWrites } from '../packages/server/src/store/sqlite/sqlite-ports.ts';
import { STORE_FILE } from '../packages/server/src/store/sqlite/sqlite-store.ts';
import type { ProjectKey } from '../packages/server/src/values/project-key.ts';
import { authorsIn, groupOf, messageId, type Threads, threadId } from './conversation-dataset.ts';
import { PROJECT } from './credentials.ts';
import { rowsOf } from './scale-out-servers.ts';

const TEXT =
  'Please check the second paragraph again: the numbers of the last quarter are not those of the report.';
const CONTENT = storedContent([{ type: 'p', children: [{ text: TEXT }] }]);
/**
 * Threads are created one after the other; their messages are a minute apart. So each thread has an activity of its own, and all of it
 * is past.
 */
const BEGINNING = Date.UTC(2024, 0, 1);
const THREAD_EVERY_MS = 10;
const MESSAGE_EVERY_MS = 60_000;
/** Threads of one transaction, and those that PostgreSQL makes at once. */
const TRANSACTION_THREADS = 500;
const THREADS_AT_ONCE = 16;
const REVISION = 'filled';
const ACTOR = { kind: 'service', id: null } as const;
const CONTEXT = { now: Date.now(), revision: REVISION, actor: ACTOR, requestId: null };

const createdAt = (index: number) => BEGINNING + index * THREAD_EVERY_MS;

const threadWrite = (part: Threads, index: number) => ({
  groupId: groupOf(part, index),
  name: `Thread ${index}`,
  location: `{"page":"page-${index % 100}"}`,
  createdAt: createdAt(index),
});

/** @throws Error where a write of the fill was not applied */
function requireCreated({ kind }: PutThreadOutcome | PutMessageOutcome): void {
  if (kind !== 'created') throw new Error(`a thread or message was not created: ${kind}`);
}

/** Writes to the store of a stopped server; nothing is recorded as a change. */
export function fillSqlite(dataDirectory: string, part: Threads): void {
  const connection = new SqliteConnection(join(dataDirectory, STORE_FILE), { readOnly: false });
  try {
    const { threads, messages } = sqliteWrites(connection, DURABLE_BOUNDS);
    const ofProject = connection.prepare('SELECT project_no FROM projects WHERE id = ?');
    const project = ofProject.get(PROJECT.id)?.[0] as ProjectKey;
    const fillThread = (index: number) => {
      const id = threadId(part, index);
      const authors = authorsIn(part, index);
      requireCreated(threads.put(project, id, threadWrite(part, index), CONTEXT));
      for (let seq = 1; seq <= part.messagesPerThread; seq += 1) {
        const authorId = authors[seq % authors.length] as string;
        const write = { authorId, content: CONTENT, createdAt: createdAt(index) + seq * MESSAGE_EVERY_MS };
        requireCreated(messages.put(project, id, messageId(id, seq), write, CONTEXT));
      }
    };
    for (let first = 0; first < part.threads; first += TRANSACTION_THREADS) {
      connection.database.exec('BEGIN IMMEDIATE');
      const last = Math.min(first + TRANSACTION_THREADS, part.threads);
      for (let index = first; index < last; index += 1) fillThread(index);
      connection.database.exec('COMMIT');
    }
  } finally {
    connection.close();
  }
}

/** The threads of the part $1, each message `seq` of which is made, and the members of their groups. */
const EACH_MESSAGE = `
  FROM threads t CROSS JOIN LATERAL (
      SELECT array_agg(user_id) AS ids, count(*) AS count FROM memberships
      WHERE project_id = t.project_id AND group_id = t.group_id) AS author
    CROSS JOIN generate_series(1, $2::integer) AS seq
    CROSS JOIN LATERAL (
      SELECT md5(t.id || ' ' || seq) AS id, t.created_at + seq * ${MESSAGE_EVERY_MS}::bigint AS created_at) AS message
  WHERE t.id LIKE $1 || '-%'`;

const FILL_POSTGRES = [
  `INSERT INTO messages (project_id, thread_no, seq, id, author_id, type, metadata, created_at, deleted, revision,
     content, content_bytes, position, written_position)
   SELECT t.project_id, t.thread_no, seq, message.id, author.ids[1 + seq % author.count], 'user_message', '{}',
     message.created_at, FALSE, '${REVISION}', '${CONTENT.json}', ${CONTENT.json.length}, seq, seq ${EACH_MESSAGE}`,
  `INSERT INTO message_ids (project_id, thread_no, created_at, seq, id)
   SELECT t.project_id, t.thread_no, message.created_at, seq, message.id ${EACH_MESSAGE}`,
  `INSERT INTO message_positions (project_id, thread_no, position, created_at, seq)
   SELECT t.project_id, t.thread_no, seq, message.created_at, seq ${EACH_MESSAGE}`,
  `WITH seen AS (
     INSERT INTO participants (project_id, thread_no, user_id, last_seen_at)
     SELECT t.project_id, t.thread_no, author.ids[1 + seq % author.count], max(message.created_at) ${EACH_MESSAGE}
     GROUP BY 1, 2, 3 RETURNING project_id, thread_no, last_seen_at, user_id)
   INSERT INTO participant_times (project_id, thread_no, last_seen_at, user_id) SELECT * FROM seen`,
  `WITH counted AS (
     UPDATE threads t SET next_seq = $2::integer + 1, user_messages = $2::integer, position = $2::integer,
       last_message_at = t.created_at + $2::integer * ${MESSAGE_EVERY_MS}::bigint
     WHERE t.id LIKE $1 || '-%' RETURNING t.project_id, t.thread_no, t.last_message_at)
   UPDATE thread_lists l SET activity = counted.last_message_at FROM counted
   WHERE l.project_id = counted.project_id AND l.thread_no = counted.thread_no`,
];

/** Makes the threads by the driver, and their messages by SQL. */
export async function fillPostgres(databaseUrl: string, part: Threads): Promise<void> {
  const store = await openPostgresStore({ url: databaseUrl });
  try {
    const [[project]] = (await rowsOf(
      databaseUrl,
      'SELECT project_id FROM projects WHERE id = $1',
      PROJECT.id,
    )) as [[ProjectKey]];
    for (let first = 0; first < part.threads; first += THREADS_AT_ONCE) {
      const length = Math.min(THREADS_AT_ONCE, part.threads - first);
      const put = async (index: number) =>
        requireCreated(
          await store.threads.put(project, threadId(part, index), threadWrite(part, index), CONTEXT),
        );
      await Promise.all(Array.from({ length }, (_, offset) => put(first + offset)));
    }
  } finally {
    await store.close();
  }
  for (const [index, sql] of FILL_POSTGRES.entries()) {
    await rowsOf(databaseUrl, sql, part.name, part.messagesPerThread);
    if (index === 0) await rowsOf(databaseUrl, 'ANALYZE');
  }
  await rowsOf(databaseUrl, 'VACUUM ANALYZE');
}
