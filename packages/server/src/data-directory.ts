import { chmodSync, closeSync, lstatSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { DatabaseSync } from 'node:sqlite';

/** Another process has locked the data directory, or the directory cannot be used. The message is one line for the operator. */
export class DataDirectoryError extends Error {}

/**
 * Locks the data directory for this process alone, and creates it when missing; the returned function unlocks it.
 * An exclusive SQLite transaction is the lock because the operating system ends it with the process: a killed server
 * leaves nothing stale behind. Commands that open the store beside a running server do not lock it. Only this account can
 * open the lock file: a shared lock of any other account would block the start. `warn` is called with a line for the
 * operator where the file system cannot exclude other accounts.
 * @throws DataDirectoryError
 */
export function lockDataDirectory(dataDir: string, warn: (message: string) => void = () => {}): () => void {
  let lock: DatabaseSync | undefined;
  try {
    makeDirectory(resolve(dataDir));
    const file = join(dataDir, 'serve.lock');
    makePrivate(file, warn);
    lock = new DatabaseSync(file, { timeout: 0 });
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock?.close();
    throw new DataDirectoryError(reasonOf(error, dataDir), { cause: error });
  }
  const locked = lock;
  return () => locked.close();
}

/**
 * Creates the file for this account alone, or takes the access of others away. An existing file is not opened: to close it
 * again would release the locks that this process has on it.
 */
function makePrivate(file: string, warn: (message: string) => void): void {
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
  if ((mode & 0o077) === 0) return;
  try {
    chmodSync(file, 0o600);
  } catch (error) {
    // File systems that map accounts (of other machines, of containers) have no modes of their own.
    warn(
      `other accounts can open ${file}, and so block a start: its mode cannot be changed (${codeOf(error)})`,
    );
  }
}

/**
 * Makes the directory and those above it, where missing. Node's own recursive `mkdir` never returns, whatever signal comes,
 * where the file system reports an existing parent as missing (/proc).
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
    // The store has secrets: no other account of the machine reads it.
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
