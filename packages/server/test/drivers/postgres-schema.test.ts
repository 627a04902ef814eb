/** Rules of the schema, so that databases that distribute a project's rows by its key accept it too. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { migrations, schemaFor } from '../../src/store/postgres/postgres-migrate.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { skipsPostgres, withClient, withDatabase } from '../support/postgres.ts';

/** Tables that are of no project, or found before it is known which one: each server has all of them. */
const OF_NO_PROJECT: ReadonlyMap<string, string> = new Map([
  ['schema_migrations', 'is about the schema'],
  ['store_secrets', 'is of the whole store'],
  ['customers', 'a customer has several projects'],
  ['projects', 'a project is found by the ID that callers know'],
  ['sessions', 'a token names its session, and no project'],
  ['change_order', 'one process at a time orders the changes of all projects'],
  ['written_changes', 'the changes of all projects are ordered together; a row is there for a moment'],
]);
const INDEXES = `
  SELECT i.indrelid::regclass::text AS table, i.indexrelid::regclass::text AS index,
    pg_get_indexdef(i.indexrelid, 1, true) AS leading
  FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE c.relnamespace = 'public'::regnamespace ORDER BY 1, 2`;

const COLLATED = `
  SELECT attrelid::regclass || '.' || attname AS column FROM pg_attribute
  JOIN pg_class c ON c.oid = attrelid WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
    AND attcollation = (SELECT oid FROM pg_collation WHERE collname = 'C' AND collnamespace = 'pg_catalog'::regnamespace)`;

const sources = () =>
  migrations().map(({ file }) =>
    readFileSync(new URL(`../../src/store/postgres/migrations/${file}`, import.meta.url), 'utf8'),
  );

describe('the schema', { skip: skipsPostgres }, () => {
  test('each index of rows of a project begins with the key of the project', () =>
    withDatabase(async (url) => {
      await (await openPostgresStore({ url })).close();
      const { rows } = await withClient(url, (client) => client.query(INDEXES));
      const tables = new Set(rows.map(({ table }) => table));
      for (const table of OF_NO_PROJECT.keys()) assert.ok(tables.has(table), `${table} is there`);
      const within = rows.filter(({ table }) => !OF_NO_PROJECT.has(table));
      assert.ok(new Set(within.map(({ table }) => table)).size >= 7);
      assert.deepEqual(
        within.filter(({ leading }) => leading !== 'project_id'),
        [],
      );
    }));

  test('text keys compare by code point, and the collation is omitted for a server that rejects it', () =>
    withDatabase(async (url) => {
      const collated = () =>
        withClient(url, async (client) => (await client.query(COLLATED)).rows.map(({ column }) => column));
      await withClient(url, async (client) => {
        for (const sql of sources()) await client.query(schemaFor('CockroachDB CCL v25.2.0', sql));
      });
      assert.deepEqual(await collated(), []);
      await withClient(url, async (client) => {
        await client.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
        for (const sql of sources()) await client.query(schemaFor('PostgreSQL 15.1', sql));
      });
      assert.ok((await collated()).includes('users.id'));
    }));
});
