import assert from 'node:assert/strict';
import process from 'node:process';
import { describe, test } from 'node:test';
import { createMemoryPresence } from '../../src/presence/memory/memory-presence.ts';
import { PresenceSimulation } from './presence-simulation.ts';
import { Random } from './random.ts';

/** ROLLCALL_TEST_SEED sets a seed: that of a failure, or a new one. */
const SEEDS =
  process.env.ROLLCALL_TEST_SEED === undefined ? [1, 2] : [Number(process.env.ROLLCALL_TEST_SEED)];
const STEPS = 6_000;

describe('the simulation of ephemeral presence', () => {
  for (const seed of SEEDS) {
    test(`random presence updates lead the memory engine and the naive model to the same state, seed ${seed}`, async () => {
      const simulation = new PresenceSimulation(createMemoryPresence(), new Random(seed));
      await simulation.run(STEPS);
      assert.ok(simulation.peak > 200, 'enough users were present for the simulation to mean something');
      assert.ok(simulation.ended > 50, `the bounds ended ${simulation.ended}`);
    });
  }
});
