/** Rules of the embedded engine alone, beyond the Store's contract. */
import assert from 'node:assert/strict';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { SchemaTooNewError } from '../../src/store/migration-files.ts';
import { SqliteConnection } from '../../src/store/sqlite/sqlite-connection.ts';
import { inspectSqliteStore } from '../../src/store/sqlite/sqlite-inspection.ts';
import { migrate, migrations } from '../../src/store/sqlite/sqlite-migrate.ts';
import { openSqliteStore, STORE_FILE } from '../../src/store/sqlite/sqlite-store.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { idsOf, joined } from '../contract/store/entries.ts';
import { newRoster, numbered } from '../contract/store/roster.ts';
import { closing } from '../support/closing.ts';
import { until } from '../support/waiting.ts';
import { withDirectory, withFile } from './sqlite-directory.ts';

const pragma = (database: DatabaseSync, name: string) =>
  Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];

describe('the file of the store', () => {
  test('the file of the store is sound, in WAL mode, and has the version of the last migration', () =>
    withDirectory(async (dataDir) => {
      await (await openSqliteStore({ dataDir })).close();
      withFile(dataDir, (database) => assert.equal(pragma(database, 'journal_mode'), 'wal'));
      const latest = migrations().length;
      assert.deepEqual(inspectSqliteStore(join(dataDir, STORE_FILE)), {
        schemaVersion: latest,
        latestSchemaVersion: latest,
        damages: [],
      });
    }));

  test('the file of the store is flushed at every commit: a connection that writes has synchronous FULL', () =>
    withDirectory(async (dataDir) => {
      using connection = new SqliteConnection(join(dataDir, STORE_FILE), { readOnly: false });
      assert.equal(pragma(connection.database, 'synchronous'), 2);
      assert.equal(pragma(connection.database, 'journal_mode'), 'wal');
    }));

  test('the file of the store cannot be written by a connection that reads', () =>
    withDirectory(async (dataDir) => {
      await (await openSqliteStore({ dataDir })).close();
      using connection = new SqliteConnection(join(dataDir, STORE_FILE), { readOnly: true });
      assert.throws(() => connection.database.exec('DELETE FROM users'), /readonly/);
    }));

  test('the file of the store is created with its data directory when that is missing', () =>
    withDirectory(async (directory) => {
      const dataDir = join(directory, 'not', 'there', 'yet');
      await (await openSqliteStore({ dataDir })).close();
      assert.ok(statSync(join(dataDir, STORE_FILE)).size > 0);
    }));

  test('the file of the store has the whole store after close: the log is empty', () =>
    withDirectory(async (dataDir) => {
      await using store = closing(await openSqliteStore({ dataDir }));
      await (await newRoster(store)).users('ann');
      await store.close();
      const log = statSync(join(dataDir, `${STORE_FILE}-wal`), { throwIfNoEntry: false });
      assert.equal(log?.size ?? 0, 0);
    }));
});

describe('migrations', () => {
  test('migrations of the embedded store are numbered from 1 without a gap, and each has a name', () => {
    for (const [index, { number, file }] of migrations().entries()) {
      assert.equal(number, index + 1);
      assert.match(file, /^\d{4}(-[a-z0-9]+)+\.sql$/);
    }
    assert.ok(migrations().length > 0);
  });

  test('migrations of the embedded store run once: a store that is up to date does not change', () =>
    withDirectory(async (dataDir) => {
      await (await openSqliteStore({ dataDir })).close();
      withFile(dataDir, (database) => {
        const schema = () => database.prepare('SELECT sql FROM sqlite_schema ORDER BY name').all();
        const before = schema();
        migrate(database);
        assert.deepEqual(schema(), before);
      });
    }));

  test('migrations of the embedded store run once when several stores are opened at once in an empty directory', () =>
    withDirectory(async (dataDir) => {
      await using opened = new AsyncDisposableStack();
      const open = async () => opened.use(closing(await openSqliteStore({ dataDir })));
      const stores = await Promise.all([1, 2, 3, 4, 5].map(open));
      const keys = await Promise.all(stores.map((store) => store.sessions.serviceKey()));
      assert.equal(new Set(keys.map((key) => Buffer.from(key).toString('hex'))).size, 1);
    }));

  test('a store with migrations of a newer version is rejected with a clear message, and the file does not change', () =>
    withDirectory(async (dataDir) => {
      await (await openSqliteStore({ dataDir })).close();
      const newer = migrations().length + 1;
      withFile(dataDir, (database) => database.exec(`PRAGMA user_version = ${newer}`));
      await assert.rejects(openSqliteStore({ dataDir }), (error: Error) => {
        assert.ok(error instanceof SchemaTooNewError);
        assert.match(error.message, new RegExp(`version ${newer}\\b.*knows ${newer - 1}\\b`));
        return true;
      });
      withFile(dataDir, (database) => {
        assert.equal(pragma(database, 'user_version'), newer);
        assert.equal(database.isTransaction, false);
      });
    }));

  test('migrations of the embedded store are rolled back when one of them fails', () =>
    withDirectory(async (dataDir) => {
      mkdirSync(dataDir, { recursive: true });
      // A table in the way makes the first migration fail in its middle.
      withFile(dataDir, (database) => database.exec('CREATE TABLE users (other TEXT)'));
      await assert.rejects(openSqliteStore({ dataDir }), /users/);
      withFile(dataDir, (database) => {
        assert.equal(pragma(database, 'user_version'), 0);
        const tables = database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all();
        assert.deepEqual(
          tables.map(({ name }) => name),
          ['users'],
        );
      });
    }));
});

