/** A PostgreSQL database as an earlier version left it: the schema of an early migration, filled with rows of a present one. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Client } from 'pg';
import { migrations } from '../../src/store/postgres/postgres-migrate.ts';
import { withClient } from './postgres.ts';

const DIRECTORY = new URL('../../src/store/postgres/migrations/', import.meta.url);

/** Before {@link NUMBER} + 1, records were ordered where they were written. */
const NUMBER = 7;
/** Records that were not ordered yet when the earlier version was stopped, and of which the last ones are of one write. */
const UNORDERED = 4;
const OF_ONE_WRITE = 2;

/** Rows of what is being removed. The present version removes its own soon, so they are not copied. */
const REMOVALS = ['deleted_projects', 'deleted_threads', 'deleted_conversations'];
/** What the migrations fill, or another schema has otherwise. */
const OTHERS = ['schema_migrations', 'change_order', 'changes', 'change_heads'];

const TABLES = `SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`;
const COLUMNS = `SELECT column_name FROM information_schema.columns WHERE table_name = $1 ORDER BY 1`;

/** Creates the schema of migration {@link NUMBER} in an empty database, with all rows of the database at `from`. */
export const fillOlderDatabase = (from: string, to: string): Promise<void> =>
  withClient(from, (present) =>
    withClient(to, async (older) => {
      await createSchema(older);
      for (const table of await textsOf(older, TABLES))
        if (![...REMOVALS, ...OTHERS].includes(table)) await copy(present, older, table);
      await copyChanges(present, older);
      for (const [table, column] of [
        ['conversations', 'conversation_no'],
        ['threads', 'thread_no'],
      ])
        await older.query(
          `SELECT setval(pg_get_serial_sequence('${table}', '${column}'), (SELECT max(${column}) FROM ${table}))`,
        );
      await older.query('INSERT INTO deleted_threads SELECT project_id, 999 FROM projects');
      await older.query('INSERT INTO deleted_conversations SELECT project_id, 999 FROM projects');
      await older.query('INSERT INTO deleted_projects (project_id) VALUES (gen_random_uuid())');
      for (const table of await textsOf(older, TABLES)) {
        const { rowCount } = await older.query(`SELECT 1 FROM ${table} LIMIT 1`);
        assert.equal(rowCount, 1, `${table} has rows`);
      }
    }),
  );

async function createSchema(older: Client): Promise<void> {
  await older.query(
    'CREATE TABLE schema_migrations (number BIGINT PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL DEFAULT now())',
  );
  await older.query('INSERT INTO schema_migrations (number) VALUES (0)');
  for (const { number, file } of migrations()) {
    if (number > NUMBER) break;
    await older.query(readFileSync(new URL(file, DIRECTORY), 'utf8'));
    await older.query('INSERT INTO schema_migrations (number) VALUES ($1)', [number]);
  }
}

async function textsOf(client: Client, sql: string, ...parameters: unknown[]): Promise<string[]> {
  const { rows } = await client.query({ text: sql, values: parameters, rowMode: 'array' });
  return rows.map(([text]) => text);
}

async function copy(present: Client, older: Client, table: string): Promise<void> {
  const columns = (await textsOf(older, COLUMNS, table)).join(', ');
  const [rows] = await textsOf(present, `SELECT json_agg(t)::text FROM ${table} t`);
  await older.query(
    `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM json_populate_recordset(NULL::${table}, $1)`,
    [rows ?? '[]'],
  );
}

/** Copies changes with their present positions; the last ones have none yet. */
async function copyChanges(present: Client, older: Client): Promise<void> {
  const { rows } = await present.query('SELECT * FROM changes ORDER BY project_id, position');
  for (const { project_id, position, at, actor, request_id, changes } of rows) {
    await older.query(
      `INSERT INTO changes (project_id, at, actor, request_id, changes, feed_position) VALUES ($1, $2, $3, $4, $5, $6)`,
      [project_id, at, actor, request_id, changes, position],
    );
  }
  const unordered = await textsOf(
    older,
    `UPDATE changes SET feed_position = NULL WHERE position IN (
      SELECT position FROM changes ORDER BY position DESC LIMIT ${UNORDERED}) RETURNING position`,
  );
  const ofOneWrite = unordered
    .map(Number)
    .toSorted((a, b) => a - b)
    .slice(-OF_ONE_WRITE);
  await older.query('UPDATE changes SET first_position = $1 WHERE position > $1', [ofOneWrite[0]]);
  await older.query(
    'INSERT INTO change_heads SELECT project_id, max(feed_position) FROM changes GROUP BY project_id',
  );
}
