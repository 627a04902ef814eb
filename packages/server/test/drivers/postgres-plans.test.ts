/**
 * The work of a statement depends on its lists, never on what PostgreSQL estimates of its tables: where these were never
 * analysed (a restore without autovacuum), where the statistics are of a far smaller store, and on connections whose plans
 * are as old as that. Each statement is run on a connection of the driver, as the driver sends it.
 */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { applyBatch } from '../../src/store/postgres/batch/postgres-batch.ts';
import { PostgresConnection } from '../../src/store/postgres/connections/postgres-connection.ts';
import { PostgresDatabase } from '../../src/store/postgres/connections/postgres-database.ts';
import { parsePostgresUrl } from '../../src/store/postgres/connections/postgres-url.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../src/store/store.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';
import { newRoster, numbered, type Roster } from '../contract/store/roster.ts';
import { closing } from '../support/closing.ts';
import { BY_TEST } from '../support/origin.ts';
import { ownDatabase, skipsPostgres, withClient } from '../support/postgres.ts';
import { purgeAll } from './purge-all.ts';
import { Recorder, type Sent } from './statement-recorder.ts';
import { converse, MORE_READS, type Operation, READS, SINGLE, WRITES } from './store-operations.ts';

/** Entries of the lists in the statements. */
const LISTED = 300;
/** The final size of the project: groups of ten, and one group `g` of many. */
const USERS = 20_000;
const GROUPS = 10_000;
const LARGE_GROUP = 15_000;
const DURABLE = 7_000;
const THREADS = 10_000;
const MESSAGES = 10_000;
/**
 * Most rows that one step of a plan may produce or discard: a few for each entry of a list, two thousand for a slice of a
 * deleted project. There is more of everything in the project.
 */
const MOST_ROWS = 5_000;
const LIMIT_MS = 60_000;
const UNIQUE_VIOLATION = '23505';

const users = numbered('u', LISTED);
const groups = numbered('g', 40);

/** Statements with lists that the operations of the port do not send by themselves. */
const WITH_LISTS: readonly Operation[] = [
  (roster) => roster.changeMembers('g', { remove: users }),
  (roster) => roster.changeMembers('g', { add: users }),
  ({ store, key }) => store.eligibility.filter(key, 'g', users),
  ({ store, key }) =>
    store.eligibility.findMany(
      key,
      users.map((userId) => ({ groupId: 'g', userId })),
    ),
  (roster) => roster.batch({ groups: groups.map((id) => ({ id, name: id, members: users.slice(0, 20) })) }),
  (roster) => roster.batch({ groups: groups.map((id) => ({ id, members: [] })) }),
  // Which groups exist is read before this is rejected.
  (roster) => roster.batch({ groups: groups.map((id) => ({ id, metadata: 1 })) }),
  ({ store, key }) => presentAll(store, key, users),
];

/** Each of these members of `g` is somewhere in it. */
async function presentAll(store: Store, key: ProjectKey, userIds: readonly string[]): Promise<void> {
  const put = (userId: string, index: number) => {
    const location = JSON.stringify({ p: `${index % 50}` });
    const update = { userId, groupId: 'g', region: location, location };
    return store.durablePresence.put(key, update, { now: 1, revision: 'r', ...BY_TEST });
  };
  for (let from = 0; from < userIds.length; from += 200)
    await Promise.all(userIds.slice(from, from + 200).map(put));
}

/** Statements about whole tables that are small, or that answer all of what they read. */
const EXEMPT = [
  'FROM customers ORDER BY id',
  'FROM projects p ORDER BY p.id',
  'FROM deleted_projects',
  'schema_migrations',
];

const isExempt = ({ text }: Sent): boolean => EXEMPT.some((part) => text.includes(part));

