import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { timestamp } from '../../src/wire/timestamp.ts';

const DAY_MS = 86_400_000;
/** The last time that a `Date` can be, in milliseconds. */
const LAST = 8.64e15;

describe('timestamps of answers', () => {
  test('a timestamp is the ISO 8601 text of its time in UTC, to the millisecond', () => {
    const seed = Date.now();
    const edges = [0, 1, 59_999, 60_000, 3_599_999, DAY_MS - 1, DAY_MS, 951_782_400_000, 253_402_300_799_999];
    const before = edges.map((time) => -time);
    const random = Array.from({ length: 20_000 }, (_, step) => (seed * (step + 1)) % 4_102_444_800_000);
    for (const time of [...edges, ...before, LAST, -LAST, 253_402_300_800_000, 1_234.5, ...random])
      assert.equal(timestamp(time), new Date(time).toISOString(), `${time}, seed ${seed}`);
  });

  test('a time that no Date can be has no timestamp', () => {
    for (const time of [LAST + DAY_MS, Number.NaN, Number.POSITIVE_INFINITY])
      assert.throws(() => timestamp(time), RangeError);
  });
});
