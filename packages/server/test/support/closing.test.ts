import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTwo } from './closing.ts';

test('the first of two is closed where the second cannot be opened, and both stay open otherwise', async () => {
  const ended: string[] = [];
  const opening = (...names: (string | null)[]) =>
    openTwo(async () => {
      const name = names.shift();
      if (name === null) throw new Error('it cannot be opened');
      return { close: () => ended.push(`${name}`) };
    });
  await assert.rejects(opening('a', null), /it cannot be opened/);
  assert.deepEqual(ended, ['a']);
  await opening('b', 'c');
  assert.deepEqual(ended, ['a']);
});
