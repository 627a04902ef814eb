import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { Batcher } from '../../src/concurrency/batcher.ts';

type Call = [kind: string, items: readonly number[]];

/** A batcher that doubles numbers, and the calls that it made. */
function doubling(batchMax = 100): { batcher: Batcher<string, number, number>; calls: Call[] } {
  const calls: Call[] = [];
  const batcher = new Batcher<string, number, number>(batchMax, async (kind, items) => {
    calls.push([kind, items]);
    if (kind === 'failing') throw new Error('no answer');
    return items.map((item) => (item < 0 ? new RangeError(`${item}`) : 2 * item));
  });
  return { batcher, calls };
}

describe('a batcher', () => {
  test('a batcher makes one call of each kind for the items of one event-loop tick', async () => {
    const { batcher, calls } = doubling();
    const results = [batcher.add('a', 1), batcher.add('b', 2), batcher.add('a', 3)];
    assert.deepEqual(calls, []);
    assert.deepEqual(await Promise.all(results), [2, 4, 6]);
    assert.deepEqual(await batcher.add('a', 4), 8);
    assert.deepEqual(calls, [
      ['a', [1, 3]],
      ['b', [2]],
      ['a', [4]],
    ]);
  });

  test('a batcher makes a call before the end of the tick when a batch is full', async () => {
    const { batcher, calls } = doubling(2);
    const results = [1, 2, 3].map((item) => batcher.add('a', item));
    assert.deepEqual(calls, [['a', [1, 2]]]);
    assert.deepEqual(await Promise.all(results), [2, 4, 6]);
    assert.deepEqual(calls.slice(1), [['a', [3]]]);
    await Promise.all([4, 5].map((item) => batcher.add('a', item)));
    await nextIteration();
    assert.deepEqual(calls.slice(2), [['a', [4, 5]]]);
  });

  test('a batcher makes the calls at once when it is flushed', async () => {
    const { batcher, calls } = doubling();
    const result = batcher.add('a', 1);
    batcher.flush();
    assert.deepEqual(calls, [['a', [1]]]);
    assert.equal(await result, 2);
    await nextIteration();
    assert.equal(calls.length, 1);
  });

  test('a batcher with a limit of calls makes one of the items that came while another was under way', async () => {
    const calls: number[][] = [];
    const ends: (() => void)[] = [];
    const handle = async (_kind: string, items: readonly number[]) => {
      calls.push([...items]);
      await new Promise<void>((resolve) => ends.push(resolve));
      if (items.includes(0)) throw new Error('no answer');
      return items;
    };
    const batcher = new Batcher<string, number, number>(3, handle, 1);
    const results = [batcher.add('a', 1)];
    await nextIteration();
    for (const item of [2, 3, 4, 0]) results.push(batcher.add('a', item));
    results.push(batcher.add('b', 9));
    const settled = Promise.allSettled(results);
    await nextIteration();
    assert.deepEqual(calls, [[1], [9]], 'the other kind waits for none');
    while (ends.length > 0) {
      ends.shift()?.();
      await nextIteration();
    }
    assert.deepEqual(calls.slice(2), [[2, 3, 4], [0]]);
    assert.deepEqual(
      (await settled).map((each) => (each.status === 'fulfilled' ? each.value : each.reason.message)),
      [1, 2, 3, 4, 'no answer', 9],
    );
    const last = batcher.add('a', 5);
    await nextIteration();
    assert.deepEqual(calls.at(-1), [5], 'the call that failed is under way no longer');
    ends.shift()?.();
    assert.equal(await last, 5);
  });

  test('a batcher makes no more calls of a kind at once than its limit, also when one of them has ended', async () => {
    const calls: number[] = [];
    const ends: (() => void)[] = [];
    const handle = async (_kind: string, items: readonly number[]) => {
      calls.push(...items);
      await new Promise<void>((resolve) => ends.push(resolve));
      return items;
    };
    const batcher = new Batcher<string, number, number>(1, handle, 2);
    const results = [1, 2].map((item) => batcher.add('a', item));
    assert.deepEqual(calls, [1, 2]);
    ends.shift()?.();
    assert.equal(await results[0], 1);
    await nextIteration();
    results.push(...[3, 4].map((item) => batcher.add('a', item)));
    assert.deepEqual(calls, [1, 2, 3]);
    while (ends.length > 0) {
      ends.shift()?.();
      await nextIteration();
    }
    assert.deepEqual(await Promise.all(results), [1, 2, 3, 4]);
  });

  test('a batcher rejects the item whose result is an error alone, and all of a call that fails', async () => {
    const { batcher } = doubling();
    const settled = await Promise.allSettled([
      batcher.add('a', -1),
      batcher.add('a', 1),
      batcher.add('failing', 1),
      batcher.add('failing', 2),
    ]);
    assert.deepEqual(
      settled.map((each) => (each.status === 'fulfilled' ? each.value : each.reason.message)),
      ['-1', 2, 'no answer', 'no answer'],
    );
  });
});
