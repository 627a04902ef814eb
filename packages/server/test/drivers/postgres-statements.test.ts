/**
 * The statements of the driver: one round trip for a read, at most three for a write, as many statements for a large
 * write as for a small one; and no statement scans a table. Statements are recorded while every operation of the port
 * runs.
 */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { applyBatch } from '../../src/store/postgres/batch/postgres-batch.ts';
import { PLANNER_SETTINGS } from '../../src/store/postgres/connections/postgres-connect.ts';
import { PostgresDatabase } from '../../src/store/postgres/connections/postgres-database.ts';
import { parsePostgresUrl } from '../../src/store/postgres/connections/postgres-url.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../src/store/store.ts';
import { newRoster, numbered, type Roster } from '../contract/store/roster.ts';
import { BY_TEST } from '../support/origin.ts';
import { ownDatabase, skipsPostgres, withClient } from '../support/postgres.ts';
import { purgeAll } from './purge-all.ts';
import { Recorder, type Sent } from './statement-recorder.ts';
import {
  converse,
  DURABLE_UPDATE,
  MORE_READS,
  methodsOf,
  READS,
  SINGLE,
  WRITES,
} from './store-operations.ts';

/** PostgreSQL plans a statement this often before it compares that cost with the cost of a stored plan. */
const PLANS_MAX = 5;

/** Frequent operations with lists, which are short. */
const FREQUENT: typeof SINGLE = {
  eligibility: ({ store, key }) => store.eligibility.findMany(key, [{ groupId: 'g', userId: 'u000001' }]),
  eligible: ({ store, key }) => store.eligibility.filter(key, 'g', ['u000001']),
  members: (roster) => roster.changeMembers('g', { add: ['u009999'], remove: ['u000002'] }),
};

/** Pages of 8 KiB that a statement about one user, one group or a page of ten may touch; the tables have thousands. */
const MOST_PAGES = 250;
/** Locations of one user in a group, beside those of others: far more than what a read answers. */
const MANY_LOCATIONS = 1_500;

/** Every member of `g` has a location in it, one of them very many. */
async function presentAll({ store, key }: Roster): Promise<void> {
  const put = (userId: string, pairs: object, now: number) => {
    const location = JSON.stringify(pairs);
    return store.durablePresence.put(
      key,
      { userId, groupId: 'g', region: location, location },
      { now, revision: 'r', ...BY_TEST },
    );
  };
  const puts = [
    ...numbered('u', 1_000).map((id) => () => put(id, { p: id, s: '2' }, 1)),
    ...Array.from(
      { length: MANY_LOCATIONS },
      (_, x) => () => put('u000001', { p: '1', s: '2', x: `${x}` }, x),
    ),
  ];
  // Writes of one user wait for each other. On a busy machine, many of them would wait for too long.
  while (puts.length > 0) await Promise.all(puts.splice(0, 10).map((put) => put()));
}

/** More text than a user may have, after an update of a user whose locations are not counted, as after an import. */
async function exceedBounds(roster: Roster, url: string): Promise<void> {
  const stamp = { now: 1, revision: 'r', ...BY_TEST };
  await withClient(url, (client) => client.query('DELETE FROM durable_usage'));
  const long = JSON.stringify({ p: 'x'.repeat(1_024 ** 2) });
  for (const location of [DURABLE_UPDATE.location, long])
    await roster.store.durablePresence.put(
      roster.key,
      { ...DURABLE_UPDATE, region: location, location },
      stamp,
    );
}

/** Methods that are none of these: streams, the end, and what starts work of its own. */
const OTHERS = [
  'transfer.export',
  'transfer.import',
  'transfer.beginEpoch',
  'groups.listAll',
  'close',
  'projects.delete',
];

/** Statements that answer, or take any row of, a whole small table; each with the reason why that is right. */
const WHOLE_TABLES: ReadonlyMap<string, string> = new Map([
  ['FROM customers ORDER BY id', 'customers.list answers every customer'],
  ['FROM projects p ORDER BY p.id', 'projects.list(null) answers every project'],
  ['FROM deleted_projects', 'there are few, for a while each'],
  ['FROM schema_migrations', 'one row for each migration'],
]);

