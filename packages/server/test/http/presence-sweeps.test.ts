/** The log while the engine of presence is away. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as tick } from 'node:timers/promises';
import { pino } from 'pino';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import type { Engine } from '../../src/wiring.ts';
import { altered, withApp } from './app-case.ts';

/** The lines of the log during so many seconds in which `isAway` decides for each sweep whether the engine fails. */
async function linesOf(
  seconds: number,
  isAway: (sweep: number) => boolean,
  sweepTicks = 1,
): Promise<string[]> {
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (text) => void lines.push(JSON.parse(text).msg) });
  let sweeps = 0;
  let ticks = 0;
  const disturb = ({ presence }: Engine) => ({
    presence: altered(presence, {
      async sweep(now) {
        sweeps += 1;
        const until = ticks + sweepTicks - 1;
        while (ticks < until) await tick();
        if (isAway(sweeps)) throw new StoreUnavailableError('away');
        return presence.sweep(now);
      },
    }),
  });
  await withApp({ log, disturb }, async ({ clock }) => {
    for (ticks = 0; ticks < seconds * 4; ticks += 1) {
      clock.move(250);
      await tick();
      await tick();
    }
  });
  assert.equal(sweeps, (seconds * 4) / sweepTicks, 'each is tried');
  return lines;
}

const AWAY = 'expired presence could not be swept; streams report departures late until a sweep succeeds';
const BACK = 'expired presence is swept again; there was no failure for a minute';

describe('a presence engine that is away is logged when that begins, each minute, and after a minute without failure', () => {
  test('sweeps of presence that fail at once are logged once a minute', async () => {
    const isAway = (sweep: number) => sweep > 8 && sweep <= 8 + 150 * 4;
    assert.deepEqual(await linesOf(220, isAway), [AWAY, AWAY, AWAY, BACK]);
  });

  test('sweeps of presence that fail after two seconds are logged once a minute', async () => {
    assert.deepEqual(await linesOf(124, () => true, 8), [AWAY, AWAY, AWAY]);
  });

  for (const every of [2, 22, 40]) {
    test(`sweeps of presence of which one in ${every} fails are logged once a minute`, async () => {
      assert.deepEqual(await linesOf(100, (sweep) => sweep % every === 1), [AWAY, AWAY]);
    });
  }
});

test('a sweep that is due during a sweep follows right after it, so no expired presence waits for another', async () => {
  const times: number[] = [];
  const first = Promise.withResolvers<void>();
  const disturb = ({ presence }: Engine) => ({
    presence: altered(presence, {
      async sweep(now) {
        times.push(now);
        if (times.length === 1) await first.promise;
        return presence.sweep(now);
      },
    }),
  });
  await withApp({ disturb }, async ({ clock }) => {
    clock.move(250);
    clock.move(250);
    assert.equal(times.length, 1);
    first.resolve();
    for (let count = 0; count < 20; count += 1) await tick();
    assert.deepEqual(times, [clock.now() - 250, clock.now()]);
  });
});
