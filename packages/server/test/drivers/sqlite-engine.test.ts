/** What is true of the embedded engine alone, beyond the Store's contract. */
import assert from 'node:assert/strict';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SchemaTooNewError } from '../../src/store/migration-files.ts';
import { SqliteConnection } from '../../src/store/sqlite/sqlite-connection.ts';
import { inspectSqliteStore } from '../../src/store/sqlite/sqlite-inspection.ts';
import { migrate, migrations } from '../../src/store/sqlite/sqlite-migrate.ts';
import { openSqliteStore, STORE_FILE } from '../../src/store/sqlite/sqlite-store.ts';
import { StoreUnavailableError } from '../../src/store/store.ts';
import { idsOf, joined } from '../contract/store/entries.ts';
import { newRoster, numbered } from '../contract/store/roster.ts';

async function withDirectory(use: (directory: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-engine-'));
  try {
    await use(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** Looks at, or changes, a store's file behind its back. */
function withFile<Result>(dataDir: string, use: (database: DatabaseSync) => Result): Result {
  const database = new DatabaseSync(join(dataDir, STORE_FILE));
  try {
    return use(database);
  } finally {
    database.close();
  }
}

const pragma = (database: DatabaseSync, name: string) =>
  Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];

describe('the file', () => {
  test('is in WAL mode, whole, and has the version of the last migration', () =>
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

  test('is flushed at every commit: a connection that writes has synchronous FULL', () =>
    withDirectory(async (dataDir) => {
      const connection = new SqliteConnection(join(dataDir, STORE_FILE), { readOnly: false });
      try {
        assert.equal(pragma(connection.database, 'synchronous'), 2);
        assert.equal(pragma(connection.database, 'journal_mode'), 'wal');
      } finally {
        connection.close();
      }
    }));

  test('a connection that reads cannot write', () =>
    withDirectory(async (dataDir) => {
      await (await openSqliteStore({ dataDir })).close();
      const connection = new SqliteConnection(join(dataDir, STORE_FILE), { readOnly: true });
      try {
        assert.throws(() => connection.database.exec('DELETE FROM users'), /readonly/);
      } finally {
        connection.close();
      }
    }));

  test('the data directory is made when it is missing', () =>
    withDirectory(async (directory) => {
      const dataDir = join(directory, 'not', 'there', 'yet');
      await (await openSqliteStore({ dataDir })).close();
      assert.ok(statSync(join(dataDir, STORE_FILE)).size > 0);
    }));

  test('nothing is left in the log after closing: the one file is the store', () =>
    withDirectory(async (dataDir) => {
      const store = await openSqliteStore({ dataDir });
      await (await newRoster(store)).users('ann');
      await store.close();
      const log = statSync(join(dataDir, `${STORE_FILE}-wal`), { throwIfNoEntry: false });
      assert.equal(log?.size ?? 0, 0);
    }));
});

describe('migrations', () => {
  test('are numbered from 1 without a gap, and each says what it does', () => {
    for (const [index, { number, file }] of migrations().entries()) {
      assert.equal(number, index + 1);
      assert.match(file, /^\d{4}(-[a-z0-9]+)+\.sql$/);
    }
    assert.ok(migrations().length > 0);
  });

  test('run once: a store that is up to date is left as it is', () =>
    withDirectory(async (dataDir) => {
      await (await openSqliteStore({ dataDir })).close();
      withFile(dataDir, (database) => {
        const schema = () => database.prepare('SELECT sql FROM sqlite_schema ORDER BY name').all();
        const before = schema();
        migrate(database);
        assert.deepEqual(schema(), before);
      });
    }));

  test('are safe when several start at once on a fresh directory', () =>
    withDirectory(async (dataDir) => {
      const stores = await Promise.all([1, 2, 3, 4, 5].map(() => openSqliteStore({ dataDir })));
      const keys = await Promise.all(stores.map((store) => store.serviceKey()));
      await Promise.all(stores.map((store) => store.close()));
      assert.equal(new Set(keys.map((key) => Buffer.from(key).toString('hex'))).size, 1);
    }));

  test('an older program refuses a newer schema with a clear message, and leaves the file alone', () =>
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

  test('one that fails leaves the store at the version it had', () =>
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

describe('what cannot be opened', () => {
  test('a file that is no database is refused with its name', () =>
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

  test('a directory in place of the file is refused with its name', () =>
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

  test('is folded back while readers read: it stays near its limit, and nobody sees anything old', () =>
    withDirectory(async (dataDir) => {
      const store = await openSqliteStore({ dataDir, checkpointBytes: CHECKPOINT_BYTES });
      try {
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
        assert.ok(logBytes(dataDir) < 20 * CHECKPOINT_BYTES, `${logBytes(dataDir)} bytes`);
      } finally {
        await store.close();
      }
    }));

  test('a long read keeps its state while the log is folded back around it', () =>
    withDirectory(async (dataDir) => {
      const store = await openSqliteStore({ dataDir, checkpointBytes: CHECKPOINT_BYTES });
      try {
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
      } finally {
        await store.close();
      }
    }));

  test('a list is one state of the store in each of its pages, also while the log is folded back', () =>
    withDirectory(async (dataDir) => {
      const store = await openSqliteStore({ dataDir, checkpointBytes: 1 });
      try {
        const roster = await newRoster(store);
        const ids = numbered('u', 400);
        await roster.users(...ids);
        let churning = true;
        const churn = (async () => {
          while (churning) {
            await roster.users('u000200-between');
            await store.deleteUser(roster.key, 'u000200-between', roster.next());
          }
        })();
        for (let round = 0; round < 100; round += 1) {
          const listed = await idsOf((page) => store.listUsers(roster.key, page), 7);
          const stable = listed.filter((id) => id !== 'u000200-between');
          assert.deepEqual(stable, ids);
        }
        churning = false;
        await churn;
      } finally {
        await store.close();
      }
    }));

  test('a reader of another process does not hold up writes when the log is folded back', () =>
    withDirectory(async (dataDir) => {
      const store = await openSqliteStore({ dataDir, checkpointBytes: 1 });
      const reader = new DatabaseSync(join(dataDir, STORE_FILE), { readOnly: true });
      try {
        const roster = await newRoster(store);
        reader.exec('BEGIN');
        reader.prepare('SELECT count(*) FROM users').get();
        // Each write is followed by a fold; one that waited for the reader would take five seconds, all of them minutes.
        for (const id of numbered('w', 40)) await roster.users(id);
        assert.ok(logBytes(dataDir) > 0, 'what the reader needs is still in the log');
      } finally {
        reader.close();
        await store.close();
      }
    }));

  test('is folded back also when it holds the removal of a deleted project', { timeout: 60_000 }, () =>
    withDirectory(async (dataDir) => {
      const store = await openSqliteStore({ dataDir, checkpointBytes: CHECKPOINT_BYTES });
      try {
        const roster = await newRoster(store);
        const ids = numbered('u', 5_000);
        await roster.users(...ids);
        for (const id of numbered('g', 10)) await roster.putGroup(id, { name: 'G', members: ids });
        await store.deleteProject(roster.key);
        const left = () => withFile(dataDir, (file) => file.prepare('SELECT 1 FROM users LIMIT 1').get());
        while (left() !== undefined) await nextTurn();
        // Nothing is written any more: without being folded, the log would stay as long as it got.
        while (logBytes(dataDir) > CHECKPOINT_BYTES) await nextTurn();
      } finally {
        await store.close();
      }
    }),
  );
});

describe('long reads', () => {
  test('end when they are left, however many: the next one need not wait', () =>
    withDirectory(async (dataDir) => {
      const store = await openSqliteStore({ dataDir });
      try {
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
      } finally {
        await store.close();
      }
    }));
});
