import { readFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { type Migration, migrationsIn, requireKnownSchema } from '../migration-files.ts';
import { locationKey, locationKeys } from './presence/sqlite-location-keys.ts';

const DIRECTORY = new URL('./migrations/', import.meta.url);

/** The migrations of this version, in order: `0001-initial.sql`, … */
export const migrations = (): Migration[] => migrationsIn(DIRECTORY);

export const latestSchemaVersion = (): number => migrations().at(-1)?.number ?? 0;

/**
 * Brings the store to this version's schema, all or nothing; safe when several processes start at once, because the
 * write lock is taken before the version is read. The version is the file's `user_version`.
 * @throws SchemaTooNewError when the file has a later version than this program knows.
 */
export function migrate(database: DatabaseSync): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    const version = schemaVersion(database);
    requireKnownSchema(version, latestSchemaVersion());
    database.function('place_keys', (location) => JSON.stringify([...locationKeys(String(location))]));
    database.function('place_key', (text) => locationKey(String(text)));
    for (const { number, file } of migrations()) {
      if (number <= version) continue;
      database.exec(readFileSync(new URL(file, DIRECTORY), 'utf8'));
      database.exec(`PRAGMA user_version = ${number}`);
    }
    database.exec('COMMIT');
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

export function schemaVersion(database: DatabaseSync): number {
  return Number(Object.values(database.prepare('PRAGMA user_version').get() ?? { version: 0 })[0]);
}
