/**
 * A batch that takes long, on a PostgreSQL that is busy with other connections: a busy server does not count as dead. Four times as
 * many memberships fit into a body, and take minutes.
 */
import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { describe, test } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { newRoster, View } from '../contract/store/roster.ts';
import { skipsPostgres, withClient, withDatabase } from '../support/postgres.ts';

const GROUPS = 250;
const MEMBERS = 2_500;
/** Connections that each use a processor of the server, and writers of the store. */
const BUSY = Math.max(2, availableParallelism());
const WRITERS = 4;

const ids = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

/** Loads the server until `isOver`. */
const keepBusy = (url: string, isOver: () => boolean) =>
  withClient(url, async (client) => {
    while (!isOver()) await client.query('SELECT count(*) FROM generate_series(1, 1000000)');
  });

/** Writes one user after the other until `isOver`; on a busy server some of these writes are unavailable. */
async function write(store: Store, roster: View, user: string, isOver: () => boolean): Promise<void> {
  for (let number = 0; !isOver(); number += 1) {
    await store.users.put(roster.key, user, { name: `${number}` }, roster.next()).catch((error) => {
      assert.ok(error instanceof StoreUnavailableError, error);
    });
  }
}

describe('on a PostgreSQL that is busy', { skip: skipsPostgres }, () => {
  test(`a batch of ${GROUPS} groups with ${MEMBERS} members each is applied`, () =>
    withDatabase(async (url) => {
      const store = await openPostgresStore({ url });
      const roster = await newRoster(store);
      const members = ids('u', MEMBERS);
      await roster.users(...members);
      const body = Buffer.from(
        JSON.stringify({ groups: ids('g', GROUPS).map((id) => ({ id, name: id, members })) }),
      );
      let isDone = false;
      const isOver = () => isDone;
      const load = [
        ...Array.from({ length: BUSY }, () => keepBusy(url, isOver)),
        ...members.slice(0, WRITERS).map((user) => write(store, new View(store, roster.key), user, isOver)),
      ];
      const loading = Promise.allSettled(load);
      const outcome = await roster.batch(body).finally(() => {
        isDone = true;
        return loading;
      });
      for (const loaded of await loading) assert.equal(loaded.status, 'fulfilled');
      assert.ok(outcome.kind === 'applied');
      assert.deepEqual(outcome.groups, { created: GROUPS, updated: 0, unchanged: 0 });
      const { total } = await roster.membersOf(`g${GROUPS - 1}`)({ after: null, limit: 1 });
      assert.equal(total, MEMBERS);
      await store.close();
    }));
});
