/** The items of a long command, one after the other, until its signal. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { interruptible } from '../../src/cli/interruption.ts';
import { usedBytes } from '../support/heap.ts';

const ITEMS = 100;
const ITEM_BYTES = 1_000_000;

/** Texts of which each takes memory of its own. */
async function* texts() {
  for (let index = 0; index < ITEMS; index += 1) yield `${index}`.padEnd(ITEM_BYTES, 'x');
}

describe('the items of an interruptible command', () => {
  test('items of an interruptible command are not stored once they are read', async () => {
    const before = await usedBytes();
    const items = interruptible(texts(), new AbortController().signal);
    for (let index = 0; index < ITEMS - 1; index += 1) await items.next();
    const stored = (await usedBytes()) - before;
    assert.equal((await items.next()).done, false);
    assert.ok(stored < (ITEMS * ITEM_BYTES) / 4, `${stored} bytes`);
  });

  test('an interruptible command ends with the reason of its signal, also while its source waits', async () => {
    const controller = new AbortController();
    const items = interruptible(
      (async function* () {
        yield 1;
        await new Promise(() => {});
      })(),
      controller.signal,
    );
    assert.equal((await items.next()).value, 1);
    const next = items.next();
    controller.abort(new Error('the reason'));
    await assert.rejects(next, /the reason/);
    assert.equal((await items.next()).done, true);
  });
});
