/**
 * No statement of the embedded engine costs more because the data set is large: SQLite's own plan of each of them
 * searches by an index and sorts nothing that is paged. The statements are recorded while every operation runs once,
 * so that one that is added later cannot be forgotten.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { CARRIED_KINDS } from '../../src/store/sqlite/sqlite-carry.ts';
import { SqliteConnection } from '../../src/store/sqlite/sqlite-connection.ts';
import { migrate } from '../../src/store/sqlite/sqlite-migrate.ts';
import { RollBack, type WriteOperations, writeOperations } from '../../src/store/sqlite/sqlite-operations.ts';
import { openSqliteStore, STORE_FILE } from '../../src/store/sqlite/sqlite-store.ts';
import type { CarriedRecord, Store } from '../../src/store/store.ts';
import { joined } from '../contract/store/entries.ts';
import { newRoster, numbered, type Roster } from '../contract/store/roster.ts';

/** Statements that answer, or look for one row of, a whole small table; each with the reason why that is right. */
const WHOLE_TABLES: ReadonlyMap<string, string> = new Map([
  ['FROM customers ORDER BY id', 'listCustomers answers every customer'],
  ['FROM projects p ORDER BY p.id', 'listProjects(null) answers every project'],
  ['SELECT project_no FROM deleted_projects LIMIT 1', 'takes any row, so the first it meets'],
  ...CARRIED_KINDS.map(({ sql }) => [sql, 'carryOut hands over the whole store'] as const),
]);

/** All that the readings of durable presence, and the writes that look before they write, may do to find it. */
const DURABLE_SEARCHES = [
  'SEARCH d USING INDEX durable_presence_by_time (group_no=? AND user_id=?)',
  'SEARCH d USING INDEX durable_presence_by_time (group_no=? AND user_id>?)',
  'SEARCH d USING INTEGER PRIMARY KEY (rowid=?)',
  'SEARCH durable_places USING PRIMARY KEY (group_no=? AND place_key=? AND (user_id,presence_no)>(?,?))',
  'SEARCH durable_presence USING INDEX durable_presence_by_region (group_no=? AND user_id=? AND region_key=?)',
  'SEARCH durable_presence USING INDEX durable_presence_by_time (group_no=? AND user_id=?)',
  'SEARCH p USING PRIMARY KEY (group_no=? AND place_key=? AND (user_id,presence_no)>(?,?))',
];

/** Scans of what is not a table of the store: a list in the request, the rows of a subquery, a single row. */
const HARMLESS_SCAN =
  /^SCAN (json_each|wanted|pair|CONSTANT ROW|\(?(subquery|join)-\d+\)?|\d+ CONSTANT ROWS?)\b/i;

const recorded = new Set<string>();
const prepare = DatabaseSync.prototype.prepare;
let dataDir = '';

before(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'rollcall-plans-'));
  DatabaseSync.prototype.prepare = function record(sql, ...rest) {
    recorded.add(sql);
    return prepare.call(this, sql, ...rest);
  };
  try {
    const store = await openSqliteStore({ dataDir });
    try {
      await readEverything(store);
    } finally {
      await store.close();
    }
    writeEverything();
  } finally {
    DatabaseSync.prototype.prepare = prepare;
  }
});

after(() => rmSync(dataDir, { recursive: true }));