/** Every statement of the driver, once, recorded in a store with next to nothing in it. */
async function recordAll(url: string): Promise<{ roster: Roster; statements: Sent[] }> {
  const recorder = new Recorder();
  const batches = new PostgresDatabase(parsePostgresUrl(url));
  const store: Store = {
    ...(await openPostgresStore({ url })),
    // On this thread, where it is recorded.
    batches: {
      apply: (project, batch, context) => applyBatch(batches, project, batch, context),
    },
  };
  try {
    const [roster, deleted] = [await newRoster(store), await newRoster(store)];
    await roster.groupOf('g', ...users);
    await converse(roster);
    recorder.start();
    const all = [...Object.values({ ...READS, ...SINGLE, ...WRITES }), ...MORE_READS, ...WITH_LISTS];
    for (const size of [1, LISTED]) for (const run of all) await run(roster, size);
    await store.projects.delete(deleted.key);
    await purgeAll(batches);
    const byText = new Map(recorder.sent.filter((sent) => !isExempt(sent)).map((sent) => [sent.text, sent]));
    const statements = [...byText.values()].map((sent) => ({
      ...sent,
      values: sent.values.map((value) => (value === deleted.key ? roster.key : value)),
    }));
    return { roster, statements };
  } finally {
    recorder.stop();
    await batches.close();
    await store.close();
  }
}

/** Many groups with a thread each, many threads of the group `g`, of which `t` has many messages and participants. */
const CONVERSATIONS = [
  `INSERT INTO conversations (project_id, conversation_no, group_id)
   SELECT $1, 1000000 + n, 'g' || lpad(n::text, 6, '0') FROM generate_series(0, ${GROUPS} - 1) n`,
  `INSERT INTO threads (project_id, thread_no, conversation_no, group_id, id, name, list_keys, metadata, created_at, revision)
   SELECT $1, conversation_no, conversation_no, group_id, 'x' || conversation_no, 'X', '{0}', '{}', conversation_no, 'r'
   FROM conversations WHERE project_id = $1 AND conversation_no >= 1000000`,
  `INSERT INTO threads (project_id, thread_no, conversation_no, group_id, id, name, list_keys, metadata, created_at, revision)
   SELECT $1, 2000000 + n, conversation_no, group_id, 'y' || n, 'Y', '{0}', '{}', n, 'r'
   FROM conversations, generate_series(0, ${THREADS} - 1) n WHERE project_id = $1 AND group_id = 'g'`,
  `INSERT INTO thread_ids (project_id, id, thread_no)
   SELECT project_id, id, thread_no FROM threads WHERE project_id = $1 AND thread_no >= 1000000`,
  `INSERT INTO thread_lists (project_id, conversation_no, location_key, resolved, activity, thread_no)
   SELECT project_id, no, 0, FALSE, created_at, thread_no
   FROM threads CROSS JOIN LATERAL (VALUES (0), (conversation_no)) AS list(no) WHERE project_id = $1 AND thread_no >= 1000000`,
  `INSERT INTO messages (project_id, thread_no, seq, id, author_id, type, metadata, created_at, deleted, revision, content,
     content_bytes, position, written_position)
   SELECT $1, thread_no, 1000 + n, 'z' || n, 'u', 'user_message', '{}', n, n < ${MESSAGES - 1_000}, 'r', '[]', 2, 1000 + n, 1000 + n
   FROM thread_ids, generate_series(0, ${MESSAGES} - 1) n WHERE project_id = $1 AND id = 't'`,
  `INSERT INTO message_ids (project_id, thread_no, created_at, seq, id)
   SELECT project_id, thread_no, created_at, seq, id FROM messages WHERE project_id = $1 AND seq >= 1000`,
  `INSERT INTO message_positions (project_id, thread_no, position, created_at, seq)
   SELECT project_id, thread_no, position, created_at, seq FROM messages WHERE project_id = $1 AND seq >= 1000`,
  // No thread has many: the last 1,000 are stored.
  `INSERT INTO removed_messages (project_id, thread_no, position, id)
   SELECT project_id, thread_no, position, 'gone' || seq FROM messages
   WHERE project_id = $1 AND seq BETWEEN 1000 AND 1999`,
  `INSERT INTO removed_messages (project_id, thread_no, position, id)
   SELECT $1, 2000000 + n, 1, 'gone' FROM generate_series(0, ${THREADS} - 1) n`,
  `INSERT INTO message_pieces (project_id, thread_no, seq, piece_no, text)
   SELECT project_id, thread_no, seq, 1, 'text' FROM messages WHERE project_id = $1 AND seq >= 1000`,
  `INSERT INTO participants (project_id, thread_no, user_id, last_seen_at)
   SELECT project_id, thread_no, 'v' || seq, created_at FROM messages WHERE project_id = $1 AND seq >= 1000`,
  `INSERT INTO participant_times (project_id, thread_no, user_id, last_seen_at)
   SELECT project_id, thread_no, user_id, last_seen_at FROM participants WHERE project_id = $1 ON CONFLICT DO NOTHING`,
];

