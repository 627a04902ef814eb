import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { describe, test } from 'node:test';
import { findNode, isRequired } from '../support/programs.ts';
import { withDataDir } from '../support/server.ts';
import { KNOWN } from './cli-process.ts';

const BIN = join(import.meta.dirname, '../../bin');
const LAUNCHER = join(BIN, 'rollcall.mjs');

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function launch(node: string, args: readonly string[]): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(node, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const read = async () => {
    const [stdout, stderr, [code]] = await Promise.all([
      child.stdout.setEncoding('utf8').toArray(),
      child.stderr.setEncoding('utf8').toArray(),
      once(child, 'close'),
    ]);
    return { code, stdout: stdout.join(''), stderr: stderr.join('') };
  };
  return { child, ended: read() };
}

/** The launcher without anything that npm installed. */
function copyLauncher(directory: string): string {
  for (const name of ['rollcall.mjs', 'checkout.mjs']) copyFileSync(join(BIN, name), join(directory, name));
  return join(directory, 'rollcall.mjs');
}

/** A Node of this machine that is too old to run TypeScript, if there is one. */
const older = findNode(/^v(?:20|21|22|23)\./);
const noOlder = older === undefined && !isRequired('node-20') && 'this machine has no Node from 20 to 23';

describe('the launcher', () => {
  test('the launcher runs the command line on its own Node where that is new enough', async () => {
    const { code, stdout } = await launch(process.execPath, [LAUNCHER, '--version']).ended;
    assert.equal(code, 0);
    assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
  });

  test('the launcher on an older Node runs the Node that npm installed, with its output and exit code', {
    skip: noOlder,
  }, async () => {
    const version = await launch(older ?? '', [LAUNCHER, '--version']).ended;
    assert.deepEqual({ code: version.code, stderr: version.stderr }, { code: 0, stderr: '' });
    const unknown = await launch(older ?? '', [LAUNCHER, 'no-such-command']).ended;
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /unknown command/);
  });

  test('the launcher on an older Node passes signals on and ends as the server does', { skip: noOlder }, () =>
    withDataDir(async (dataDir) => {
      const args = [LAUNCHER, 'serve', '--port', '0', '--data-dir', dataDir, ...KNOWN];
      const { child, ended } = launch(older ?? '', args);
      child.stdout?.on('data', (text: string) => {
        if (text.includes('"listening"')) child.kill('SIGTERM');
      });
      const { code, stdout } = await ended;
      assert.match(stdout, /"msg":"stopped"/);
      assert.equal(code, 0);
    }),
  );

  test(
    'the launcher without a newer Node is exit code 2 and names the Node that is needed',
    { skip: noOlder },
    () =>
      withDataDir(async (directory) => {
        const alone = copyLauncher(directory);
        const { code, stderr } = await launch(older ?? '', [alone, 'serve']).ended;
        assert.equal(code, 2);
        assert.match(stderr, /^rollcall: Node 24 or later is needed, and this is v2\d[^\n]+\n$/);
      }),
  );

  test(
    'the launcher with a newer Node that does not run is exit code 2 and prints its error',
    { skip: noOlder },
    () =>
      withDataDir(async (directory) => {
        const alone = copyLauncher(directory);
        const bin = join(directory, 'node_modules/.bin');
        mkdirSync(bin, { recursive: true });
        const words = 'libatomic.so.1: cannot open shared object file';
        writeFileSync(join(bin, 'node'), `#!/bin/sh\necho '${words}' >&2\nexit 127\n`, { mode: 0o755 });
        const { code, stderr } = await launch(older ?? '', [alone, 'serve']).ended;
        assert.equal(code, 2);
        assert.match(stderr, new RegExp(`node_modules/.bin/node does not run here: ${words}\n$`));
      }),
  );
});