/** Every read of the port, on the main thread, where it is recorded. */
async function readEverything(store: Store): Promise<void> {
  const roster = await newRoster(store);
  const ids = numbered('u', 10_001);
  await roster.users(...ids.slice(0, 5_001));
  await roster.users(...ids.slice(5_001));
  await roster.putGroup('g', { name: 'G', members: ids });
  const { key } = roster;
  const page = { after: null, limit: 10 };
  const filters = [null, { location: '{"a":"b"}', partial: false }, { location: '{"a":"b"}', partial: true }];
  const reads: Partial<Record<keyof Store, () => Promise<unknown>>> = {
    ping: () => store.ping(),
    findCustomer: () => store.findCustomer('c'),
    listCustomers: () => store.listCustomers(),
    findProject: () => store.findProject('p'),
    listProjects: async () => [await store.listProjects(null), await store.listProjects('c')],
    serviceKey: () => store.serviceKey(),
    findSession: () => store.findSession('s'),
    findGroup: async () => joined((await roster.group('g')).members),
    groupExists: () => store.groupExists(key, 'g'),
    listGroups: () => store.listGroups(key, page),
    listAllGroups: () => Array.fromAsync(store.listAllGroups(key, page)),
    listMembers: () => store.listMembers(key, 'g', page),
    findUser: () => store.findUser(key, 'u'),
    listUsers: () => store.listUsers(key, page),
    listUserGroups: () => store.listUserGroups(key, 'u000001', page),
    findPreferences: () => store.findPreferences(key, 'u'),
    standing: () => store.standing(key, 'g', 'u'),
    standings: () => store.standings(key, [{ groupId: 'g', userId: 'u' }]),
    presentable: () => store.presentable(key, 'g', ['u']),
    listDurablePresence: () =>
      Promise.all(filters.map((filter) => store.listDurablePresence(key, 'g', filter, page))),
    findDurablePresence: () => store.findDurablePresence(key, 'g', 'u'),
    carryOut: () => Array.fromAsync(store.carryOut()),
  };
  for (const read of Object.values(reads)) await read();
  const written = new Set(Object.keys(writesOf(roster)));
  const others = Object.keys(store).filter(
    (name) => !['close', 'isInProcess'].includes(name) && !(name in reads) && !written.has(name),
  );
  assert.deepEqual(others, [], 'every method of the port runs here');
}

/** A record of each kind that is carried. */
const CARRIED: readonly CarriedRecord[] = [
  { type: 'serviceKey', key: 'a2V5' },
  { type: 'customer', id: 'c', secret: 's', name: 'C', createdAt: 1 },
  {
    ...{ type: 'project', id: 'p', customerId: 'c', name: 'P', createdAt: 1 },
    ...{ secret: 's', previousSecret: null, previousValidUntil: null },
  },
  { type: 'session', id: 's', projectId: 'p', expiresAt: 1, revoked: false },
  { type: 'preferences', projectId: 'p', userId: 'a', sendViaMessenger: false, sendViaEmail: true },
  { type: 'workspace', projectId: 'p', groupId: 'g', workspace: 'W' },
  { type: 'durablePresence', projectId: 'p', groupId: 'g', userId: 'a', region: '{}', location: '{}', at: 1 },
];

type Runs = { readonly [Name in keyof WriteOperations]: () => Parameters<WriteOperations[Name]>[] };

/** Every write, here without its thread, in an order in which each finds what it needs. */
function writesOf({ key }: Pick<Roster, 'key'>): Runs {
  const context = { now: 1, revision: 'r' };
  const body = Buffer.from(
    '{"users":[{"id":"a"},{"id":"b"}],"groups":[{"id":"g","name":"G","members":["a","b"]}]}',
  );
  const place = { userId: 'a', groupId: 'g', region: '{}', location: '{}' };
  return {
    createCustomer: () => [[{ id: 'c', secret: 's', name: 'C', createdAt: 1 }]],
    createProject: () => [[{ id: 'p', customerId: 'c', name: 'P', secret: 's', createdAt: 1 }]],
    renameProject: () => [[key, 'N']],
    rotateSecret: () => [[key, 's', 1]],
    serviceKey: () => [[]],
    createSession: () => [[{ id: 's', project: key, expiresAt: 1 }]],
    revokeSession: () => [['s']],
    removeExpiredSessions: () => [[2]],
    applyBatch: () => [[key, { body, dryRun: false }, context]],
    putGroup: () => [
      [key, 'g', { name: 'N', members: ['a'] }, context],
      [key, 'h', { name: 'H', members: ['a'] }, context],
    ],
    connectGroup: () => [[key, 'g', 'W', context]],
    changeMembers: () => [
      [key, 'g', { add: ['b'], remove: ['a'] }, context],
      [key, 'g', { add: ['a'], remove: [] }, context],
    ],
    putUser: () => [[key, 'a', { name: 'N' }, context]],
    putPreferences: () => [[key, 'a', { sendViaEmail: false }]],
    putDurablePresence: () => [[key, place, context]],
    carryIn: () => [[CARRIED, context]],
    deleteUser: () => [[key, 'a', context]],
    deleteGroup: () => [[key, 'g', context]],
    deleteProject: () => [[key]],
    purge: () => Array.from({ length: 20 }, () => []),
  };
}