describe('the statements that are sent to PostgreSQL', { skip: skipsPostgres }, () => {
  const recorder = new Recorder();
  let database: Awaited<ReturnType<typeof ownDatabase>>;
  let store: Store;
  let batches: PostgresDatabase;
  let roster: Roster;

  before(async () => {
    database = await ownDatabase();
    batches = new PostgresDatabase(parsePostgresUrl(database.url));
    // Large ones as well are applied on this thread, where they are recorded.
    store = {
      ...(await openPostgresStore({ url: database.url })),
      batches: {
        apply: (project, batch, context) => applyBatch(batches, project, batch, context),
      },
    };
    roster = await newRoster(store);
    await roster.applied(manyGroups());
    await converse(roster);
    // Whatever a first use costs (a connection, the key) is over.
    await store.sessions.serviceKey();
    recorder.start();
  });
  after(async () => {
    recorder.stop();
    await batches?.close();
    await store?.close();
    await database?.remove();
  });

  test('the recorded statements cover every method of the port', () => {
    assert.deepEqual(
      [...new Set(Object.keys({ ...READS, ...WRITES }).map((name) => name.split(' ')[0]))]
        .concat(OTHERS)
        .sort(),
      methodsOf(store).sort(),
    );
  });

  for (const [name, run] of Object.entries(READS)) {
    test(`${name} sends one statement`, async () => {
      assert.deepEqual(await recorder.during(() => run(roster, 1)), { statements: 1, roundTrips: 1 });
    });
  }

  for (const [name, run] of Object.entries(SINGLE)) {
    test(`${name} sends one statement`, async () => {
      await run(roster, 1);
      assert.deepEqual(await recorder.during(() => run(roster, 2)), { statements: 1, roundTrips: 1 });
    });
  }

  for (const [name, run] of Object.entries(WRITES)) {
    test(`${name} takes at most three round trips, however large it is`, async () => {
      const small = await recorder.during(() => run(roster, 1));
      const large = await recorder.during(() => run(roster, 1_500));
      assert.ok(small.roundTrips <= 3 && large.roundTrips <= 3, JSON.stringify({ small, large }));
      // A larger one may remove a member, or write what was there: a few statements more, not one for each item.
      assert.ok(large.statements <= small.statements + 4, JSON.stringify({ small, large }));
    });
  }

  test('no read and no frequent write touches more pages than the limit of the test', async () => {
    await presentAll(roster);
    const before = recorder.sent.length;
    for (const run of [...Object.values({ ...READS, ...SINGLE }), ...MORE_READS]) await run(roster, 3);
    const costly = await withClient(database.url, async (client) => {
      await client.query('VACUUM ANALYZE');
      const found: string[] = [];
      for (const sent of recorder.sent.slice(before)) {
        if ([...WHOLE_TABLES.keys()].some((part) => sent.text.includes(part))) continue;
        const pages = await pagesTouched(client, sent);
        if (pages > MOST_PAGES) found.push(`${pages} pages by ${sent.text}`);
      }
      return found;
    });
    assert.deepEqual(costly, []);
  });

  test('a frequent statement is planned a few times, and then has a stored plan', async () => {
    const before = recorder.sent.length;
    for (const run of Object.values({ ...FREQUENT, ...SINGLE })) await run(roster, 1);
    const sent = recorder.sent.slice(before).filter(({ name }) => name !== undefined);
    // After this change, the statements can be sent again.
    await roster.changeMembers('g', { add: ['u000002'], remove: ['u009999'] });
    const planned = await withClient(database.url, async (client) => {
      for (const setting of PLANNER_SETTINGS) await client.query(`SET ${setting} = off`);
      const found: string[] = [];
      for (const each of new Map(sent.map((one) => [one.text, one])).values())
        if ((await plansOf(client, each)) > PLANS_MAX) found.push(each.text);
      return found;
    });
    assert.deepEqual(planned, []);
    assert.ok(sent.length > 10, 'enough was recorded to mean something');
  });

  test('no statement to PostgreSQL scans a table', async () => {
    for (const run of MORE_READS) await run(roster, 1);
    await exceedBounds(roster, database.url);
    await store.projects.delete((await newRoster(store)).key);
    await purgeAll(batches);
    const texts = new Map(recorder.sent.map((sent) => [sent.text, sent]));
    const scans = await withClient(database.url, async (client) => {
      await client.query('ANALYZE');
      await client.query('SET enable_seqscan = off');
      const found: string[] = [];
      for (const sent of texts.values()) found.push(...(await scansOf(client, sent)));
      return found;
    });
    assert.deepEqual(scans, []);
    assert.ok(texts.size > 50, 'enough was recorded to mean something');
  });
});

/** A group `g` of 2,000, and many more of everything around it; every user is in some thirty groups. */
function manyGroups() {
  const users = numbered('u', 10_000);
  const others = numbered('other', 999).map((id, group) => ({
    id,
    name: id,
    members: Array.from({ length: 300 }, (_, index) => users[(group * 7 + index * 31) % users.length]),
  }));
  return {
    users: users.map((id) => ({ id, name: id })),
    groups: [{ id: 'g', name: 'G', members: users.slice(0, 2_000) }, ...others],
  };
}

/** How many pages of tables and indexes a statement touches; it is run, and rolled back. */
async function pagesTouched(client: pg.Client, { text, values }: Sent): Promise<number> {
  await client.query('BEGIN');
  try {
    const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, [...values]);
    const { Plan } = rows[0]['QUERY PLAN'][0];
    return Plan['Shared Hit Blocks'] + Plan['Shared Read Blocks'];
  } finally {
    await client.query('ROLLBACK');
  }
}

/** How often PostgreSQL plans a statement that is run ten times; each run is rolled back. */
async function plansOf(client: pg.Client, { text, values }: Sent): Promise<number> {
  const name = `planned_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
  for (let run = 0; run < 10; run += 1) {
    await client.query('BEGIN');
    await client.query({ name, text, values: [...values] });
    await client.query('ROLLBACK');
  }
  const { rows } = await client.query('SELECT custom_plans FROM pg_prepared_statements WHERE name = $1', [
    name,
  ]);
  return Number(rows[0].custom_plans);
}

/** The scans of tables in PostgreSQL's own plans of a statement: for its parameters, and for any. */
async function scansOf(client: pg.Client, { text, values }: Sent): Promise<string[]> {
  if ([...WHOLE_TABLES.keys()].some((part) => text.includes(part))) return [];
  await client.query(`PREPARE examined AS ${text}`);
  const literals = values.map((value) =>
    value === null
      ? 'NULL'
      : pg.escapeLiteral(Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : `${value}`),
  );
  const parameters = literals.length === 0 ? '' : `(${literals.join(', ')})`;
  const found: string[] = [];
  for (const mode of ['force_custom_plan', 'force_generic_plan']) {
    await client.query(`SET plan_cache_mode = ${mode}`);
    const { rows } = await client.query(`EXPLAIN EXECUTE examined${parameters}`);
    const plan = rows.map((row) => String(row['QUERY PLAN']));
    found.push(...plan.filter((line) => line.includes('Seq Scan')).map((line) => `${line} in ${text}`));
  }
  await client.query('DEALLOCATE examined');
  return found;
}
