/** What the log says while the engine of presence is away. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import { StoreUnavailableError } from '../../src/store/store.ts';
import type { Engine } from '../../src/wiring.ts';
import { altered, withApp } from './app-case.ts';

test('an engine that is away is told of when that begins, each minute, and when it is over', async () => {
  const lines: { level: number; msg: string }[] = [];
  const log = pino({ level: 'info' }, { write: (text) => void lines.push(JSON.parse(text)) });
  let isAway = false;
  let sweeps = 0;
  const options = {
    log,
    disturb: ({ presence }: Engine) => ({
      presence: altered(presence, {
        async sweep(now) {
          sweeps += 1;
          if (isAway) throw new StoreUnavailableError('away');
          return presence.sweep(now);
        },
      }),
    }),
  };
  await withApp(options, async ({ clock }) => {
    const pass = async (seconds: number) => {
      for (let step = 0; step < seconds * 4; step += 1) {
        clock.move(250);
        await turn();
      }
    };
    await pass(2);
    assert.equal(sweeps, 8);
    isAway = true;
    await pass(150);
    assert.equal(sweeps, 8 + 600, 'each is tried');
    isAway = false;
    await pass(10);
  });
  assert.deepEqual(
    lines.map(({ level, msg }) => [level, msg]),
    [
      [50, 'expired presence is not dropped'],
      [50, 'expired presence is not dropped'],
      [50, 'expired presence is not dropped'],
      [30, 'expired presence is dropped again'],
    ],
  );
});
