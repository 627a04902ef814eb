import assert from 'node:assert/strict';
import fs, { chmodSync, chownSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import process from 'node:process';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { DataDirectoryError, lockDataDirectory } from '../../src/data-directory.ts';
import { withDataDir } from '../support/server.ts';
import { CHECKOUT, rollcall } from './cli-process.ts';
import { embedded, makeSmallStore } from './stores.ts';

const noProc = existsSync('/proc/self') ? false : 'this system has no /proc';

const notRoot = process.geteuid?.() === 0 ? false : 'only root can give a file to another account';

test('a data directory is created with the directories above it, for this account alone', () =>
  withDataDir(async (parent) => {
    const dataDir = join(parent, 'a', 'b');
    lockDataDirectory(dataDir)();
    for (const made of [join(parent, 'a'), dataDir]) assert.equal(statSync(made).mode & 0o777, 0o700, made);
    lockDataDirectory(dataDir)();
  }));

test('a data directory is locked by one process at a time', () =>
  withDataDir(async (dataDir) => {
    const unlock = lockDataDirectory(dataDir);
    assert.throws(() => lockDataDirectory(dataDir), DataDirectoryError);
    unlock();
    lockDataDirectory(dataDir)();
  }));

test('serve.lock can be opened by this account alone in a data directory that is open to others', () =>
  withDataDir(async (dataDir) => {
    chmodSync(dataDir, 0o755);
    const file = join(dataDir, 'serve.lock');
    lockDataDirectory(dataDir)();
    assert.equal(statSync(file).mode & 0o777, 0o600);
    // An earlier version created the file with this mode.
    chmodSync(file, 0o644);
    lockDataDirectory(dataDir)();
    assert.equal(statSync(file).mode & 0o777, 0o600);
  }));

test('a serve.lock whose mode cannot be changed is locked all the same, with a warning', (context) =>
  withDataDir(async (dataDir) => {
    const file = join(dataDir, 'serve.lock');
    writeFileSync(file, '', { mode: 0o644 });
    const { mock } = context.mock.method(fs, 'chmodSync', () => {
      throw Object.assign(new Error('operation not permitted'), { code: 'EPERM' });
    });
    syncBuiltinESMExports();
    try {
      const warnings: string[] = [];
      const unlock = lockDataDirectory(dataDir, (message) => warnings.push(message));
      assert.throws(() => lockDataDirectory(dataDir), DataDirectoryError);
      unlock();
      assert.match(warnings.join(), /^other accounts can open .*serve\.lock.*\(EPERM\)$/);
    } finally {
      mock.restore();
      syncBuiltinESMExports();
    }
  }));

test(
  'a start with a serve.lock of another account fails with one line that names the account',
  { skip: notRoot },
  () =>
    withDataDir(async (dataDir) => {
      const file = join(dataDir, 'serve.lock');
      writeFileSync(file, '', { mode: 0o600 });
      chownSync(file, 4_321, 4_321);
      const ended = await rollcall(['serve', '--port', '0', '--data-dir', dataDir]);
      assert.equal(ended.code, 1);
      assert.match(ended.stderr, /^rollcall: the data directory [^\n]+ belongs to account 4321[^\n]+\n$/);
    }),
);

/** What an account needs to write: the directory, and the files in it. */
for (const [what, path] of [
  ['rollcall.db', '/rollcall.db'],
  ['serve.lock', '/serve.lock'],
  ['the directory', ''],
])
  test(
    `rollcall doctor fails where ${what} of another account is not writable`,
    {
      skip: notRoot,
    },
    () =>
      withDataDir(async (dataDir) => {
        const account = 4_321;
        await makeSmallStore(embedded(dataDir));
        lockDataDirectory(dataDir)();
        for (const each of [dataDir, ...readdirSync(dataDir).map((name) => join(dataDir, name))])
          chownSync(each, account, account);
        const doctor = () =>
          rollcall(['doctor', '--data-dir', dataDir], {
            program: CHECKOUT,
            env: { ROLLCALL_PORT: '1' },
            account,
          });
        assert.equal((await doctor()).code, 0);
        const closed = `${dataDir}${path}`;
        chmodSync(closed, path === '' ? 0o755 : 0o644);
        chownSync(closed, 0, 0);
        const { code, stdout } = await doctor();
        assert.equal(code, 1);
        const line = `^failed {3}data directory: ${closed} is not writable for this account\\n {9}Run chown `;
        assert.match(stdout, new RegExp(line, 'm'));
      }),
  );

// In a process that can be killed: Node's own recursive mkdir never returns for these paths.
for (const dataDir of ['/proc/rollcall', '/proc/rollcall/data', '/proc/self/rollcall']) {
  test(`a start with the data directory ${dataDir}, where none can be created, fails with one line`, {
    skip: noProc,
  }, async () => {
    const ended = await rollcall(['serve', '--port', '0', '--data-dir', dataDir]);
    assert.equal(ended.code, 1);
    assert.match(
      ended.stderr,
      new RegExp(`^rollcall: the data directory ${dataDir} cannot be used: [^\\n]+\\n$`),
    );
  });
}

test('a command does not migrate a store whose directory another process has locked, but reads a current one', () =>
  withDataDir(async (dataDir) => {
    await makeSmallStore(embedded(dataDir));
    const version = (change = '') => {
      using database = new DatabaseSync(join(dataDir, 'rollcall.db'));
      if (change !== '') database.exec(change);
      return Object.values(database.prepare('PRAGMA user_version').get() ?? {})[0];
    };
    const latest = Number(version());
    version(`PRAGMA user_version = ${latest - 1}`);
    const unlock = lockDataDirectory(dataDir);
    const ended = await rollcall(['project', 'create', 'P', '--data-dir', dataDir]);
    unlock();
    assert.equal(ended.code, 1);
    assert.match(ended.stderr, /^rollcall: another server uses the data directory [^\n]+\n$/);
    assert.equal(version(), latest - 1);
    version(`PRAGMA user_version = ${latest}`);
    const unlockAgain = lockDataDirectory(dataDir);
    assert.equal((await rollcall(['project', 'list', '--data-dir', dataDir])).code, 0);
    unlockAgain();
  }));
