/** Failures of the file system and of single statements under the embedded engine. */
import assert from 'node:assert/strict';
import { copyFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { DURABLE_BOUNDS } from '../../src/store/durable-bounds.ts';
import { StoreCondition } from '../../src/store/sqlite/files/sqlite-condition.ts';
import {
  fileIdentities,
  flushDirectory,
  removeUnfinishedFiles,
} from '../../src/store/sqlite/files/sqlite-files.ts';
import { SqliteConnection } from '../../src/store/sqlite/sqlite-connection.ts';
import { migrate } from '../../src/store/sqlite/sqlite-migrate.ts';
import { SnapshotPool } from '../../src/store/sqlite/sqlite-snapshots.ts';
import { GroupCommit } from '../../src/store/sqlite/writer/sqlite-group-commit.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

async function withStoreFile(use: (file: string, directory: string) => void | Promise<void>): Promise<void> {
  await using directory = await temporaryDirectory('failures');
  const file = join(directory.path, 'rollcall.db');
  const connection = new SqliteConnection(file, { readOnly: false });
  migrate(connection.database);
  connection.close();
  await use(file, directory.path);
}

const CUSTOMER = { id: 'c', secret: 's', name: 'C', createdAt: 1 };

/** A commit of one customer, where the check of the files after it behaves like this. */
function commitWith(file: string, checkAfter: () => string | null) {
  using connection = new SqliteConnection(file, { readOnly: false });
  let [checks, lost]: [number, string | null] = [0, null];
  const readChangedFiles = () => {
    checks += 1;
    return checks % 2 === 0 ? checkAfter() : null;
  };
  const onLost = (reason: string) => {
    lost = reason;
  };
  const condition = new StoreCondition(onLost, [], readChangedFiles);
  const commit = new GroupCommit(connection, DURABLE_BOUNDS, condition);
  return { replies: commit.run([[1, 'customers', 'create', [CUSTOMER]]]), lost };
}

describe('the check of the files after a commit', () => {
  test('the check of the files after a commit does not reject the write when the check itself fails: the write is committed', () =>
    withStoreFile((file) => {
      const { replies, lost } = commitWith(file, () => {
        throw new StoreUnavailableError('the store cannot be checked: EIO');
      });
      assert.deepEqual(replies, [[1, null, true]]);
      assert.equal(lost, null);
    }));

  test('the check of the files after a commit rejects the write when it finds other files, and the store is lost', () =>
    withStoreFile((file) => {
      const { replies, lost } = commitWith(file, () => 'rollcall.db-wal');
      assert.equal(replies[0]?.[1]?.kind, 'unavailable');
      assert.match(String(lost), /rollcall\.db-wal/);
    }));
});

test('a read snapshot whose transaction cannot begin is closed, and its permit is released', () =>
  withStoreFile(async (file) => {
    const pool = new SnapshotPool(file, new StoreCondition(() => {}));
    const { exec } = DatabaseSync.prototype;
    DatabaseSync.prototype.exec = function failing(sql) {
      if (sql === 'BEGIN') throw new Error('disk I/O error');
      return exec.call(this, sql);
    };
    try {
      for (let index = 0; index < 20; index += 1) await assert.rejects(pool.acquire(), /I\/O/);
    } finally {
      DatabaseSync.prototype.exec = exec;
    }
    const snapshot = await pool.acquire();
    pool.release(snapshot);
    pool.close();
  }));

test('a read snapshot of a store whose file was replaced is unavailable: it would show another store', () =>
  withStoreFile(async (file) => {
    const condition = new StoreCondition(() => {});
    condition.watch(fileIdentities(file));
    const pool = new SnapshotPool(file, condition);
    copyFileSync(file, `${file}.copy`);
    renameSync(`${file}.copy`, file);
    await assert.rejects(pool.acquire(), StoreUnavailableError);
    assert.equal(pool.use.open, 0);
    pool.close();
    condition.close();
  }));

test('a read snapshot is unavailable to callers that wait for it when the store is closed, and after that', () =>
  withStoreFile(async (file) => {
    const pool = new SnapshotPool(file, new StoreCondition(() => {}));
    const taken = await Promise.all(Array.from({ length: pool.use.limit }, () => pool.acquire()));
    const awaited = [pool.acquire(), pool.acquire(), pool.acquire()];
    // The first of them has the permit, and not yet the snapshot.
    for (const snapshot of taken.slice(0, 1)) pool.release(snapshot);
    pool.close();
    for (const caller of [...awaited, pool.acquire()])
      await assert.rejects(caller, new StoreUnavailableError('the store is closed'));
    assert.deepEqual([pool.use.open, pool.use.awaited], [0, 0]);
  }));

test('store files of a first start that was killed are removed, and no others', () =>
  withStoreFile((file, directory) => {
    for (const name of ['rollcall.db.new-1', 'rollcall.db.new-1-wal', 'rollcall.db.backup', 'other.new-1'])
      writeFileSync(join(directory, name), '');
    removeUnfinishedFiles(file);
    const left = readdirSync(directory).filter((name) => name !== 'rollcall.db');
    assert.deepEqual(left.sort(), ['other.new-1', 'rollcall.db.backup']);
  }));

for (const code of ['EPERM', 'EISDIR', 'EINVAL']) {
  test(`a data directory that cannot be flushed with ${code} is not an error`, () =>
    withStoreFile((_file, directory) => {
      flushDirectory(directory, () => {
        throw Object.assign(new Error(code), { code });
      });
    }));
}

test('a data directory whose flush fails with an I/O error is an error', () =>
  withStoreFile((_file, directory) => {
    const fail = () => {
      throw Object.assign(new Error('EIO'), { code: 'EIO' });
    };
    assert.throws(() => flushDirectory(directory, fail), { code: 'EIO' });
  }));
