/**
 * No statement of the embedded engine costs more because the data set is large: SQLite's own plan of each of them
 * searches by an index and sorts nothing that is paged. The statements are recorded while every operation runs once, so
 * a new statement is checked too.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { before, describe, test } from 'node:test';
import { DURABLE_BOUNDS } from '../../src/store/durable-bounds.ts';
import { SqliteConnection } from '../../src/store/sqlite/sqlite-connection.ts';
import { sqliteWrites } from '../../src/store/sqlite/sqlite-ports.ts';
import { STORE_FILE } from '../../src/store/sqlite/sqlite-store.ts';
import { TRANSFER_ROWS } from '../../src/store/sqlite/transfer/sqlite-transfer.ts';
import type { Store } from '../../src/store/store.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';
import { joined } from '../contract/store/entries.ts';
import { newRoster, numbered, Roster } from '../contract/store/roster.ts';
import { directoryOfFile } from '../support/temporary-directory.ts';
import { withStore } from './sqlite-directory.ts';
import { converse, MORE_READS, methodsOf, type Operation, READS, WRITES } from './store-operations.ts';

/** Statements that read a whole small table, or any row of it; each with the reason why that is right. */
const WHOLE_TABLES: ReadonlyMap<string, string> = new Map([
  ['FROM customers ORDER BY id', 'customers.list answers every customer'],
  ['FROM projects p ORDER BY p.id', 'projects.list(null) answers every project'],
  ['FROM heads h CROSS JOIN webhooks w', 'webhookLeases.work reads 20 projects with active webhooks'],
  ['FROM projects p LIMIT 1000)', 'changes.extent reads 1,000 projects at most, once in five seconds'],
  ['SELECT count(*) FROM projects', 'changes.extent counts the projects where there are more'],
  [`SELECT count(*) FROM webhooks WHERE status = 'failing'`, 'counts in an index of what it counts'],
  ['SELECT project_no FROM deleted_projects LIMIT 1', 'takes any row, so the first it meets'],
  ['FROM customers UNION ALL', 'an import reads whether there is any row'],
  ["UPDATE webhooks SET status = CASE status WHEN 'active'", 'a new epoch is of every webhook'],
  ['UPDATE threads SET epoch', 'a new epoch is of every thread'],
  ...Object.values(TRANSFER_ROWS).map((sql) => [sql, 'transfer.export reads the whole store'] as const),
]);

/** All searches that reads of durable presence, and the reads of its writes, may do. */
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
const dataDir = directoryOfFile('plans');

before(async () => {
  DatabaseSync.prototype.prepare = function record(sql, ...rest) {
    recorded.add(sql);
    return prepare.call(this, sql, ...rest);
  };
  try {
    await writeEverything(await withStore(dataDir, readEverything));
  } finally {
    DatabaseSync.prototype.prepare = prepare;
  }
});

/** The reads that are prepared when they run, on a connection of their own. */
const ON_SNAPSHOTS: Readonly<Record<string, Operation>> = {
  'groups.find': async (roster) => joined((await roster.group('g')).members),
  'groups.listAll': ({ store, key }) => Array.fromAsync(store.groups.listAll(key, { after: null, limit: 1 })),
  'transfer.export': ({ store }) => Array.fromAsync(store.transfer.export()),
  'transfer.import': ({ store }) => importInto(join(dataDir, 'copy'), store),
  'transfer.beginEpoch': ({ store }) => store.transfer.beginEpoch(),
};

/** Every read of the port, on the main thread, where it is recorded. Returns the key of the project. */
async function readEverything(store: Store): Promise<ProjectKey> {
  const roster = await newRoster(store);
  const ids = numbered('u', 10_001);
  await roster.users(...ids.slice(0, 5_001));
  await roster.users(...ids.slice(5_001));
  await roster.putGroup('g', { name: 'G', members: ids });
  await roster.putGroup('after g', { name: 'H' });
  for (const read of Object.values(ON_SNAPSHOTS)) await read(roster, 1);
  await converse(roster);
  for (const read of [...Object.values(READS), ...MORE_READS]) await read(roster, 1);
  const run = new Set(['close', 'projects.delete', ...[READS, ON_SNAPSHOTS, WRITES].flatMap(Object.keys)]);
  assert.deepEqual(
    methodsOf(store).filter((name) => !run.has(name)),
    [],
    'every method of a port runs here',
  );
  return roster.key;
}