function writeEverything(): void {
  const connection = new SqliteConnection(join(dataDir, STORE_FILE), { readOnly: false });
  try {
    migrate(connection.database);
    const operations = writeOperations(connection);
    const key = connection.database.prepare('SELECT max(project_no) AS key FROM projects').get()
      ?.key as number;
    const runs = writesOf({ key });
    assert.deepEqual(Object.keys(operations).sort(), Object.keys(runs).sort(), 'every write runs here');
    connection.database.exec('BEGIN');
    for (const [name, parameters] of Object.entries(runs)) {
      const operation = operations[name as keyof WriteOperations] as (...parameters: unknown[]) => unknown;
      for (const each of parameters()) runKept(() => operation(...each));
    }
    connection.database.exec('COMMIT');
  } finally {
    connection.close();
  }
}

function runKept(run: () => unknown): void {
  try {
    run();
  } catch (error) {
    assert.fail(error instanceof RollBack ? `refused: ${JSON.stringify(error.answer)}` : String(error));
  }
}

/** SQLite's plan of a statement, a line for each step of it. */
function planOf(database: DatabaseSync, sql: string): string[] {
  return database
    .prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all()
    .map(({ detail }) => String(detail));
}

describe('query plans', () => {
  const planned = () => [...recorded].filter((sql) => /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/i.test(sql));
  const withDatabase = (check: (database: DatabaseSync) => void) => {
    const database = new DatabaseSync(join(dataDir, STORE_FILE), { readOnly: true });
    try {
      check(database);
    } finally {
      database.close();
    }
  };

  test('the statements of every operation were recorded', () => {
    const text = planned().join('\n');
    for (const table of [
      'customers',
      'projects',
      'sessions',
      'users',
      'groups',
      'memberships',
      'user_groups',
      'durable_presence',
      'durable_places',
    ]) {
      for (const verb of ['FROM', 'INTO'])
        assert.match(text, new RegExp(`${verb} ${table}\\b`), `${verb} ${table}`);
    }
    assert.match(text, /DELETE FROM durable_presence/);
    assert.match(text, /DELETE FROM durable_places/);
  });

  test('no statement scans a table', () =>
    withDatabase((database) => {
      const scans = planned().flatMap((sql) => {
        if ([...WHOLE_TABLES.keys()].some((part) => sql.includes(part))) return [];
        const found = planOf(database, sql).filter(
          (line) => line.startsWith('SCAN') && !HARMLESS_SCAN.test(line),
        );
        return found.map((line) => `${line} in ${sql}`);
      });
      assert.deepEqual(scans, []);
    }));

  test('durable presence is searched by the whole key that leads to it, and never sorted', () =>
    withDatabase((database) => {
      const reads = planned().filter(
        (sql) => /^\s*SELECT[^(]* FROM durable_p/.test(sql) && !WHOLE_TABLES.has(sql),
      );
      const lines = new Set(reads.flatMap((sql) => planOf(database, sql)));
      lines.delete('SEARCH u USING INTEGER PRIMARY KEY (rowid=?)');
      assert.deepEqual([...lines].sort(), DURABLE_SEARCHES);
    }));

  test('no page is cut out of rows that had to be sorted first', () =>
    withDatabase((database) => {
      const sorted = planned().filter((sql) => {
        const isPage = /ORDER BY[^)]*LIMIT \?|ORDER BY[^)]*LIMIT \d/i.test(sql);
        return isPage && planOf(database, sql).some((line) => line === 'USE TEMP B-TREE FOR ORDER BY');
      });
      assert.deepEqual(sorted, []);
    }));
});
