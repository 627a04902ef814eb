import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { orderedMap } from '../../src/cli/roster/ordered-map.ts';

async function* countTo(end: number) {
  for (let value = 1; value <= end; value += 1) yield value;
}

test('results come in the order of the source, and no more than the given number is under way', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(20),
      fc.integer({ min: 1, max: 5 }),
      fc.scheduler(),
      async (end, most, scheduler) => {
        let running = 0;
        let peak = 0;
        const double = async (value: number) => {
          running += 1;
          peak = Math.max(peak, running);
          await scheduler.schedule(Promise.resolve());
          running -= 1;
          return value * 2;
        };
        const results = await scheduler.waitFor(Array.fromAsync(orderedMap(countTo(end), most, double)));
        assert.deepEqual(
          results,
          Array.from({ length: end }, (_, index) => (index + 1) * 2),
        );
        assert.ok(peak <= most, `${peak} at once`);
        assert.equal(peak, Math.min(most, end), 'it does not do as much at once as it may');
      },
    ),
  );
});

test('a failure comes in its turn', async () => {
  const results: number[] = [];
  const failing = async (value: number) => (value >= 3 ? Promise.reject(new Error(`no ${value}`)) : value);
  await assert.rejects(async () => {
    for await (const value of orderedMap(countTo(9), 4, failing)) results.push(value);
  }, /no 3/);
  assert.deepEqual(results, [1, 2]);
});
