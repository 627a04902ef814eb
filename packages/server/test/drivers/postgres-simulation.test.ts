/** Random operations, some of them racing, leave PostgreSQL where they leave the naive model (see sim/). */
import assert from 'node:assert/strict';
import process from 'node:process';
import { describe, test } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { StoreSpace } from '../contract/store/store-lab.ts';
import { SMALL_BOUNDS, simulateStore } from '../sim/store-simulation.ts';
import { ownDatabase, skipsPostgres } from '../support/postgres.ts';

/** A failure prints its seed; ROLLCALL_TEST_SEED sets that one, or a new one. */
const SEEDS =
  process.env.ROLLCALL_TEST_SEED === undefined ? [8, 10] : [Number(process.env.ROLLCALL_TEST_SEED)];
// More projects at once than the store has connections would wait for each other, on a busy machine for too long.
const SIZE = { projects: 8, rounds: 100, openings: 2 };

async function postgresSpace(): Promise<StoreSpace> {
  const { url, remove } = await ownDatabase();
  return { open: () => openPostgresStore({ url, durableBounds: SMALL_BOUNDS }), remove };
}

describe('random operations leave PostgreSQL where they leave the naive model', {
  skip: skipsPostgres,
}, () => {
  for (const seed of SEEDS) {
    test(`random operations with seed ${seed} leave the store as the model has it`, async () => {
      assert.ok(
        (await simulateStore(postgresSpace, seed, SIZE)) > 2_000,
        'enough was done to mean something',
      );
    });
  }
});
