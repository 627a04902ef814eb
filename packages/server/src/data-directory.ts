import { chmodSync, closeSync, lstatSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { DatabaseSync } from 'node:sqlite';

/** Another server works on the data directory, or the directory cannot be used. The message is one line for the operator. */
export class DataDirectoryError extends Error {}

/**
 * Takes the data directory for this server alone, and creates it when missing; the returned function gives it back.
 * An exclusive SQLite transaction is the lock because the operating system ends it with the process: a killed server
 * leaves nothing stale behind. Commands that open the store beside a running server do not take it. Only this account can
 * open the lock file: a shared lock of any other account would block the start.
 * @throws DataDirectoryError
 */
export function takeDataDirectory(dataDir: string): () => void {
  let lock: DatabaseSync | undefined;
  try {
    makeDirectory(resolve(dataDir));
    const file = join(dataDir, 'serve.lock');
    makePrivate(file);
    lock = new DatabaseSync(file, { timeout: 0 });
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock?.close();
    throw new DataDirectoryError(reasonOf(error, dataDir), { cause: error });
  }
  const held = lock;
  return () => held.close();
}

/**
 * Creates the file for this account alone, or takes the access of others away. An existing file is not opened: to close it
 * again would release the locks that this process has on it.
 */
function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
    return;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  const { mode, uid } = lstatSync(file);
  // Windows has no accounts in this sense.
  const account = process.geteuid?.() ?? uid;
  if (uid !== account) {
    throw new Error(
      `${file} belongs to account ${uid}, and this server runs as ${account}: run it as that account, or remove the file`,
    );
  }
  if ((mode & 0o077) !== 0) chmodSync(file, 0o600);
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
