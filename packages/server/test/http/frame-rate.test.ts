import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FrameRate } from '../../src/http/socket/frame-rate.ts';

/** Milliseconds of a clock that has been running for a while. */
const START = 7_000_000;

/** How many frames at one time are taken, before the first that is one too many. */
function takenAt(rate: FrameRate, now: number): number {
  let taken = 0;
  while (rate.take(now)) taken += 1;
  return taken;
}

describe('the rate of frames on a socket', () => {
  test('exactly 200 frames at once are taken', () => {
    assert.equal(takenAt(new FrameRate(START), START), 200);
  });

  test('50 frames a second are taken for ever after a burst of 200', () => {
    const rate = new FrameRate(START);
    for (let count = 0; count < 200; count += 1) assert.ok(rate.take(START));
    for (let frame = 1; frame <= 50 * 600; frame += 1)
      assert.ok(rate.take(START + frame * 20), `frame ${frame}`);
    assert.equal(rate.take(START + 50 * 600 * 20), false, 'one more than 50 a second');
  });

  test('51 frames a second are too many once the burst of 200 is used up', () => {
    const rate = new FrameRate(START);
    let taken = 0;
    while (rate.take(START + (taken + 1) * (1_000 / 51))) taken += 1;
    // Each second takes one frame of the burst.
    assert.ok(taken >= 199 * 51 && taken <= 201 * 51, `${taken}`);
  });

  test('a pause of four seconds allows a burst of 200 again, and a longer one no more', () => {
    for (const [pauseMs, expected] of [
      [1_000, 50],
      [4_000, 200],
      [3_600_000, 200],
    ] as const) {
      const rate = new FrameRate(START);
      for (let count = 0; count < 200; count += 1) rate.take(START);
      assert.equal(takenAt(rate, START + pauseMs), expected, `after ${pauseMs} ms`);
    }
  });
});
