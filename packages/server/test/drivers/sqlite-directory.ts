/** Directories and files of the embedded engine for its tests; each is removed or closed when its test ends. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openSqliteStore, STORE_FILE } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { closing } from '../support/closing.ts';

export async function withDirectory(use: (directory: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-sqlite-'));
  try {
    await use(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

export async function withStore<Result>(
  dataDir: string,
  use: (store: Store) => Promise<Result>,
): Promise<Result> {
  await using store = closing(await openSqliteStore({ dataDir }));
  return await use(store);
}

/** How long a change waits for the writer of a store that is open, in milliseconds. */
const WRITER_TIMEOUT_MS = 5_000;

/** Reads or changes a store's file without the store, which may be open. */
export function withFile<Result>(dataDir: string, use: (database: DatabaseSync) => Result): Result {
  using database = new DatabaseSync(join(dataDir, STORE_FILE), { timeout: WRITER_TIMEOUT_MS });
  return use(database);
}