const importInto = (directory: string, from: Store): Promise<void> =>
  withStore(directory, (store) => store.transfer.import(from.transfer.export()));

/** Every write of the port, here without its thread, and the removal of the project. */
async function writeEverything(key: ProjectKey): Promise<void> {
  using connection = new SqliteConnection(join(dataDir, STORE_FILE), { readOnly: false });
  const writes = sqliteWrites(connection, DURABLE_BOUNDS);
  const roster = new Roster(writes as unknown as Store, key);
  connection.database.exec('BEGIN');
  // The embedded engine orders changes by their writing.
  const { 'changes.order': _, ...own } = WRITES;
  for (const write of Object.values(own)) await write(roster, 1);
  writes.projects.delete(key);
  while (writes.purge.run());
  connection.database.exec('COMMIT');
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
    using database = new DatabaseSync(join(dataDir, STORE_FILE), { readOnly: true });
    check(database);
  };

  test('the statements of every operation of the embedded store were recorded', () => {
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
      'conversations',
      'threads',
      'thread_lists',
      'participants',
      'messages',
      'message_pieces',
      'removed_messages',
    ]) {
      for (const verb of ['FROM', 'INTO'])
        assert.match(text, new RegExp(`${verb} ${table}\\b`), `${verb} ${table}`);
    }
    assert.match(text, /DELETE FROM durable_presence/);
    assert.match(text, /DELETE FROM durable_places/);
  });

  test('no statement of the embedded store scans a table', () =>
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

  test('threads and messages are found by the keys that lead to them, and never sorted', () =>
    withDatabase((database) => {
      const lines = planned()
        .filter((sql) =>
          /\b(conversations|threads|thread_lists|participants|messages|message_pieces)\b/.test(sql),
        )
        .flatMap((sql) => planOf(database, sql).map((line) => `${line} in ${sql}`));
      assert.deepEqual(
        lines.filter((line) => line.startsWith('USE TEMP B-TREE')),
        [],
      );
      const unread = lines.filter((line) => line.startsWith('SEARCH') && line.includes('is_deleted = 0'));
      assert.equal(unread.length, 2, 'those of a viewer, and those of many users');
      for (const line of unread)
        assert.match(line, /COVERING INDEX messages_unread \(thread_no=\? AND created_at>\?\)/);
    }));

  test('a message is found without the row of its thread', () =>
    withDatabase((database) => {
      const ofMessage = planned().filter((sql) => sql.includes('SELECT t.thread_no, g.id FROM'));
      assert.deepEqual(
        ofMessage.map((sql) => planOf(database, sql)[0]),
        ['SEARCH t USING COVERING INDEX threads_by_id (project_no=? AND id=?)'],
      );
    }));

  test('durable presence is searched by the whole prefix of its key, and never sorted', () =>
    withDatabase((database) => {
      const reads = planned().filter(
        (sql) => /^\s*SELECT[^(]* FROM durable_p/.test(sql) && !WHOLE_TABLES.has(sql),
      );
      const lines = new Set(reads.flatMap((sql) => planOf(database, sql)));
      lines.delete('SEARCH u USING INTEGER PRIMARY KEY (rowid=?)');
      assert.deepEqual([...lines].sort(), DURABLE_SEARCHES);
    }));

  test('no page of a list is cut out of rows that had to be sorted first', () =>
    withDatabase((database) => {
      const sorted = planned().filter((sql) => {
        const isPage = /ORDER BY[^)]*LIMIT \?|ORDER BY[^)]*LIMIT \d/i.test(sql);
        return isPage && planOf(database, sql).some((line) => line === 'USE TEMP B-TREE FOR ORDER BY');
      });
      assert.deepEqual(sorted, []);
    }));
});
