import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import {
  type Migration,
  migrationsIn,
  requireCurrentSchema,
  requireKnownSchema,
} from '../migration-files.ts';
import type { PostgresConnection } from './connections/postgres-connection.ts';
import { buildAddedIndexes } from './postgres-added-indexes.ts';
import { requireEncoding } from './postgres-encoding.ts';

const DIRECTORY = new URL('./migrations/', import.meta.url);
/** How long another process's migration is waited for, and one of our own may take, in milliseconds. */
const MIGRATION_LIMIT_MS = 10 * 60_000;
/** How long the version of a schema may be waited for where nothing is migrated, in milliseconds. */
const VERSION_LIMIT_MS = 30_000;

/** There is no such table, or another program's. */
const NO_REGISTER = new Set(['42P01', '42703']);
/** Another process was faster: it created the same table at once, or migrated before this one. */
const DUPLICATE_TABLE = '42P07';
const LOST_TO_ANOTHER = new Set(['23505', DUPLICATE_TABLE, '42710', '40001']);
const MOST_RACES = 20;
/**
 * How long a migration waits for a table that others use, in milliseconds: statements that need the table meanwhile wait behind it.
 * Shorter than PostgreSQL's deadlock_timeout (1 s), so that where both wait for each other the migration gives way.
 */
const LOCK_LIMIT_MS = 500;
/** Other processes were in the way: a lock took too long, or was waited for by both, or the register was awaited for too long. */
const IN_THE_WAY = new Set(['55P03', '40P01', '57014']);
/** How much later it is tried again at most, in milliseconds. */
const RETRY_MAX_MS = 200;

/** The table of what was applied, with a row 0 that is only there to be locked. */
const CREATE_REGISTER = `
  CREATE TABLE IF NOT EXISTS schema_migrations (
    number BIGINT NOT NULL PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL DEFAULT now())`;
const FILL_REGISTER = 'INSERT INTO schema_migrations (number) VALUES (0) ON CONFLICT DO NOTHING';
// Written, not only locked: a process that waited for it then fails, on every database, instead of going on from an old state.
const LOCK_REGISTER = 'UPDATE schema_migrations SET applied_at = now() WHERE number = 0';

/** The migrations of this version, in order: `0001-initial.sql`, … */
export const migrations = (): Migration[] => migrationsIn(DIRECTORY);

export const latestSchemaVersion = (): number => migrations().at(-1)?.number ?? 0;

const pendingSql = (version: number): string[] =>
  migrations()
    .filter(({ number }) => number > version)
    .map(({ file }) => sqlOf(file));

const sqlOf = (file: string): string => readFileSync(new URL(file, DIRECTORY), 'utf8');

/** The tables of this version. */
export const tables = (): string[] =>
  migrations().flatMap(({ file }) =>
    [...sqlOf(file).matchAll(/^CREATE TABLE (\w+)/gm)].map(([, name]) => name as string),
  );

/**
 * Brings the store to this version's schema, all or nothing; safe when many processes start at once: the lock of one
 * row orders them. Where nothing is to be done, nothing is locked. Older processes may go on meanwhile: none waits for it
 * long, and it is tried for up to ten minutes.
 * @throws SchemaTooNewError when the store has a later version than this program knows; Error where there is none, and the
 * database does not support all texts, and where it has other tables than its version.
 */
export async function migrate(connection: PostgresConnection): Promise<void> {
  const until = performance.now() + MIGRATION_LIMIT_MS;
  let races = 0;
  for (;;) {
    const version = await schemaVersion(connection, until);
    if (isCurrent(version)) return;
    if (version === 0) await requireEncoding(connection, until);
    try {
      for (const sql of pendingSql(version)) await buildAddedIndexes(connection, sql, LOCK_LIMIT_MS, until);
      return await migrateOnce(connection, until);
    } catch (error) {
      const code = error instanceof DatabaseError ? (error.code ?? '') : '';
      const isInTheWay = IN_THE_WAY.has(code) && performance.now() < until;
      if (!isInTheWay) {
        races += 1;
        if (!LOST_TO_ANOTHER.has(code)) throw error;
        if (races === MOST_RACES)
          throw code === DUPLICATE_TABLE ? otherTables(version, error as Error) : error;
      }
      await delay(Math.random() * RETRY_MAX_MS);
    }
  }
}

const otherTables = (version: number, { message }: Error) =>
  new Error(
    `the database has tables that schema version ${version} has not (${message}): another program's, or those of a newer version over which an older dump was restored. Use an empty database, and restore dumps into one`,
  );

/** Reads the schema's version, and changes nothing. @throws SchemaTooNewError, SchemaTooOldError unless it is this version's */
export async function requireMigrated(connection: PostgresConnection): Promise<void> {
  const until = performance.now() + VERSION_LIMIT_MS;
  requireCurrentSchema(await schemaVersion(connection, until), latestSchemaVersion());
}

async function migrateOnce(connection: PostgresConnection, until: number): Promise<void> {
  // CockroachDB would end the transaction before each CREATE; others know no such setting, and need none.
  await connection.control('SET autocommit_before_ddl = off', until).catch(() => {});
  await connection.control(CREATE_REGISTER, until);
  await connection.run([FILL_REGISTER], until);
  // CockroachDB creates nothing at a lower level.
  await connection.begin('SERIALIZABLE', [['statement_timeout', 0]], until);
  try {
    await connection.run([LOCK_REGISTER], until);
    const version = await schemaVersion(connection, until);
    if (!isCurrent(version)) await apply(connection, version, until);
    await connection.end('COMMIT', until);
  } catch (error) {
    await connection.end('ROLLBACK', until).catch(() => {});
    throw error;
  }
}

/** @throws SchemaTooNewError */
function isCurrent(version: number): boolean {
  const latest = latestSchemaVersion();
  requireKnownSchema(version, latest);
  return version === latest;
}

async function apply(connection: PostgresConnection, version: number, until: number): Promise<void> {
  await connection.control(`SET LOCAL lock_timeout = ${LOCK_LIMIT_MS}`, until);
  const [server] = await connection.run(['SELECT version()'], until);
  for (const { number, file } of migrations()) {
    if (number <= version) continue;
    await connection.control(schemaFor(String(server?.[0]), sqlOf(file)), until);
    await connection.run(['INSERT INTO schema_migrations (number) VALUES ($1)', number], until);
  }
}

/**
 * A migration as the server takes it, by its version. CockroachDB compares all text by code point, as
 * COLLATE "C" demands of a column, and rejects that clause.
 */
export const schemaFor = (server: string, sql: string): string =>
  server.startsWith('CockroachDB') ? sql.replaceAll(' COLLATE "C"', '') : sql;

/** The last migration that was applied; 0 where there is no store yet. */
export async function schemaVersion(connection: PostgresConnection, until: number): Promise<number> {
  try {
    const [row] = await connection.run(['SELECT max(number) FROM schema_migrations'], until);
    return Number(row?.[0] ?? 0);
  } catch (error) {
    if (error instanceof DatabaseError && NO_REGISTER.has(error.code ?? '')) return 0;
    throw error;
  }
}
