/** PostgreSQL stopped, restarted, paused, or a connection of it cut: answers within 5 s, and back within 5 s of its return. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { type Store, StoreUnavailableError } from '../../src/store/store.ts';
import { newRoster, numbered, Roster } from '../contract/store/roster.ts';
import { OwnPostgres, skipsOwnPostgres } from '../support/own-postgres.ts';
import { withClient } from '../support/postgres.ts';

const LIMIT_MS = 5_000;

/** One of everything that the driver does in its own way: a read, a statement, two round trips, a large write, a long read. */
const OPERATIONS: Readonly<Record<string, (roster: Roster) => Promise<unknown>>> = {
  ping: ({ store }) => store.ping(),
  findGroup: ({ store, key }) => store.findGroup(key, 'g'),
  listUsers: ({ store, key }) => store.listUsers(key, { after: null, limit: 10 }),
  putGroup: (roster) => roster.putGroup('g', { name: `name ${Math.random()}` }),
  'putGroup with members': (roster) => roster.putGroup('h', { name: 'H', members: ['u000001'] }),
  deleteUser: (roster) => roster.deleteUser('nobody'),
  applyBatch: (roster) => roster.batch({ users: numbered('new', 2_000).map((id) => ({ id })) }),
  carryOut: ({ store }) => store.carryOut()[Symbol.asyncIterator]().next(),
};

/** Rejects as unavailable, and in time. */
async function assertUnavailable(name: string, running: Promise<unknown>): Promise<void> {
  const begun = performance.now();
  const settled = await Promise.race([
    running.then(
      (value) => `resolved with ${JSON.stringify(value)}`,
      (error) => error,
    ),
    delay(LIMIT_MS, 'no answer in time', { ref: false }),
  ]);
  assert.ok(
    settled instanceof StoreUnavailableError,
    `${name}: ${settled} after ${performance.now() - begun} ms`,
  );
  assert.ok(!settled.message.includes('\n'), 'one line');
}

async function assertBack(roster: Roster): Promise<void> {
  const deadline = performance.now() + LIMIT_MS;
  for (const [name, run] of Object.entries(OPERATIONS)) {
    for (;;) {
      try {
        await run(roster);
        break;
      } catch (error) {
        assert.ok(error instanceof StoreUnavailableError, `${name}: ${error}`);
        assert.ok(performance.now() < deadline, `${name} is not back: ${error}`);
        await delay(20);
      }
    }
  }
}

describe('when PostgreSQL is away', { skip: skipsOwnPostgres }, () => {
  let server: OwnPostgres;
  let store: Store;
  let roster: Roster;
  let end: () => void;
  let running: Promise<void>;

  before(async () => {
    const ready = Promise.withResolvers<void>();
    running = OwnPostgres.with(async (own) => {
      server = own;
      store = await openPostgresStore({ url: `${own.url}&pool_size=4` });
      roster = await newRoster(store);
      await roster.groupOf('g', ...numbered('u', 20));
      const ended = Promise.withResolvers<void>();
      end = ended.resolve;
      ready.resolve();
      await ended.promise;
      await store.close();
    });
    running.catch(ready.reject);
    await ready.promise;
  });
  after(async () => {
    end?.();
    await running;
  });

  test('opening a store says in one line that it is not there', async () => {
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

  test('stopped: everything is unavailable at once, and back when it is started again', async () => {
    await server.stop();
    await Promise.all(Object.entries(OPERATIONS).map(([name, run]) => assertUnavailable(name, run(roster))));
    await server.start();
    await assertBack(roster);
  });

  test('restarted without anybody asking meanwhile: nobody notices but by the connections that are new', async () => {
    await Promise.all(Array.from({ length: 20 }, () => store.findGroup(roster.key, 'g')));
    await server.stop();
    await server.start();
    await assertBack(roster);
  });

  test('paused: everything answers in time that it is unavailable, and goes on when it is resumed', async () => {
    const other = await openPostgresStore({ url: server.url });
    await other.ping();
    server.pause();
    try {
      await Promise.all(
        Object.entries(OPERATIONS).map(([name, run]) => assertUnavailable(name, run(roster))),
      );
      // Also with connections to make.
      await assertUnavailable('ping once more', store.ping());
      await assert.rejects(openPostgresStore({ url: server.url }), StoreUnavailableError);
      const closed = other.close().then(() => 'closed');
      assert.equal(await Promise.race([closed, delay(LIMIT_MS, 'open', { ref: false })]), 'closed');
    } finally {
      server.resume();
    }
    await assertBack(roster);
  });

  test('paused in the middle of many writes: each is there whole or not at all', async () => {
    const writes = numbered('both', 60).map((id) =>
      roster.batch({ users: [{ id }], groups: [{ id, name: id, members: [id] }] }),
    );
    await delay(5);
    server.pause();
    const settled = await Promise.race([
      Promise.allSettled(writes),
      delay(LIMIT_MS, 'no answer in time', { ref: false }),
    ]);
    server.resume();
    assert.ok(typeof settled !== 'string', String(settled));
    await assertBack(roster);
    for (const [index, { status }] of settled.entries()) {
      const id = `both${String(index).padStart(6, '0')}`;
      const [user, group] = [await store.findUser(roster.key, id), await store.findGroup(roster.key, id)];
      assert.equal(user === null, group === null, id);
      if (group !== null) assert.equal(group.members, JSON.stringify([id]));
      if (status === 'fulfilled') assert.ok(group !== null, `${id} was acknowledged`);
    }
  });

  test('a connection that is cut in the middle of a write leaves nothing of it', async () => {
    await withClient(server.url, async (client) => {
      await client.query('BEGIN');
      await client.query('SELECT 1 FROM groups FOR UPDATE');
      const waiting = roster.changeMembers('g', { remove: ['u000003'] });
      const outcome = waiting.then(
        () => 'resolved',
        (error) => error,
      );
      await cutWaiting(client);
      assert.ok((await outcome) instanceof StoreUnavailableError);
      await client.query('ROLLBACK');
    });
    assert.ok((await roster.members('g')).includes('u000003'));
    assert.equal((await roster.membersOf('g')({ after: null, limit: 1 })).total, 20);
    assert.equal((await roster.changeMembers('g', { remove: ['u000003'] })).kind, 'updated');
  });

  test('who waits too long for a lock is told so in time, and nothing of it happens later', async () => {
    const impatient = await openPostgresStore({ url: `${server.url}&statement_timeout_ms=300` });
    const other = new Roster(impatient, roster.key);
    const others = numbered('other', 2_000).map((id) => ({ id, name: id }));
    try {
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
        // Reads go on.
        assert.ok((await other.members('g')).includes('u000004'));
        await client.query('ROLLBACK');
      });
      await assertBack(other);
      assert.ok((await other.members('g')).includes('u000004'));
      assert.notEqual((await other.group('g')).name, 'Late');
    } finally {
      await impatient.close();
    }
  });
});

/** Ends the server's side of whoever waits for a lock, as soon as somebody does. */
async function cutWaiting(client: {
  query(sql: string): Promise<{ rowCount: number | null }>;
}): Promise<void> {
  const deadline = performance.now() + LIMIT_MS;
  for (;;) {
    const { rowCount } = await client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'`,
    );
    if (rowCount !== null && rowCount > 0) return;
    assert.ok(performance.now() < deadline, 'somebody waits');
    await delay(5);
  }
}
