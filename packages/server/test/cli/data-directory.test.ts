import assert from 'node:assert/strict';
import { chmodSync, chownSync, existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { DataDirectoryError, takeDataDirectory } from '../../src/data-directory.ts';
import { withDataDir } from '../support/server.ts';
import { rollcall } from './cli-process.ts';

const noProc = existsSync('/proc/self') ? false : 'this system has no /proc';

const notRoot = process.geteuid?.() === 0 ? false : 'only root can give a file to another account';

test('a directory is made with those above it, for nobody but this account', () =>
  withDataDir(undefined, async (parent) => {
    const dataDir = join(parent, 'a', 'b');
    takeDataDirectory(dataDir)();
    for (const made of [join(parent, 'a'), dataDir]) assert.equal(statSync(made).mode & 0o777, 0o700, made);
    takeDataDirectory(dataDir)();
  }));

test('a directory is taken by one at a time', () =>
  withDataDir(undefined, async (dataDir) => {
    const giveBack = takeDataDirectory(dataDir);
    assert.throws(() => takeDataDirectory(dataDir), DataDirectoryError);
    giveBack();
    takeDataDirectory(dataDir)();
  }));

test('the lock file can be opened by this account alone, in a directory that is open to others', () =>
  withDataDir(undefined, async (dataDir) => {
    chmodSync(dataDir, 0o755);
    const file = join(dataDir, 'serve.lock');
    takeDataDirectory(dataDir)();
    assert.equal(statSync(file).mode & 0o777, 0o600);
    // As an earlier version made it.
    chmodSync(file, 0o644);
    takeDataDirectory(dataDir)();
    assert.equal(statSync(file).mode & 0o777, 0o600);
  }));

test('a lock file of another account: one line that names the account, exit code 1', { skip: notRoot }, () =>
  withDataDir(undefined, async (dataDir) => {
    const file = join(dataDir, 'serve.lock');
    writeFileSync(file, '', { mode: 0o600 });
    chownSync(file, 4_321, 4_321);
    const ended = await rollcall(['serve', '--port', '0', '--data-dir', dataDir]);
    assert.equal(ended.code, 1);
    assert.match(ended.stderr, /^rollcall: the data directory [^\n]+ belongs to account 4321[^\n]+\n$/);
  }),
);

// In a process that can be killed: asked to make these, Node's own recursive way never returns.
for (const dataDir of ['/proc/rollcall', '/proc/rollcall/data', '/proc/self/rollcall']) {
  test(`${dataDir}, where nothing can be made: one line, exit code 1`, { skip: noProc }, async () => {
    const ended = await rollcall(['serve', '--port', '0', '--data-dir', dataDir]);
    assert.equal(ended.code, 1);
    assert.match(
      ended.stderr,
      new RegExp(`^rollcall: the data directory ${dataDir} cannot be used: [^\\n]+\\n$`),
    );
  });
}
