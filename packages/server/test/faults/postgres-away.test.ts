/** PostgreSQL stopped, restarted, paused, or a connection of it cut: answers within 5 s, and back within 5 s of its return. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { newRoster, numbered, Roster } from '../contract/store/roster.ts';
import { closing } from '../support/closing.ts';
import { OwnPostgres, skipsOwnPostgres } from '../support/own-postgres.ts';
import { withClient } from '../support/postgres.ts';
import { untilWaiting } from '../support/postgres-waiting.ts';
import { suiteResource } from '../support/suite-resource.ts';
import { until, within } from '../support/waiting.ts';

const LIMIT_MS = 5_000;

/** One operation of each kind: a read, a single statement, two round trips, a large write, a long read. */
const OPERATIONS: Readonly<Record<string, (roster: Roster) => Promise<unknown>>> = {
  ping: ({ store }) => store.ping(),
  findGroup: ({ store, key }) => store.groups.find(key, 'g'),
  listUsers: ({ store, key }) => store.users.list(key, { after: null, limit: 10 }),
  putGroup: (roster) => roster.putGroup('g', { name: `name ${Math.random()}` }),
  'putGroup with members': (roster) => roster.putGroup('h', { name: 'H', members: ['u000001'] }),
  deleteUser: (roster) => roster.deleteUser('nobody'),
  applyBatch: (roster) => roster.batch({ users: numbered('new', 2_000).map((id) => ({ id })) }),
  'transfer.export': ({ store }) => store.transfer.export()[Symbol.asyncIterator]().next(),
};

/** Checks that the operation rejects as unavailable, in time. */
async function assertUnavailable(name: string, running: Promise<unknown>): Promise<void> {
  await assert.rejects(within(LIMIT_MS, running, name), (error: Error) => {
    assert.ok(error instanceof StoreUnavailableError, `${name}: ${error}`);
    assert.ok(!error.message.includes('\n'), 'one line');
    return true;
  });
}

async function assertBack(roster: Roster): Promise<void> {
  const isBack = (error: unknown) => {
    assert.ok(error instanceof StoreUnavailableError, `${error}`);
    return false;
  };
  const all = Object.entries(OPERATIONS).map(([name, run]) =>
    until(name, () => run(roster).then(() => true, isBack), LIMIT_MS),
  );
  await Promise.all(all);
}

describe('when PostgreSQL is away', { skip: skipsOwnPostgres }, () => {
  let server: OwnPostgres;
  let store: Store;
  let roster: Roster;
  suiteResource<void>((use) =>
    OwnPostgres.with(async (own) => {
      server = own;
      store = await openPostgresStore({ url: `${own.url}&pool_size=4` });
      roster = await newRoster(store);
      await roster.groupOf('g', ...numbered('u', 20));
      await use();
      await store.close();
    }),
  );

  test('opening a store without a PostgreSQL is rejected with one line that names the address', async () => {
    const url = 'postgres://postgres@127.0.0.1:1/postgres';
    await assert.rejects(openPostgresStore({ url }), (error: Error) => {
      assert.ok(error instanceof StoreUnavailableError);
      assert.match(
        error.message,
        /^PostgreSQL at 127\.0\.0\.1:1\/postgres cannot be reached: .*ECONNREFUSED/,
      );
      return true;
    });
  });

  test('while PostgreSQL is stopped every operation is unavailable at once, and succeeds when it is started again', async () => {
    await server.stop();
    await Promise.all(Object.entries(OPERATIONS).map(([name, run]) => assertUnavailable(name, run(roster))));
    await server.start();
    await assertBack(roster);
  });

  test('after a restart of PostgreSQL that no operation saw, every operation succeeds with new connections', async () => {
    await Promise.all(Array.from({ length: 20 }, () => store.groups.find(roster.key, 'g')));
    await server.stop();
    await server.start();
    await assertBack(roster);
  });

  test('while PostgreSQL is paused every operation is unavailable within 5 s, and succeeds when it is resumed', async () => {
    const other = await openPostgresStore({ url: server.url });
    await other.ping();
    server.pause();
    try {
      await Promise.all(
        Object.entries(OPERATIONS).map(([name, run]) => assertUnavailable(name, run(roster))),
      );
      // Also when new connections are needed.
      await assertUnavailable('ping once more', store.ping());
      await assert.rejects(openPostgresStore({ url: server.url }), StoreUnavailableError);
      await within(LIMIT_MS, other.close());
    } finally {
      server.resume();
    }
    await assertBack(roster);
  });

  test('a write that was under way when PostgreSQL was paused is stored whole or not at all', async () => {
    const writes = numbered('both', 60).map((id) =>
      roster.batch({ users: [{ id }], groups: [{ id, name: id, members: [id] }] }),
    );
    await Promise.race(writes);
    server.pause();
    const settled = await within(LIMIT_MS, Promise.allSettled(writes)).finally(() => server.resume());
    await assertBack(roster);
    for (const [index, { status }] of settled.entries()) {
      const id = `both${String(index).padStart(6, '0')}`;
      const [user, group] = [await store.users.find(roster.key, id), await store.groups.find(roster.key, id)];
      assert.equal(user === null, group === null, id);
      if (group !== null) assert.equal(group.members, JSON.stringify([id]));
      if (status === 'fulfilled') assert.ok(group !== null, `${id} was acknowledged`);
    }
  });

  test('a write whose connection to PostgreSQL is cut stores nothing', async () => {
    await withClient(server.url, async (client) => {
      await client.query('BEGIN');
      await client.query('SELECT 1 FROM groups FOR UPDATE');
      const waiting = roster.changeMembers('g', { remove: ['u000003'] });
      const outcome = waiting.then(
        () => 'resolved',
        (error) => error,
      );
      await untilWaiting(server.url, 1);
      await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'`,
      );
      assert.ok((await outcome) instanceof StoreUnavailableError);
      await client.query('ROLLBACK');
    });
    assert.ok((await roster.members('g')).includes('u000003'));
    assert.equal((await roster.membersOf('g')({ after: null, limit: 1 })).total, 20);
    assert.equal((await roster.changeMembers('g', { remove: ['u000003'] })).kind, 'updated');
  });

  test('a write that waits too long for a lock is unavailable within 5 s, and changes nothing later', async () => {
    await using impatient = closing(
      await openPostgresStore({ url: `${server.url}&statement_timeout_ms=300` }),
    );
    const other = new Roster(impatient, roster.key);
    const others = numbered('other', 2_000).map((id) => ({ id, name: id }));
    await withClient(server.url, async (client) => {
      await client.query('BEGIN');
      await client.query('SELECT 1 FROM groups FOR UPDATE');
      await Promise.all([
        assertUnavailable('putGroup', other.putGroup('g', { name: 'Late' })),
        assertUnavailable('changeMembers', other.changeMembers('g', { remove: ['u000004'] })),
        assertUnavailable('deleteGroup', other.deleteGroup('g')),
        assertUnavailable('deleteUser', other.deleteUser('u000005')),
        assertUnavailable('a long list', other.putGroup('g', { members: others.map(({ id }) => id) })),
        assertUnavailable('applyBatch', other.batch({ groups: [{ id: 'g', name: 'Late' }] })),
        assertUnavailable(
          'a large batch',
          other.batch({ users: others, groups: [{ id: 'g', name: 'Late' }] }),
        ),
      ]);
      // Reads continue.
      assert.ok((await other.members('g')).includes('u000004'));
      await client.query('ROLLBACK');
    });
    await assertBack(other);
    assert.ok((await other.members('g')).includes('u000004'));
    assert.notEqual((await other.group('g')).name, 'Late');
  });
});
