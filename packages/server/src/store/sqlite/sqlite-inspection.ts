import { DatabaseSync } from 'node:sqlite';
import { SchemaTooOldError } from '../migration-files.ts';
import { checkStoreFiles, hasStoreFiles } from './files/sqlite-files.ts';
import { BUSY_TIMEOUT_MS } from './sqlite-connection.ts';
import { latestSchemaVersion, schemaVersion } from './sqlite-migrate.ts';

/**
 * How the store's schema is older than this version's, or missing. Null also where it cannot be read: opening it reports the reason.
 * @throws StoreUnavailableError where its directory cannot be searched
 */
export function outdatedSchema(file: string): SchemaTooOldError | null {
  const latest = latestSchemaVersion();
  if (!hasStoreFiles(file)) return new SchemaTooOldError(0, latest);
  try {
    // SQLite deletes a log whose database is empty.
    checkStoreFiles(file);
    using database = new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
    const version = schemaVersion(database);
    return version < latest ? new SchemaTooOldError(version, latest) : null;
  } catch {
    return null;
  }
}

/** Reads a store's file, beside a running server or without one, and changes nothing. @throws Error when it cannot be read */
export function inspectSqliteStore(file: string) {
  checkStoreFiles(file);
  using database = new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  const found = database.prepare('PRAGMA quick_check(5)').all().flatMap(Object.values).map(String);
  return {
    schemaVersion: schemaVersion(database),
    latestSchemaVersion: latestSchemaVersion(),
    damages: found.filter((message) => message !== 'ok'),
  };
}
