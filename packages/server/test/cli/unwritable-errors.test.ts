/** Messages on standard error that cannot be written do not change the result of a command. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { describe, test } from 'node:test';
import { LAUNCHER } from '../support/launcher.ts';
import { withDataDir } from '../support/server.ts';
import { cleanEnvironment } from './cli-process.ts';
import { embedded, makeSmallStore } from './stores.ts';

/** Runs a command in a shell with this redirection, and gives its exit code and what it printed. */
const run = (args: readonly string[], redirection: string, cwd: string) =>
  new Promise<{ readonly code: unknown; readonly stdout: string }>((resolve) => {
    const script = `"$0" "$@" ${redirection}`;
    const command = ['-c', script, process.execPath, LAUNCHER, ...args];
    execFile('bash', command, { env: cleanEnvironment(), cwd }, (error, stdout) =>
      resolve({ code: error === null ? 0 : error.code, stdout }),
    );
  });

const CASES: readonly [what: string, args: readonly string[], code: number, stdout: RegExp][] = [
  ['a backup with a message at its end', ['backup', '--data-dir', '.'], 0, /"type":"end"/],
  ['a command that fails', ['project', 'rename', 'none', 'N', '--data-dir', '.'], 1, /^$/],
  ['bad usage', ['project', '--no-such-option'], 2, /^$/],
  ['a restore of a file with a wrong line', ['restore', 'wrong', '--data-dir', 'new'], 1, /^$/],
  ['config check with a warning', ['config', 'check'], 0, /ROLLCALL_PORT/],
];

describe('standard error that cannot be written', () => {
  for (const [name, redirection] of [
    ['a full disk', '2>/dev/full'],
    ['a closed pipe', '2> >(exec 0<&-)'],
    ['closed', '2>&-'],
  ] as const)
    test(`the exit code and the output of a command are the same where standard error is ${name}`, () =>
      withDataDir(async (directory) => {
        await makeSmallStore(embedded(directory));
        writeFileSync(join(directory, 'wrong'), '{');
        for (const [what, args, code, stdout] of CASES) {
          const ended = await run(args, redirection, directory);
          assert.equal(ended.code, code, what);
          assert.match(ended.stdout, stdout, what);
        }
      }));
});
