import { DatabaseSync } from 'node:sqlite';
import { checkStoreFiles } from './sqlite-files.ts';
import { migrations, schemaVersion } from './sqlite-migrate.ts';

/** How long it waits for another process, in milliseconds. */
const BUSY_TIMEOUT_MS = 5_000;

export interface SqliteInspection {
  readonly schemaVersion: number;
  readonly latestSchemaVersion: number;
  /** What SQLite's quick check complains of; empty when nothing. */
  readonly damages: readonly string[];
}

/** Reads a store's file, beside a running server or without one, and changes nothing. @throws Error when it cannot be read */
export function inspectSqliteStore(file: string): SqliteInspection {
  checkStoreFiles(file);
  const database = new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    const found = database.prepare('PRAGMA quick_check(5)').all().flatMap(Object.values).map(String);
    return {
      schemaVersion: schemaVersion(database),
      latestSchemaVersion: migrations().at(-1)?.number ?? 0,
      damages: found.filter((line) => line !== 'ok'),
    };
  } finally {
    database.close();
  }
}