/** Makes the project large, without any statistics of it. */
async function fill(url: string, key: ProjectKey): Promise<void> {
  await withClient(url, async (client) => {
    const run = (sql: string, ...values: unknown[]) => client.query(sql, [key, ...values]);
    await run(
      `INSERT INTO users (project_id, id, status, metadata, created_at, updated_at, revision)
       SELECT $1, 'u' || lpad(n::text, 6, '0'), 'active', '{}', 1, 1, 'r' FROM generate_series(0, $2::int - 1) n
       ON CONFLICT DO NOTHING`,
      USERS,
    );
    await run(
      `INSERT INTO groups (project_id, id, name, status, metadata, member_count, revision)
       SELECT $1, 'g' || lpad(n::text, 6, '0'), 'G', 'active', '{}', 10, 'r' FROM generate_series(0, $2::int - 1) n
       ON CONFLICT DO NOTHING`,
      GROUPS,
    );
    await run(
      `INSERT INTO memberships (project_id, group_id, user_id)
       SELECT $1, 'g' || lpad(g::text, 6, '0'), 'u' || lpad(((g * 37 + m * 991) % $3::int)::text, 6, '0')
       FROM generate_series(0, $2::int - 1) g, generate_series(0, 9) m ON CONFLICT DO NOTHING`,
      GROUPS,
      USERS,
    );
    await run(
      `INSERT INTO memberships (project_id, group_id, user_id)
       SELECT $1, 'g', 'u' || lpad(n::text, 6, '0') FROM generate_series(0, $2::int - 1) n ON CONFLICT DO NOTHING`,
      LARGE_GROUP,
    );
    await run(`UPDATE groups SET member_count = $2::int WHERE project_id = $1 AND id = 'g'`, LARGE_GROUP);
    for (const sql of CONVERSATIONS) await run(sql);
  });
  await using store = closing(await openPostgresStore({ url }));
  await presentAll(store, key, numbered('u', DURABLE));
}

type Planning = 'for any parameters' | 'for these parameters';

/** A connection as the driver opens them. */
class DriverConnection {
  readonly #connection: PostgresConnection;

  constructor(connection: PostgresConnection) {
    this.#connection = connection;
  }

  static async open(url: string): Promise<DriverConnection> {
    return new DriverConnection(await PostgresConnection.open(parsePostgresUrl(url)));
  }

