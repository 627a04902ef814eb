import assert from 'node:assert/strict';
import process from 'node:process';
import { describe, test } from 'node:test';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { StoreSpace } from '../contract/store/store-lab.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { SMALL_BOUNDS, simulateStore } from './store-simulation.ts';

/** A failure prints its seed; ROLLCALL_TEST_SEED sets that one, or a new one. */
const SEEDS =
  process.env.ROLLCALL_TEST_SEED === undefined ? [1, 8] : [Number(process.env.ROLLCALL_TEST_SEED)];
const SIZE = { projects: 20, rounds: 40, openings: 2 };

async function sqliteSpace(): Promise<StoreSpace> {
  const { path: dataDir, remove } = await temporaryDirectory('sim');
  return { open: () => openSqliteStore({ dataDir, durableBounds: SMALL_BOUNDS }), remove };
}

describe('random operations leave SQLite where they leave the naive model', () => {
  for (const seed of SEEDS) {
    test(`random operations lead SQLite and the naive model to the same state, seed ${seed}`, async () => {
      assert.ok((await simulateStore(sqliteSpace, seed, SIZE)) > 2_000, 'enough was done to mean something');
    });
  }
});
