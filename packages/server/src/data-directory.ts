import { mkdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
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
    makeDirectory(resolve(dataDir));
    lock = new DatabaseSync(join(dataDir, 'serve.lock'), { timeout: 0 });
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock?.close();
    throw new DataDirectoryError(reasonOf(error, dataDir), { cause: error });
  }
  const held = lock;
  return () => held.close();
}

/**
 * Makes the directory and those above it, where missing. Not Node's own recursive way: that one tries for ever, deaf to
 * signals, where the file system says that a parent is missing and it is there (/proc).
 */
function makeDirectory(path: string): void {
  try {
    makeOne(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    makeDirectory(dirname(path));
    makeOne(path);
  }
}

function makeOne(path: string): void {
  try {
    // The store holds secrets: nobody else on the machine reads it.
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST' || !statSync(path).isDirectory()) throw error;
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;

const SQLITE_BUSY = 5;

function reasonOf(error: unknown, dataDir: string): string {
  const busy = error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY;
  if (busy) return `another server uses the data directory ${dataDir}: stop it, or choose another --data-dir`;
  return `the data directory ${dataDir} cannot be used: ${error instanceof Error ? error.message : String(error)}`;
}
