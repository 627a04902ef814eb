/** Directories and files of the embedded engine for its tests; each is removed or closed when its test ends. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { BUSY_TIMEOUT_MS } from '../../src/store/sqlite/sqlite-connection.ts';
import { openSqliteStore, STORE_FILE } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { closing } from '../support/closing.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

export async function withDirectory(use: (directory: string) => Promise<void>): Promise<void> {
  await using directory = await temporaryDirectory('sqlite');
  await use(directory.path);
}

export async function withStore<Result>(
  dataDir: string,
  use: (store: Store) => Promise<Result>,
): Promise<Result> {
  await using store = closing(await openSqliteStore({ dataDir }));
  return await use(store);
}

/** Reads or changes a store's file without the store. Where the store is open, its thread may be writing: this waits. */
export function withFile<Result>(dataDir: string, use: (database: DatabaseSync) => Result): Result {
  using database = new DatabaseSync(join(dataDir, STORE_FILE), { timeout: BUSY_TIMEOUT_MS });
  return use(database);
}
