import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { writeRecords } from '../../src/cli/records/record-output.ts';
import { withDataDir } from '../support/server.ts';

test('two runs that write one file at the same time each give it their whole text, and leave nothing beside it', () =>
  withDataDir(async (directory) => {
    const path = join(directory, 'backup.jsonl');
    const { promise: isSecondHalfWritten, resolve: secondHalfWritten } = Promise.withResolvers<void>();
    const { promise: isFirstWritten, resolve: firstWritten } = Promise.withResolvers<void>();
    async function* firstText() {
      yield 'first\n';
      await isSecondHalfWritten;
      yield 'end of the first\n';
    }
    async function* secondText() {
      yield 'second\n';
      secondHalfWritten();
      await isFirstWritten;
      yield 'end of the second\n';
    }
    const first = writeRecords(firstText(), { path, gzip: false });
    const second = writeRecords(secondText(), { path, gzip: false });
    await first;
    assert.equal(await readFile(path, 'utf8'), 'first\nend of the first\n');
    firstWritten();
    await second;
    assert.equal(await readFile(path, 'utf8'), 'second\nend of the second\n');
    assert.deepEqual(await readdir(directory), ['backup.jsonl']);
  }));

test('a file that replaces another one is open to the same accounts, whatever the umask, unless its mode is given', (context) =>
  withDataDir(async (directory) => {
    await mkdir(directory, { recursive: true });
    const umask = process.umask(0o077);
    context.after(() => process.umask(umask));
    const path = join(directory, 'roster.jsonl');
    async function* text() {
      yield 'text\n';
    }
    for (const [before, given, after] of [
      [0o600, undefined, 0o600],
      [0o640, undefined, 0o640],
      [0o664, undefined, 0o664],
      [0o644, 0o600, 0o600],
    ] as const) {
      await writeFile(path, 'before');
      await chmod(path, before);
      await writeRecords(text(), { path, gzip: false, ...(given !== undefined && { mode: given }) });
      assert.equal(await readFile(path, 'utf8'), 'text\n');
      assert.equal((await stat(path)).mode & 0o777, after);
    }
  }));

test('a target that cannot be written is named where much of the text is left, and the text is closed', () =>
  withDataDir(async (directory) => {
    await mkdir(directory, { recursive: true });
    for (const [path, reason] of [
      [join(directory, 'missing', 'file'), 'no such file or directory'],
      [directory, 'illegal operation on a directory'],
      ['/dev/full', 'no space left on device'],
    ] as const)
      for (const gzip of [false, true]) {
        let isClosed = false;
        async function* text() {
          try {
            for (let piece = 0; piece < 200; piece += 1) yield randomBytes(50_000).toString('hex');
          } finally {
            isClosed = true;
          }
        }
        await assert.rejects(writeRecords(text(), { path, gzip }), {
          message: `cannot write ${path}: ${reason}`,
        });
        assert.equal(isClosed, true);
      }
  }));

test('the error of a text that cannot be read is thrown as it is, and leaves no file', () =>
  withDataDir(async (directory) => {
    await mkdir(directory, { recursive: true });
    const failure = new Error('the text has ended too early');
    async function* text() {
      yield 'text';
      throw failure;
    }
    for (const gzip of [false, true])
      await assert.rejects(writeRecords(text(), { path: join(directory, 'file'), gzip }), failure);
    assert.deepEqual(await readdir(directory), []);
  }));
