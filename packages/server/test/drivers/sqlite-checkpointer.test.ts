/** The write-ahead log is copied into the store's file on a thread of its own, while writes go on. */
import assert from 'node:assert/strict';
import { existsSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { SqliteCheckpointer } from '../../src/store/sqlite/files/sqlite-checkpointer.ts';
import { fileIdentities } from '../../src/store/sqlite/files/sqlite-files.ts';
import { SqliteLog } from '../../src/store/sqlite/files/sqlite-log.ts';
import { SqliteConnection } from '../../src/store/sqlite/sqlite-connection.ts';
import { openSqliteStore, STORE_FILE } from '../../src/store/sqlite/sqlite-store.ts';
import { newRoster, type Roster } from '../contract/store/roster.ts';
import { closing } from '../support/closing.ts';
import { until } from '../support/waiting.ts';
import { withDirectory, withFile } from './sqlite-directory.ts';

const MEBIBYTE = 1_024 ** 2;

/** A database with a log of some two MiB, of which nothing is copied, and its checkpointer. */
async function withLongLog(
  use: (parts: {
    file: string;
    writer: SqliteConnection;
    log: SqliteLog;
    checkpointer: SqliteCheckpointer;
  }) => Promise<void>,
): Promise<void> {
  await withDirectory(async (directory) => {
    const file = join(directory, STORE_FILE);
    const writer = new SqliteConnection(file, { readOnly: false });
    writer.database.exec('PRAGMA wal_autocheckpoint = 0; CREATE TABLE texts (text TEXT)');
    const insert = writer.prepare('INSERT INTO texts VALUES (?)');
    for (let row = 0; row < 100; row += 1) insert.run(`${row % 10}`.repeat(20_000));
    const log = new SqliteLog(writer, MEBIBYTE);
    const checkpointer = new SqliteCheckpointer({ file, files: fileIdentities(file) });
    try {
      assert.ok(log.uncopiedBytes() > 2 * MEBIBYTE, `${log.uncopiedBytes()} bytes`);
      await use({ file, writer, log, checkpointer });
    } finally {
      await checkpointer.close();
      writer.close();
      checkpointer[Symbol.dispose]();
    }
  });
}

describe('the checkpointer', () => {
  test('the checkpointer copies the whole log, also while a write transaction is open', () =>
    withLongLog(async ({ writer, log, checkpointer }) => {
      writer.database.exec("BEGIN IMMEDIATE; INSERT INTO texts VALUES ('not committed')");
      await checkpointer.copy();
      writer.database.exec('COMMIT');
      assert.ok(log.uncopiedBytes() < MEBIBYTE / 4, `${log.uncopiedBytes()} bytes`);
      await checkpointer.copy();
      assert.equal(log.uncopiedBytes(), 0);
    }));

  test('the checkpointer does not copy what a reader needs, and does not wait for the reader', () =>
    withLongLog(async ({ file, writer, log, checkpointer }) => {
      const reader = new SqliteConnection(file, { readOnly: true });
      reader.database.exec('BEGIN');
      reader.prepare('SELECT count(*) FROM texts').get();
      writer.database.exec('DELETE FROM texts');
      await checkpointer.copy();
      assert.ok(log.uncopiedBytes() > 0);
      reader.endRead();
      reader.close();
      await checkpointer.copy();
      assert.equal(log.uncopiedBytes(), 0);
    }));

  test('the checkpointer leaves files alone that are not those of its store', () =>
    withLongLog(async ({ file, log, checkpointer }) => {
      const before = log.uncopiedBytes();
      renameSync(`${file}-shm`, `${file}-shm.moved`);
      await checkpointer.copy();
      assert.equal(existsSync(`${file}-shm`), false, 'no other index was made');
      assert.equal(log.uncopiedBytes(), before);
      renameSync(`${file}-shm.moved`, `${file}-shm`);
    }));

  test('the checkpointer copies nothing where no thread can be started, and reports no failure', () =>
    withLongLog(async ({ file, log }) => {
      const before = log.uncopiedBytes();
      // Node throws at once, as at the limit of threads: a function cannot be given to a thread.
      const identities = [[file, (() => {}) as never]] as const;
      const checkpointer = new SqliteCheckpointer({ file, files: identities });
      try {
        await checkpointer.copy();
        assert.equal(log.uncopiedBytes(), before);
      } finally {
        await checkpointer.close();
      }
    }));
});

describe('a store with a long log', () => {
  const CHECKPOINT_BYTES = 2 * MEBIBYTE;
  const logBytes = (dataDir: string) => statSync(join(dataDir, `${STORE_FILE}-wal`)).size;
  const text = 'x'.repeat(15_000);

  /** Ten writes at once of some 150 KiB together. */
  const writeTen = (roster: Roster, id: string, name: string) =>
    Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        roster.putGroup(`${id}.${index}`, { name, metadata: { text } }),
      ),
    );

  test('a store under constant writes begins its log anew, although the checkpointer copies it meanwhile', () =>
    withDirectory(async (dataDir) => {
      await using store = closing(await openSqliteStore({ dataDir, checkpointBytes: CHECKPOINT_BYTES }));
      const roster = await newRoster(store);
      for (let write = 0; write < 240; write += 1) await writeTen(roster, 'g', `${write}`);
      assert.ok(logBytes(dataDir) < 6 * CHECKPOINT_BYTES, `${logBytes(dataDir)} bytes`);
      await until('the empty log', () => logBytes(dataDir) === 0);
    }));

  test('a store that is closed while its log is copied commits every write and leaves an empty log', () =>
    withDirectory(async (dataDir) => {
      // The copy of such a log takes much longer than the writer needs to end.
      await using store = closing(await openSqliteStore({ dataDir, checkpointBytes: 32 * MEBIBYTE }));
      const roster = await newRoster(store);
      const copiedAt = () => statSync(join(dataDir, STORE_FILE), { bigint: true }).mtimeNs;
      const before = copiedAt();
      let write = 0;
      for (; copiedAt() === before; write += 1) await writeTen(roster, `${write}`, `${write}`);
      const last = roster.putGroup('last', { name: 'last' });
      await Promise.all([store.close(), last]);
      assert.equal(logBytes(dataDir), 0);
      const names = withFile(dataDir, (file) => file.prepare('SELECT name FROM groups').all());
      for (const name of ['last', `${write - 1}`]) assert.ok(names.some((row) => row.name === name));
    }));
});
