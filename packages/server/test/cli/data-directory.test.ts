import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DataDirectoryError, takeDataDirectory } from '../../src/data-directory.ts';
import { withDataDir } from '../support/server.ts';
import { rollcall } from './cli-process.ts';

const noProc = existsSync('/proc/self') ? false : 'this system has no /proc';

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
