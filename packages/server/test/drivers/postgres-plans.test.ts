/**
 * The work of a statement depends on its lists, never on what PostgreSQL believes of its tables: where these were never
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
import { purgeSlice } from '../../src/store/postgres/postgres-purge.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { CarriedRecord, ProjectKey, Store } from '../../src/store/store.ts';
import { newRoster, numbered, type Roster } from '../contract/store/roster.ts';
import { ownDatabase, skipsPostgres, withClient } from '../support/postgres.ts';
import { Recorder, type Sent } from './statement-recorder.ts';
import { MORE_READS, type Operation, READS, SINGLE, WRITES } from './store-operations.ts';

/** Entries of the lists in the statements. */
const LISTED = 300;
/** What the project has in the end: groups of ten, and one group `g` of many. */
const USERS = 40_000;
const GROUPS = 20_000;
const LARGE_GROUP = 30_000;
const DURABLE = 10_000;
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
  ({ store, key }) => store.presentable(key, 'g', users),
  ({ store, key }) =>
    store.standings(
      key,
      users.map((userId) => ({ groupId: 'g', userId })),
    ),
  (roster) => roster.batch({ groups: groups.map((id) => ({ id, name: id, members: users.slice(0, 20) })) }),
  (roster) => roster.batch({ groups: groups.map((id) => ({ id, members: [] })) }),
  // It is asked which groups exist before this is rejected.
  (roster) => roster.batch({ groups: groups.map((id) => ({ id, metadata: 1 })) }),
  ({ store, key }) => carryInto(store, key, durable(users)),
];

function durable(userIds: readonly string[]): CarriedRecord[] {
  return userIds.map((userId, index) => {
    const location = JSON.stringify({ p: `${index % 50}` });
    return {
      type: 'durablePresence',
      projectId: '',
      groupId: 'g',
      userId,
      region: location,
      location,
      at: 1,
    };
  });
}

/** Transfers records into the project, whichever they name. */
async function carryInto(store: Store, key: ProjectKey, records: readonly CarriedRecord[]): Promise<void> {
  const projectId = (await store.listProjects(null)).find((project) => project.key === key)?.id as string;
  const preferences = {
    type: 'preferences',
    projectId,
    sendViaMessenger: true,
    sendViaEmail: false,
  } as const;
  await store.carryIn(
    [
      ...users.map((userId) => ({ ...preferences, userId })),
      ...groups.map((groupId) => ({ type: 'workspace' as const, projectId, groupId, workspace: 'W' })),
      ...records.map((record) => ({ ...record, projectId }) as CarriedRecord),
    ],
    { now: 1, revision: 'r' },
  );
}

/** Statements about whole tables that are small, or that answer all of what they read. */
const EXEMPT = [
  'FROM customers ORDER BY id',
  'FROM projects p ORDER BY p.id',
  'FROM deleted_projects',
  'schema_migrations',
];

const isOfTables = ({ text }: Sent): boolean =>
  /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/.test(text) && !EXEMPT.some((part) => text.includes(part));

/** Every statement of the driver, once, recorded in a store with next to nothing in it. */
async function recordAll(url: string): Promise<{ roster: Roster; statements: Sent[] }> {
  const recorder = new Recorder();
  const batches = new PostgresDatabase(parsePostgresUrl(url));
  const store: Store = {
    ...(await openPostgresStore({ url })),
    // On this thread, where it is recorded.
    applyBatch: (project, batch, stamp) => applyBatch(batches, project, batch, stamp, 'large'),
  };
  try {
    const [roster, deleted] = [await newRoster(store), await newRoster(store)];
    await roster.groupOf('g', ...users);
    recorder.start();
    const all = [...Object.values({ ...READS, ...SINGLE, ...WRITES }), ...MORE_READS, ...WITH_LISTS];
    for (const size of [1, LISTED]) for (const run of all) await run(roster, size);
    await store.deleteProject(deleted.key);
    while (await purgeSlice(batches));
    const byText = new Map(recorder.sent.filter(isOfTables).map((sent) => [sent.text, sent]));
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
  });
  const store = await openPostgresStore({ url });
  const members = numbered('u', DURABLE);
  for (let from = 0; from < members.length; from += 1_000)
    await carryInto(store, key, durable(members.slice(from, from + 1_000)));
  await store.close();
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

/** What PostgreSQL knows of the tables when they are filled. */
const STATISTICS = {
  none: async () => {},
  'of a store with next to nothing': (url: string) =>
    withClient(url, async (client) => void (await client.query('VACUUM ANALYZE'))),
};

for (const [kind, gatherStatistics] of Object.entries(STATISTICS)) {
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
      await gatherStatistics(url);
      old = await DriverConnection.open(url);
      for (const [index, sent] of statements.entries())
        if (isKept(sent)) await old.prepare(sent, `s${index}`);
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

    const isKept = ({ name }: Sent) => name !== undefined;

    test('visit the rows that their lists name, on a new connection', async () => {
      assert.ok(statements.length > 50, 'enough was recorded to mean something');
      const fresh = await DriverConnection.open(database.url);
      for (const [index, sent] of statements.entries()) await fresh.prepare(sent, `s${index}`);
      assert.deepEqual(await tooManyRows(fresh, 'for these parameters', () => true), []);
      assert.deepEqual(await tooManyRows(fresh, 'for any parameters', isKept), []);
      await fresh.close();
    });

    test('visit the rows that their lists name, by plans of when the project was small', async () => {
      assert.ok(statements.filter(isKept).length > 40);
      assert.deepEqual(await tooManyRows(old, 'for any parameters', isKept), []);
    });
  });
}
