import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { writeRecords } from '../../src/cli/records/record-output.ts';
import { withDataDir } from '../support/server.ts';

test('two runs that write one file at the same time each give it their whole text, and leave nothing beside it', () =>
  withDataDir(undefined, async (directory) => {
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
