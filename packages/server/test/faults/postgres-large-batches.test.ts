/** PostgreSQL is paused while more large batches wait than there are threads: none of them hangs. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { newRoster, numbered, type Roster } from '../contract/store/roster.ts';
import { OwnPostgres, skipsOwnPostgres } from '../support/own-postgres.ts';
import { withClient } from '../support/postgres.ts';
import { untilWaiting } from '../support/postgres-waiting.ts';
import { within } from '../support/waiting.ts';

const LIMIT_MS = 5_000;
/** The batches of each of two projects: more than have a thread. */
const BATCHES = 4;
const USERS = 3_000;
/** One for each batch of a project, so that none waits for what another one has locked. */
const groups = numbered('g', BATCHES);

async function withServer(use: (store: Store, server: OwnPostgres) => Promise<void>): Promise<void> {
  await OwnPostgres.with(async (server) => {
    const store = await openPostgresStore({ url: server.url });
    try {
      await use(store, server);
    } finally {
      server.resume();
      await store.close();
    }
  });
}

/** Starts all batches, and returns the outcome of each. */
function applyAll(rosters: readonly Roster[]): Promise<unknown>[] {
  return rosters.flatMap((roster) =>
    groups.map((id) => {
      const users = numbered(`${id}-`, USERS).map((user) => ({ id: user }));
      return roster.applied({ users, groups: [{ id, name: id }] }).then(
        () => 'applied',
        (error) => error,
      );
    }),
  );
}

async function assertUnavailable(outcomes: readonly Promise<unknown>[]): Promise<void> {
  for (const outcome of await within(LIMIT_MS, Promise.all(outcomes))) {
    assert.ok(outcome instanceof StoreUnavailableError, `${outcome}`);
  }
}

async function twoProjects(store: Store): Promise<Roster[]> {
  const rosters = [await newRoster(store), await newRoster(store)];
  for (const roster of rosters) for (const id of groups) await roster.groupOf(id, 'ann');
  return rosters;
}

const allApplied = (rosters: readonly Roster[]) =>
  Array.from({ length: rosters.length * BATCHES }, () => 'applied');

describe('more large batches than threads are unavailable in time, and apply when PostgreSQL is back', {
  skip: skipsOwnPostgres,
}, () => {
  test('more large batches than threads are unavailable in time when PostgreSQL is paused before they begin', () =>
    withServer(async (store, server) => {
      const rosters = await twoProjects(store);
      server.pause();
      await assertUnavailable(applyAll(rosters));
      server.resume();
      assert.deepEqual(await Promise.all(applyAll(rosters)), allApplied(rosters));
    }));

  test('more large batches than threads are unavailable in time when PostgreSQL is paused while some are under way', () =>
    withServer(async (store, server) => {
      const rosters = await twoProjects(store);
      // Threads that have yet to start would not all wait before the first of them has waited too long.
      assert.deepEqual(await Promise.all(applyAll(rosters)), allApplied(rosters));
      await withClient(server.url, async (client) => {
        await client.query('BEGIN');
        await client.query('SELECT 1 FROM groups FOR UPDATE');
        const outcomes = applyAll(rosters);
        await untilWaiting(server.url, 3);
        server.pause();
        await assertUnavailable(outcomes).finally(() => server.resume());
        await client.query('ROLLBACK');
      });
      assert.deepEqual(await Promise.all(applyAll(rosters)), allApplied(rosters));
    }));
});
