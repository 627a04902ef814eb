import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Settings } from '../../config/settings.ts';
import { type Check, failed, ok } from './check.ts';

/** What the server writes in its data directory. */
const FILES = ['rollcall.db', 'rollcall.db-wal', 'rollcall.db-shm', 'serve.lock'];
const { R_OK, W_OK, X_OK } = constants;
const FREE_MIN_BYTES = 256 * 1_024 ** 2;

export function dataDirectoryCheck({ dataDir }: Settings): Check {
  const name = 'data directory';
  const existing = nearestExisting(dataDir);
  const isMissing = existing === resolve(dataDir) ? '' : ' (the first start creates it)';
  if (!statSync(existing).isDirectory()) {
    return failed(name, `${existing} is not a directory`, 'Name another directory with --data-dir.');
  }
  const closed = isClosed(existing, R_OK | W_OK | X_OK)
    ? existing
    : FILES.map((file) => join(dataDir, file)).find((file) => isClosed(file, R_OK | W_OK));
  if (closed === undefined) return ok(name, `${dataDir} is writable${isMissing}`);
  return failed(
    name,
    `${closed} is not writable for this account`,
    'Run chown on the directory and its files for the account of the server, or name another with --data-dir.',
  );
}

/** Whether the path exists, and this account has not that access to it. */
function isClosed(path: string, access: number): boolean {
  try {
    accessSync(path, access);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT';
  }
}

export function freeSpaceCheck({ dataDir }: Settings): Check {
  const name = 'free space';
  const { bavail, bsize } = statfsSync(nearestExisting(dataDir));
  const free = bavail * bsize;
  const found = `${(free / 1_024 ** 3).toFixed(1)} GiB`;
  return free >= FREE_MIN_BYTES
    ? ok(name, found)
    : failed(name, found, 'Free space on the disk of the data directory: writes fail when it is full.');
}

/** The directory itself, or the nearest one above it that exists. */
function nearestExisting(directory: string): string {
  const path = resolve(directory);
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path));
}
