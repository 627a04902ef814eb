import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import { type Migration, migrationsIn, SchemaTooNewError } from '../migration-files.ts';
import type { PostgresConnection } from './postgres-connection.ts';

const DIRECTORY = new URL('./migrations/', import.meta.url);
/** How long another process's migration is waited for, and one of our own may take, in milliseconds. */
const MIGRATION_LIMIT_MS = 10 * 60_000;

const NO_SUCH_TABLE = '42P01';
/** Several processes that create the same table at once. */
const CREATED_AT_ONCE = new Set(['23505', '42P07', '42710', '40001']);
const CREATION_TRIES = 20;

/** The migrations of this version, in order: `0001-initial.sql`, … */
export const migrations = (): Migration[] => migrationsIn(DIRECTORY);

export const latestSchemaVersion = (): number => migrations().at(-1)?.number ?? 0;

/**
 * Brings the store to this version's schema, all or nothing; safe when many processes start at once: they take turns by
 * the lock of one row. Where nothing is to be done, nothing is locked.
 * @throws SchemaTooNewError when the store has a later version than this program knows.
 */
export async function migrate(connection: PostgresConnection): Promise<void> {
  const until = performance.now() + MIGRATION_LIMIT_MS;
  if (isCurrent(await schemaVersion(connection, until))) return;
  await connection.control('SET statement_timeout = 0', until);
  await createRegister(connection, until);
  await connection.control('BEGIN ISOLATION LEVEL READ COMMITTED', until);
  try {
    await connection.run(['SELECT number FROM schema_migrations WHERE number = 0 FOR UPDATE'], until);
    const version = await schemaVersion(connection, until);
    if (!isCurrent(version)) await apply(connection, version, until);
    await connection.control('COMMIT', until);
  } catch (error) {
    await connection.control('ROLLBACK', until).catch(() => {});
    throw error;
  }
}

/** @throws SchemaTooNewError */
function isCurrent(version: number): boolean {
  const latest = latestSchemaVersion();
  if (version > latest) {
    throw new SchemaTooNewError(
      `the store has schema version ${version} and this version of Rollcall knows ${latest}: run the newer Rollcall that wrote it`,
    );
  }
  return version === latest;
}

/** The table of what was applied, with a row 0 that is only there to be locked. */
async function createRegister(connection: PostgresConnection, until: number): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await connection.control(
        `CREATE TABLE IF NOT EXISTS schema_migrations (
          number BIGINT NOT NULL PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL DEFAULT now())`,
        until,
      );
      await connection.run(
        ['INSERT INTO schema_migrations (number) VALUES (0) ON CONFLICT DO NOTHING'],
        until,
      );
      return;
    } catch (error) {
      const isRace = error instanceof DatabaseError && CREATED_AT_ONCE.has(error.code ?? '');
      if (!isRace || tries === CREATION_TRIES) throw error;
      await delay(Math.random() * 50);
    }
  }
}

async function apply(connection: PostgresConnection, version: number, until: number): Promise<void> {
  for (const { number, file } of migrations()) {
    if (number <= version) continue;
    await connection.control(readFileSync(new URL(file, DIRECTORY), 'utf8'), until);
    await connection.run(['INSERT INTO schema_migrations (number) VALUES ($1)', number], until);
  }
}

/** The last migration that was applied; 0 where there is no store yet. */
export async function schemaVersion(connection: PostgresConnection, until: number): Promise<number> {
  try {
    const [row] = await connection.run(['SELECT max(number) FROM schema_migrations'], until);
    return Number(row?.[0] ?? 0);
  } catch (error) {
    if (error instanceof DatabaseError && error.code === NO_SUCH_TABLE) return 0;
    throw error;
  }
}
