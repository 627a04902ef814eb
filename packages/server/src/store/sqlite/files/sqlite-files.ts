/** The files of an embedded store: how they are made, and whether they are still those that were opened. */
import { randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { StoreUnavailableError } from '../../../values/engine-errors.ts';

/** Between a store's name and a random text: the name of a database that is not whole yet. */
const UNFINISHED = '.new-';

/** The files that SQLite puts beside a database: the write-ahead log and its index. */
const BESIDE = ['-wal', '-shm'] as const;

/** The names of a store's files, and the file that each one was: device and inode. */
export type FileIdentities = readonly (readonly [path: string, identity: string])[];

/** Reads which files a store has. Call it when the store is open. */
export const fileIdentities = (file: string): FileIdentities =>
  filesOf(file).flatMap((path) => {
    const identity = identityOf(path);
    return identity === null ? [] : [[path, identity]];
  });

/**
 * Names the files that were removed or replaced since then; null when none was. SQLite goes on with the files that it has
 * open: what it writes to them is gone when the process ends. Costs one `stat` per file: for three files 20 µs where a flush
 * took 620 µs.
 * @throws StoreUnavailableError when the file system does not answer
 */
export function changedFiles(identities: FileIdentities): string | null {
  const changed = identities.filter(([path, identity]) => identityOf(path) !== identity);
  return changed.length === 0 ? null : changed.map(([path]) => basename(path)).join(', ');
}

/**
 * Whether another process has begun a log of its own for the same database. Each would then overwrite what the other folds
 * into the database.
 */
export const hasOtherLog = (identities: FileIdentities): boolean =>
  identities.slice(1).some(([path, identity]) => ![identity, null].includes(identityOf(path)));

const filesOf = (file: string) => [file, ...BESIDE.map((suffix) => file + suffix)];

function identityOf(path: string): string | null {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found === undefined ? null : `${found.dev}:${found.ino}`;
  } catch (cause) {
    throw new StoreUnavailableError(`the store cannot be checked: ${(cause as Error).message}`, { cause });
  }
}

/**
 * Whether any file of a store is there. @throws StoreUnavailableError where that cannot be found out, as in a directory of another
 * account
 */
export function hasStoreFiles(file: string): boolean {
  try {
    return filesOf(file).some((path) => statSync(path, { throwIfNoEntry: false }) !== undefined);
  } catch (cause) {
    throw new StoreUnavailableError(`the store ${file} cannot be opened: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/**
 * Checks that the database is complete: {@link createStoreFile} makes no empty one, so an empty one has lost its data, and so
 * has a directory with files of a database that is missing. SQLite would begin an empty store, and delete the log.
 * @throws Error that names what is missing and what to do
 */
export function checkStoreFiles(file: string): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  const others = BESIDE.filter((suffix) => existsSync(file + suffix)).map(
    (suffix) => basename(file) + suffix,
  );
  const what =
    size === 0
      ? 'the file is empty'
      : size === undefined && others.length > 0
        ? `it is missing beside ${others.join(' and ')}`
        : null;
  if (what !== null) {
    throw new Error(
      `${what}, so what it held is lost: restore a backup, or remove all ${basename(file)}* to begin with an empty store`,
    );
  }
}

/**
 * Makes a store's file, readable for this account alone: a database under another name that `fill` writes and closes, and
 * that gets its name when it is whole. A process that dies meanwhile leaves no empty database behind. When another process
 * was faster, its file stays.
 */
export function createStoreFile(file: string, fill: (path: string) => void): void {
  const path = `${file}${UNFINISHED}${randomUUID()}`;
  try {
    // The store holds secrets; SQLite gives the files beside it the same permissions.
    closeSync(openSync(path, 'wx', 0o600));
    fill(path);
    giveName(path, file);
    flushDirectory(dirname(file));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    for (const made of filesOf(path)) rmSync(made, { force: true });
  }
}

/** Gives the database its name unless that is taken. @throws an error with the code EEXIST */
function giveName(path: string, file: string): void {
  try {
    linkSync(path, file);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(code) || existsSync(file)) throw error;
    // A file system without links. The lock of the directory prevents two first starts at once.
    renameSync(path, file);
  }
}

/** Some file systems do not let a directory be opened or flushed: they write names by themselves. */
const CANNOT_FLUSH = ['EPERM', 'EACCES', 'EISDIR', 'EINVAL', 'ENOTSUP', 'EOPNOTSUPP'];

/** A name is on disk when its directory is. `flush` is a parameter for tests. */
export function flushDirectory(path: string, flush = fsyncSync): void {
  let directory: number | null = null;
  try {
    directory = openSync(path, 'r');
    flush(directory);
  } catch (error) {
    if (!CANNOT_FLUSH.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  } finally {
    if (directory !== null) closeSync(directory);
  }
}

/** Removes the files of first starts that were killed. Only for the process that has locked the directory. */
export function removeUnfinishedFiles(file: string): void {
  const start = `${basename(file)}${UNFINISHED}`;
  for (const name of readdirSync(dirname(file))) {
    if (name.startsWith(start)) rmSync(join(dirname(file), name), { force: true });
  }
}
