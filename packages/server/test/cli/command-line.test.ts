import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Command } from 'commander';
import { buildCli } from '../../src/cli/cli.ts';
import { withDataDir } from '../support/server.ts';
import { CHECKOUT, cleanEnvironment, rollcall } from './cli-process.ts';
import { runHere } from './run-here.ts';

/** All commands by their full names. */
function allCommands(command: Command, name = ''): [string[], Command][] {
  const path = name === '' ? [] : name.split(' ');
  return [
    [path, command],
    ...command.commands.flatMap((inner) => allCommands(inner, `${name} ${inner.name()}`.trim())),
  ];
}

/** Runs any command line, also of a server, that ends before anything is done. */
async function parse(args: readonly string[]) {
  const { code, stdout, stderr } = await runHere(args, cleanEnvironment());
  return { code, stdout: stdout.toString(), stderr: stderr.toString() };
}

describe('every command of rollcall', () => {
  for (const [path, command] of allCommands(buildCli())) {
    const name = ['rollcall', ...path].join(' ');
    test(`${name} --help describes the command, with examples where it has an action`, async () => {
      const { code, stdout } = await parse([...path, '--help']);
      assert.equal(code, 0);
      assert.ok(stdout.startsWith(`Usage: ${name}`), stdout);
      if (command.commands.length === 0) assert.match(stdout, /\nExamples:\n {2}\$ .*rollcall/);
    });

    test(`${name} with an unknown option is exit code 2`, async () => {
      const required = command.options
        .filter((option) => option.mandatory)
        .flatMap(({ long }) => [long ?? '', 'x']);
      const { code, stdout, stderr } = await parse([...path, ...required, '--no-such-option']);
      assert.equal(code, 2);
      assert.match(stderr, /unknown option '--no-such-option'/);
      assert.equal(stdout, '');
    });
  }

  test('an unknown command is exit code 2 and one line that names the nearest command', async () => {
    const ended = await rollcall(['projcet', 'list'], { program: CHECKOUT });
    assert.equal(ended.code, 2);
    assert.match(ended.stderr, /unknown command 'projcet'\n\(Did you mean project\?\)/);
    // A command that runs in this process has the same result.
    assert.deepEqual(await rollcall(['projcet', 'list']), ended);
  });

  test('rollcall without a command is exit code 2 and shows the help', async () => {
    const ended = await rollcall([], { program: CHECKOUT });
    assert.equal(ended.code, 2);
    assert.match(ended.stderr, /^Usage: rollcall/);
    assert.deepEqual(await rollcall([]), ended);
  });

  for (const [path, command] of allCommands(buildCli())) {
    const taking = command.options.filter(({ required, optional }) => required || optional);
    if (taking.length === 0) continue;
    const name = ['rollcall', ...path].join(' ');
    test(`${name} with an empty value of any of its options is exit code 2, with an error that names the option`, async () => {
      const args = command.registeredArguments.filter(({ required }) => required).map(() => 'x');
      for (const { long, mandatory } of taking) {
        const others = command.options.filter((option) => option.mandatory && option.long !== long);
        const required = others.flatMap((option) => [option.long ?? '', 'x']);
        const { code, stdout, stderr } = await parse([...path, ...args, ...required, long ?? '', '']);
        assert.deepEqual([code, stdout], [2, ''], `${long}: ${stderr}`);
        assert.match(stderr, new RegExp(`${long}\\b`), `${long} ${mandatory}`);
      }
    });
  }

  const opening = [
    ['token'],
    ['token', '--customer'],
    ['project', 'list'],
    ['project', 'create', 'x'],
    ['project', 'delete', 'x', '--yes'],
    ['customer', 'list'],
    ['customer', 'create', 'x'],
    ['group', 'connect', 'g', '--workspace', 'w'],
  ];
  for (const args of opening) {
    test(`rollcall ${args.join(' ')} without a store is exit code 1 and creates no store`, () =>
      withDataDir(async (parent) => {
        const dataDir = join(parent, 'data');
        const { code, stdout, stderr } = await rollcall([...args, '--data-dir', dataDir]);
        assert.equal(code, 1);
        assert.match(stderr, /^rollcall: there is no store in [^\n]+\n$/);
        assert.equal(stdout, '');
        assert.ok(!existsSync(dataDir));
      }));
  }

  for (const args of [
    ...opening,
    ...[['backup'], ['restore', 'file'], ['doctor'], ['export'], ['sync', 'file'], ['changes']],
  ])
    test(`rollcall ${args.join(' ')} with --data-dir and a database URL is bad usage, and opens neither store`, () =>
      withDataDir(async (directory) => {
        const [file = '', urlFile = '', dataDir = ''] = ['file', 'url', 'data'].map((n) =>
          join(directory, n),
        );
        writeFileSync(file, '');
        const url = 'postgres://u:p4ssw0rd@127.0.0.1:1/db';
        writeFileSync(urlFile, url);
        for (const [name, env] of [
          ['ROLLCALL_DATABASE_URL', { ROLLCALL_DATABASE_URL: url }],
          ['ROLLCALL_DATABASE_URL_FILE', { ROLLCALL_DATABASE_URL_FILE: urlFile }],
        ] as const) {
          const given = args.map((arg) => (arg === 'file' ? file : arg));
          const { code, stdout, stderr } = await rollcall([...given, '--data-dir', dataDir], { env });
          assert.deepEqual([code, stdout], [2, ''], stderr);
          assert.equal(stderr, `rollcall: --data-dir and ${name} name two stores: leave one of them out\n`);
        }
        assert.ok(!existsSync(dataDir));
      }));

  test('a command with --data-dir takes an empty ROLLCALL_DATABASE_URL as absent, and ROLLCALL_DATA_DIR beside a URL as unused', () =>
    withDataDir(async (cwd) => {
      const empty = await rollcall(['project', 'list', '--data-dir', 'data'], {
        cwd,
        env: { ROLLCALL_DATABASE_URL: '' },
      });
      assert.deepEqual([empty.code, empty.stderr.includes('there is no store in data')], [1, true]);
      const env = { ROLLCALL_DATA_DIR: 'data', ROLLCALL_DATABASE_URL: 'postgres://127.0.0.1:1/db' };
      const both = await rollcall(['project', 'list'], { cwd, env });
      assert.deepEqual([both.code, /PostgreSQL at 127\.0\.0\.1:1/.test(both.stderr)], [1, true], both.stderr);
    }));
});
