/** What `--output` can name besides a new file: links, pipes and devices. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { LAUNCHER } from '../support/launcher.ts';
import { withDataDir } from '../support/server.ts';
import { CHECKOUT, cleanEnvironment, rollcall, rollcallOk } from './cli-process.ts';
import { embedded, makeSmallStore } from './stores.ts';

/** Runs `use` in a directory, with the arguments of a backup of a small store and the text that it writes. */
const withBackup = (use: (directory: string, args: readonly string[], text: string) => Promise<void>) =>
  withDataDir(async (dataDir) => {
    await makeSmallStore(embedded(dataDir));
    const args = ['backup', '--quiet', '--data-dir', dataDir];
    const text = await rollcallOk(args);
    await withDataDir((directory) => use(directory, args, text));
  });

describe('the target of --output', () => {
  test('a symbolic link stays, and the file that it leads to is replaced', () =>
    withBackup(async (directory, args, text) => {
      const [file, link] = [join(directory, 'file'), join(directory, 'link')];
      writeFileSync(file, 'an older backup');
      symlinkSync('file', link);
      await rollcallOk([...args, '--output', link]);
      assert.equal(lstatSync(link).isSymbolicLink(), true);
      assert.equal(readFileSync(file, 'utf8'), text);
      assert.deepEqual(readdirSync(directory).sort(), ['file', 'link']);
    }));

  test('a symbolic link to a file that is missing creates that file', () =>
    withBackup(async (directory, args, text) => {
      const [file, link, other] = ['file', 'link', 'other'].map((name) => join(directory, name)) as [
        string,
        string,
        string,
      ];
      symlinkSync('other', link);
      symlinkSync(file, other);
      await rollcallOk([...args, '--output', link]);
      assert.equal(readFileSync(file, 'utf8'), text);
      assert.deepEqual(readdirSync(directory).sort(), ['file', 'link', 'other']);
      assert.equal(lstatSync(file).mode & 0o777, 0o600);
    }));

  test('a target that cannot be written ends the command with one line that names it and the reason, and leaves no file', () =>
    withBackup(async (directory, args) => {
      const missing = join(directory, 'missing', 'file');
      for (const [path, reason] of [
        [missing, 'no such file or directory'],
        [directory, 'illegal operation on a directory'],
        ['/dev/full', 'no space left on device'],
      ] as const)
        for (const more of [[], ['--gzip']]) {
          const { code, stderr } = await rollcall([...args, ...more, '--output', path]);
          assert.equal(code, 1, stderr);
          assert.equal(stderr, `rollcall: cannot write ${path}: ${reason}\n`);
        }
      assert.deepEqual(readdirSync(directory), []);
    }));

  test('a named pipe gets the text, and stays a pipe', () =>
    withBackup(async (directory, args, text) => {
      const pipe = join(directory, 'pipe');
      await promisify(execFile)('mkfifo', [pipe]);
      const read = readFile(pipe, 'utf8');
      await rollcallOk([...args, '--output', pipe]);
      assert.equal(await read, text);
      assert.equal(lstatSync(pipe).isFIFO(), true);
      assert.deepEqual(readdirSync(directory), ['pipe']);
    }));

  test('/dev/stdout is standard output, also where that is a file to append to', () =>
    withBackup(async (directory, args, text) => {
      // A link of our own: a defect must not replace the one of this machine.
      const [file, link] = [join(directory, 'file'), join(directory, 'stdout')];
      symlinkSync('/proc/self/fd/1', link);
      assert.equal(await rollcallOk([...args, '--output', link], { program: CHECKOUT }), text);
      writeFileSync(file, 'before\n');
      const descriptor = openSync(file, 'a');
      const child = spawn(process.execPath, [LAUNCHER, ...args, '--output', link], {
        stdio: ['ignore', descriptor, 'inherit'],
        env: cleanEnvironment(),
      });
      assert.deepEqual(await once(child, 'close'), [0, null]);
      closeSync(descriptor);
      assert.equal(readFileSync(file, 'utf8'), `before\n${text}`);
      assert.deepEqual(readdirSync(directory).sort(), ['file', 'stdout']);
      assert.equal(lstatSync(link).isSymbolicLink(), true);
    }));
});
