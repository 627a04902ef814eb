/** Every table whose rows end with a group or a project is among those that deletions and the purge empty. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as postgres from '../../src/store/postgres/postgres-owned-tables.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import * as sqlite from '../../src/store/sqlite/sqlite-owned-tables.ts';
import { TRANSFER_ROWS } from '../../src/store/sqlite/transfer/sqlite-transfer.ts';
import { skipsPostgres, withClient, withDatabase } from '../support/postgres.ts';
import { withDirectory, withFile, withStore } from './sqlite-directory.ts';

const namesOf = (tables: readonly (readonly [table: string, key: string])[], ...others: readonly string[]) =>
  [...tables.map(([table]) => table), ...others].sort();

const WITH_COLUMN = `
  SELECT m.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c
  WHERE m.type = 'table' AND c.name = ? ORDER BY m.name`;

test('a deletion on SQLite empties every table with rows of a group, and the purge every table with rows of a project', () =>
  withDirectory(async (directory) => {
    await withStore(directory, async () => {});
    const withColumn = (column: string) =>
      withFile(directory, (database) =>
        database
          .prepare(WITH_COLUMN)
          .all(column)
          .map(({ name }) => String(name)),
      );
    // Emptied by statements of their own, or with the threads of a conversation.
    const ofGroup = namesOf(sqlite.TABLES_OF_GROUP, 'conversations', 'groups', 'memberships', 'user_groups');
    assert.deepEqual(withColumn('group_no'), ofGroup);
    const own = ['deleted_projects', 'groups', 'projects', 'sessions', 'thread_lists', 'threads', 'users'];
    assert.deepEqual(withColumn('project_no'), namesOf(sqlite.TABLES_OF_PROJECT, ...own));
  }));

/** Tables that no transfer reads: their rows follow from others, or are about what stays behind. */
const NOT_TRANSFERRED: readonly string[] = [
  ...['durable_places', 'durable_usage', 'sqlite_sequence', 'thread_lists', 'user_groups'],
  ...['changes', 'deleted_projects', 'removed_messages', 'webhook_attempts', 'webhook_deliveries'],
];

test('a transfer on SQLite reads every table whose rows are part of a backup', () =>
  withDirectory(async (directory) => {
    await withStore(directory, async () => {});
    const tables = withFile(directory, (database) =>
      database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all(),
    );
    const read = Object.values(TRANSFER_ROWS).join();
    const unread = tables
      .map(({ name }) => String(name))
      .filter((name) => !new RegExp(`\\b${name}\\b`).test(read));
    assert.deepEqual(unread.sort(), NOT_TRANSFERRED.toSorted());
  }));

const WITH_COLUMN_ON_POSTGRES = `
  SELECT table_name FROM information_schema.columns
  WHERE table_schema = 'public' AND column_name = $1 ORDER BY table_name COLLATE "C"`;

test(
  'a deletion on PostgreSQL empties every table with rows of a group, and the purge every table with rows of a project',
  {
    skip: skipsPostgres,
  },
  () =>
    withDatabase(async (url) => {
      await (await openPostgresStore({ url })).close();
      const withColumn = (column: string) =>
        withClient(url, async (client) => {
          const { rows } = await client.query(WITH_COLUMN_ON_POSTGRES, [column]);
          return rows.map(({ table_name }) => table_name);
        });
      assert.deepEqual(
        await withColumn('group_id'),
        namesOf(postgres.TABLES_OF_GROUP, 'conversations', 'threads'),
      );
      const own = ['deleted_projects', 'projects', 'sessions'];
      assert.deepEqual(await withColumn('project_id'), namesOf(postgres.TABLES_OF_PROJECT, ...own));
    }),
);
