import assert from 'node:assert/strict';
import process from 'node:process';
import { describe, test } from 'node:test';
import { openRedisPresence } from '../../src/presence/redis/redis-presence.ts';
import { freshRedisUrl, skipsRedis } from '../support/redis.ts';
import { PresenceSimulation } from './presence-simulation.ts';
import { Random } from './random.ts';

/** ROLLCALL_TEST_SEED sets a seed: that of a failure, or a new one. */
const SEEDS = process.env.ROLLCALL_TEST_SEED === undefined ? [3] : [Number(process.env.ROLLCALL_TEST_SEED)];
const STEPS = 6_000;

describe('random presence operations leave Redis where they leave the naive model', {
  skip: await skipsRedis(),
}, () => {
  for (const seed of SEEDS) {
    test(`random presence operations lead Redis and the naive model to the same state, seed ${seed}`, async (t) => {
      const store = await openRedisPresence({ url: freshRedisUrl() });
      t.after(() => store.close());
      const simulation = new PresenceSimulation(store, new Random(seed));
      await simulation.run(STEPS);
      assert.ok(simulation.peak > 200, 'enough were present to mean something');
      assert.ok(simulation.ended > 50, `the bounds ended ${simulation.ended}`);
    });
  }
});
