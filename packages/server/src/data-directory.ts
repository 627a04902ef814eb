import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Another server works on the data directory, or the directory cannot be used. The message is one line for the operator. */
export class DataDirectoryError extends Error {}

/**
 * Takes the data directory for this server alone, and creates it when missing; the returned function gives it back.
 * An exclusive SQLite transaction is the lock because the operating system ends it with the process: a killed server
 * leaves nothing stale behind. Commands that open the store beside a running server do not take it.
 * @throws DataDirectoryError
 */
export function takeDataDirectory(dataDir: string): () => void {
  let lock: DatabaseSync | undefined;
  try {
    // The store holds secrets: nobody else on the machine reads it.
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    lock = new DatabaseSync(join(dataDir, 'serve.lock'), { timeout: 0 });
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock?.close();
    throw new DataDirectoryError(reasonOf(error, dataDir), { cause: error });
  }
  const held = lock;
  return () => held.close();
}

const SQLITE_BUSY = 5;

function reasonOf(error: unknown, dataDir: string): string {
  const busy = error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY;
  if (busy) return `another server uses the data directory ${dataDir}: stop it, or choose another --data-dir`;
  return `the data directory ${dataDir} cannot be used: ${error instanceof Error ? error.message : String(error)}`;
}
