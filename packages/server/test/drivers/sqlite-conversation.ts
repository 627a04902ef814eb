/** Conversations in the file of an embedded store, and its rows. */
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { DURABLE_BOUNDS } from '../../src/store/durable-bounds.ts';
import { SqliteConnection } from '../../src/store/sqlite/sqlite-connection.ts';
import { migrate } from '../../src/store/sqlite/sqlite-migrate.ts';
import { sqliteWrites } from '../../src/store/sqlite/sqlite-ports.ts';
import { STORE_FILE } from '../../src/store/sqlite/sqlite-store.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';
import { Conversation } from '../contract/store/conversation.ts';
import { newRoster } from '../contract/store/roster.ts';
import { withFile, withStore } from './sqlite-directory.ts';

const TABLES = ['conversations', 'threads', 'thread_lists', 'participants', 'messages', 'message_pieces'];

/** A project of a store in the directory, with group `g` of ann. */
export const withConversation = (
  dataDir: string,
  use: (conversation: Conversation) => Promise<void>,
  key?: ProjectKey,
): Promise<ProjectKey> =>
  withStore(dataDir, async (store) => {
    const conversation = new Conversation(store, key ?? (await newRoster(store)).key);
    if (key === undefined) await conversation.groupOf('g', 'ann');
    await use(conversation);
    return conversation.key;
  });

/** How many rows each table of conversations has. */
export const rowsOf = (dataDir: string) =>
  withFile(dataDir, (database) =>
    TABLES.map((table) => database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n as number),
  );

/** The writes of a store, without the writer's thread: nothing is purged unless the test does so. */
export function withWrites(
  dataDir: string,
  use: (writes: ReturnType<typeof sqliteWrites>, database: DatabaseSync) => void,
): void {
  using connection = new SqliteConnection(join(dataDir, STORE_FILE), { readOnly: false });
  migrate(connection.database);
  use(sqliteWrites(connection, DURABLE_BOUNDS), connection.database);
}

export function inTransaction(database: DatabaseSync, run: () => void): void {
  database.exec('BEGIN IMMEDIATE');
  run();
  database.exec('COMMIT');
}