  #run(text: string) {
    return this.#connection.control(text, performance.now() + LIMIT_MS);
  }

  #plan(planning: Planning) {
    const mode = planning === 'for any parameters' ? 'force_generic_plan' : 'force_custom_plan';
    return this.#run(`SET plan_cache_mode = ${mode}; SET statement_timeout = 0`);
  }

  /** Prepares a statement, and plans it for any parameters. */
  async prepare({ text, values }: Sent, name: string): Promise<void> {
    await this.#plan('for any parameters');
    await this.#run(`PREPARE ${name} AS ${text}`);
    await this.#run(`EXPLAIN EXECUTE ${name}${parameters(values)}`);
  }

  /** The most rows of one step of the plan of what was prepared under that name. */
  async rowsOf({ values }: Sent, name: string, planning: Planning): Promise<number> {
    await this.#plan(planning);
    await this.#run('BEGIN');
    try {
      const explain = 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE';
      const [[plans]] = (await this.#run(`${explain} ${name}${parameters(values)}`)) as [[[{ Plan: Step }]]];
      return mostRows(plans[0].Plan);
    } catch (error) {
      // A plain INSERT of what the project has by now: it has read nothing but its list.
      if (error instanceof pg.DatabaseError && error.code === UNIQUE_VIOLATION) return 0;
      throw error;
    } finally {
      await this.#run('ROLLBACK');
    }
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

function parameters(values: readonly unknown[]): string {
  const literals = values.map((value) => {
    if (value === null) return 'NULL';
    return pg.escapeLiteral(Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : `${value}`);
  });
  return literals.length === 0 ? '' : `(${literals.join(', ')})`;
}

interface Step {
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly Step[];
}

function mostRows(step: Step): number {
  const removed =
    (step['Rows Removed by Filter'] ?? 0) +
    (step['Rows Removed by Join Filter'] ?? 0) +
    (step['Rows Removed by Index Recheck'] ?? 0);
  const own = (step['Actual Rows'] + removed) * step['Actual Loops'];
  return Math.max(own, ...(step.Plans ?? []).map(mostRows));
}

/** The statistics that PostgreSQL has of the tables when they are filled. */
const STATISTICS = {
  none: async () => {},
  'of a store with next to nothing': (url: string) =>
    withClient(url, async (client) => void (await client.query('VACUUM ANALYZE'))),
};

for (const [kind, collectStatistics] of Object.entries(STATISTICS)) {
  describe(`statements in a large project with statistics: ${kind}`, { skip: skipsPostgres }, () => {
    let database: Awaited<ReturnType<typeof ownDatabase>>;
    let statements: Sent[] = [];
    let old: DriverConnection;

    before(async () => {
      database = await ownDatabase();
      const { url } = database;
      const recorded = await recordAll(url);
      statements = recorded.statements;
      await withClient(url, async (client) => {
        const { rows } = await client.query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`);
        for (const { tablename } of rows)
          await client.query(`ALTER TABLE ${tablename} SET (autovacuum_enabled = FALSE)`);
      });
      await collectStatistics(url);
      old = await DriverConnection.open(url);
      for (const [index, sent] of statements.entries())
        if (isPrepared(sent)) await old.prepare(sent, `s${index}`);
      await fill(url, recorded.roster.key);
    });
    after(async () => {
      await old?.close();
      await database?.remove();
    });

    /** The statements of which a step has too many rows. */
    async function tooManyRows(
      connection: DriverConnection,
      planning: Planning,
      isOne: (sent: Sent) => boolean,
    ) {
      const found: string[] = [];
      for (const [index, sent] of statements.entries()) {
        if (!isOne(sent)) continue;
        const rows = await connection.rowsOf(sent, `s${index}`, planning);
        if (rows > MOST_ROWS) found.push(`${rows} rows in ${sent.text}`);
      }
      return found;
    }

    const isPrepared = ({ name }: Sent) => name !== undefined;

    test('statements visit the rows that their lists name, on a new connection', async () => {
      assert.ok(statements.length > 50, 'enough was recorded to mean something');
      await using fresh = closing(await DriverConnection.open(database.url));
      for (const [index, sent] of statements.entries()) await fresh.prepare(sent, `s${index}`);
      assert.deepEqual(await tooManyRows(fresh, 'for these parameters', () => true), []);
      assert.deepEqual(await tooManyRows(fresh, 'for any parameters', isPrepared), []);
    });

    test('statements visit the rows that their lists name, by plans of when the project was small', async () => {
      assert.ok(statements.filter(isPrepared).length > 40);
      assert.deepEqual(await tooManyRows(old, 'for any parameters', isPrepared), []);
    });
  });
}