describe('opening a store', () => {
  test('opening a store rejects a file that is no database, and names it', () =>
    withDirectory(async (dataDir) => {
      writeFileSync(
        join(dataDir, STORE_FILE),
        'these are not the bytes of a database, at any length '.repeat(99),
      );
      await assert.rejects(openSqliteStore({ dataDir }), (error: Error) => {
        assert.ok(error instanceof StoreUnavailableError);
        assert.ok(error.message.includes(join(dataDir, STORE_FILE)), error.message);
        return true;
      });
    }));

  test('opening a store rejects a directory with the name of the file, and names it', () =>
    withDirectory(async (dataDir) => {
      mkdirSync(join(dataDir, STORE_FILE));
      await assert.rejects(openSqliteStore({ dataDir }), (error: Error) => {
        assert.ok(error instanceof StoreUnavailableError);
        assert.ok(error.message.includes(join(dataDir, STORE_FILE)), error.message);
        return true;
      });
    }));
});

describe('the write-ahead log', () => {
  const CHECKPOINT_BYTES = 128 * 1_024;
  const logBytes = (dataDir: string) => statSync(join(dataDir, `${STORE_FILE}-wal`)).size;

  test('the write-ahead log is checkpointed while readers read: it stays near its limit, and each read sees the newest write', () =>
    withDirectory(async (dataDir) => {
      await using store = closing(await openSqliteStore({ dataDir, checkpointBytes: CHECKPOINT_BYTES }));
      const roster = await newRoster(store);
      await roster.groupOf('g', ...numbered('u', 500));
      for (let round = 0; round < 60; round += 1) {
        const metadata = { text: `${round}`.repeat(8_000) };
        await Promise.all(
          [1, 2, 3].map((index) => roster.putGroup(`h${index}`, { name: `${round}`, metadata })),
        );
        assert.equal((await roster.group('h2')).name, `${round}`);
        assert.equal((await roster.members('g')).length, 500);
      }
      assert.ok(logBytes(dataDir) < 5 * CHECKPOINT_BYTES, `${logBytes(dataDir)} bytes`);
    }));

  test('a checkpoint of the write-ahead log does not change the state of a long read', () =>
    withDirectory(async (dataDir) => {
      await using store = closing(await openSqliteStore({ dataDir, checkpointBytes: CHECKPOINT_BYTES }));
      const roster = await newRoster(store);
      const ids = numbered('u', 12_000);
      await roster.users(...ids.slice(0, 6_000));
      await roster.users(...ids.slice(6_000));
      await roster.putGroup('g', { name: 'G', members: ids });
      const { members } = await roster.group('g');
      await roster.putGroup('g', { members: [] });
      for (let round = 0; round < 30; round += 1) {
        await roster.putGroup('h', { name: `${round}`, metadata: { text: `${round}`.repeat(8_000) } });
      }
      assert.equal(await joined(members), JSON.stringify(ids));
      assert.deepEqual(await roster.members('g'), []);
    }));

  test('a checkpoint of the write-ahead log does not change the state of a page', () =>
    withDirectory(async (dataDir) => {
      await using store = closing(await openSqliteStore({ dataDir, checkpointBytes: 1 }));
      const roster = await newRoster(store);
      const ids = numbered('u', 400);
      await roster.users(...ids);
      let churning = true;
      const churn = (async () => {
        while (churning) {
          await roster.users('u000200-between');
          await store.users.delete(roster.key, 'u000200-between', roster.next());
        }
      })();
      for (let round = 0; round < 100; round += 1) {
        const listed = await idsOf((page) => store.users.list(roster.key, page), 7);
        const stable = listed.filter((id) => id !== 'u000200-between');
        assert.deepEqual(stable, ids);
      }
      churning = false;
      await churn;
    }));

  test('the write-ahead log is checkpointed without a wait for a reader of another process', () =>
    withDirectory(async (dataDir) => {
      await using store = closing(await openSqliteStore({ dataDir, checkpointBytes: 1 }));
      using reader = new DatabaseSync(join(dataDir, STORE_FILE), { readOnly: true });
      const roster = await newRoster(store);
      reader.exec('BEGIN');
      reader.prepare('SELECT count(*) FROM users').get();
      // Each write is followed by a fold; one that waited for the reader would take five seconds, all of them minutes.
      for (const id of numbered('w', 40)) await roster.users(id);
      assert.ok(logBytes(dataDir) > 0, 'what the reader needs is still in the log');
    }));

  test('the write-ahead log is checkpointed also when it has the removal of a deleted project', () =>
    withDirectory(async (dataDir) => {
      await using store = closing(await openSqliteStore({ dataDir, checkpointBytes: CHECKPOINT_BYTES }));
      const roster = await newRoster(store);
      const ids = numbered('u', 5_000);
      await roster.users(...ids);
      for (const id of numbered('g', 10)) await roster.putGroup(id, { name: 'G', members: ids });
      await store.projects.delete(roster.key);
      const left = () => withFile(dataDir, (file) => file.prepare('SELECT 1 FROM users LIMIT 1').get());
      await until('the removal of the users', () => left() === undefined);
      // Nothing is written any more: without being folded, the log would stay as long as it got.
      await until('the checkpoint', () => logBytes(dataDir) <= CHECKPOINT_BYTES);
    }));
});

