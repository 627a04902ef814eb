import process from 'node:process';
import { describe, test } from 'node:test';
import { createMemoryPresence } from '../../src/presence/memory/memory-presence.ts';
import { openRedisPresence } from '../../src/presence/redis/redis-presence.ts';
import { freshRedisUrl, skipsRedis } from '../support/redis.ts';
import { HoldSimulation } from './hold-simulation.ts';
import { Random } from './random.ts';

/** ROLLCALL_TEST_SEED sets a seed: that of a failure, or a new one. */
const own = process.env.ROLLCALL_TEST_SEED;
const SEEDS = own === undefined ? [1, 2, 3] : [Number(own)];
const REDIS_SEEDS = own === undefined ? [4] : SEEDS;

describe('the simulation of connections, leases, releases and data', () => {
  for (const seed of SEEDS) {
    test(`random connections lead the memory engine and the naive model to the same state, seed ${seed}`, async () => {
      await new HoldSimulation(createMemoryPresence(), new Random(seed)).run(5_000);
    });
  }
});

describe('the simulation of connections, leases, releases and data on Redis', {
  skip: await skipsRedis(),
}, () => {
  for (const seed of REDIS_SEEDS) {
    test(`random connections lead Redis and the naive model to the same state, seed ${seed}`, async (t) => {
      const store = await openRedisPresence({ url: freshRedisUrl() });
      t.after(() => store.close());
      await new HoldSimulation(store, new Random(seed)).run(800);
    });
  }
});