test('rows of a deleted project are removed between writes that never stop', () =>
  withDirectory(async (dataDir) => {
    await using store = closing(await openSqliteStore({ dataDir }));
    const [deleted, other] = [await newRoster(store), await newRoster(store)];
    await deleted.users('ann');
    await store.projects.delete(deleted.key);
    await until('the removal of the user', async () => {
      await other.putUser('bob', { name: other.next().revision });
      return (
        withFile(dataDir, (file) => file.prepare(`SELECT 1 FROM users WHERE id = 'ann'`).get()) === undefined
      );
    });
  }));

test('rows of a deleted project are removed while there is always a write that waits for the one before it', () =>
  withDirectory(async (dataDir) => {
    await using store = closing(await openSqliteStore({ dataDir }));
    const [deleted, other] = [await newRoster(store), await newRoster(store)];
    await deleted.users('ann');
    const users = numbered('u', 200);
    const isPurged = () =>
      withFile(dataDir, (file) => file.prepare(`SELECT 1 FROM users WHERE id = 'ann'`).get()) === undefined;
    let [batches, wasPurged] = [0, false];
    const writing = Array.from({ length: 16 }, async () => {
      while (batches < 120) {
        await other.users(...users);
        batches += 1;
        if (batches === 80) wasPurged = isPurged();
      }
    });
    await store.projects.delete(deleted.key);
    await Promise.all(writing);
    assert.ok(wasPurged);
  }));

describe('long reads', () => {
  test('long reads end when their readers stop, so the next long read does not wait', () =>
    withDirectory(async (dataDir) => {
      await using store = closing(await openSqliteStore({ dataDir }));
      const roster = await newRoster(store);
      const ids = numbered('u', 10_001);
      await roster.users(...ids.slice(0, 5_000));
      await roster.users(...ids.slice(5_000));
      await roster.putGroup('g', { name: 'G', members: ids });
      for (let count = 0; count < 20; count += 1) {
        const { members } = await roster.group('g');
        assert.ok(typeof members !== 'string');
        const iterator = members[Symbol.asyncIterator]();
        if (count % 2 === 0) await iterator.next();
        await iterator.return?.();
      }
    }));
});
