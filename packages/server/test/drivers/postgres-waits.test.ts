/** Writes that wait for locks of PostgreSQL, and readers of long lists that wait for snapshots. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Client } from 'pg';
import { PostgresDatabase } from '../../src/store/postgres/connections/postgres-database.ts';
import { parsePostgresUrl } from '../../src/store/postgres/connections/postgres-url.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { joined } from '../contract/store/entries.ts';
import { newRoster, numbered, type Roster } from '../contract/store/roster.ts';
import { closing } from '../support/closing.ts';
import { skipsPostgres, withClient, withDatabase } from '../support/postgres.ts';
import { untilWaiting } from '../support/postgres-waiting.ts';
import { within } from '../support/waiting.ts';
import { withPostgresStore } from './postgres-stores.ts';

const MANY = numbered('u', 1_001);
const LIMIT_MS = 5_000;

/** Blocks this thread, by default for longer than a server may be silent. */
const stayBusy = (ms = 5_000) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

describe('a write that waits for a lock', { skip: skipsPostgres }, () => {
  /** A group of one member, whose row another transaction has locked. */
  const whileLocked = (use: (roster: Roster, locker: Client, url: string) => Promise<void>): Promise<void> =>
    withPostgresStore(async (store, url) => {
      const roster = await newRoster(store);
      await roster.groupOf('g', 'ann');
      await roster.users(...MANY);
      await withClient(url, async (locker) => {
        await locker.query('BEGIN');
        await locker.query(`SELECT 1 FROM groups WHERE id = 'g' FOR UPDATE`);
        await use(roster, locker, url);
      });
    });

  const writes = (roster: Roster): Promise<unknown>[] => [
    roster.applied({ groups: [{ id: 'g', name: 'New' }] }),
    roster.putGroup('g', { members: MANY }),
    roster.changeMembers('g', { add: MANY }),
  ];

  test('a write that waits for a lock is applied when the lock is released before the limit', () =>
    whileLocked(async (roster, locker, url) => {
      const written = Promise.all(writes(roster));
      written.catch(() => {});
      await untilWaiting(url, 2, 1_000);
      await locker.query('ROLLBACK');
      await written;
      assert.equal((await roster.group('g')).name, 'New');
      assert.deepEqual(await roster.members('g'), MANY);
    }));

  test('a write that waits for a lock beyond the limit is unavailable within 5 s, and changes nothing later', () =>
    whileLocked(async (roster, locker) => {
      for (const settled of await within(LIMIT_MS, Promise.allSettled(writes(roster)))) {
        assert.ok(settled.status === 'rejected' && settled.reason instanceof StoreUnavailableError);
      }
      await locker.query('ROLLBACK');
      assert.deepEqual(await roster.members('g'), ['ann']);
    }));

  test('a write receives the answers that came while its process was busy for seconds', () =>
    whileLocked(async (roster, locker, url) => {
      const released = locker.query('SELECT pg_sleep(1); ROLLBACK');
      const written = roster.putGroup('g', { members: MANY });
      written.catch(() => {});
      await untilWaiting(url, 1);
      stayBusy();
      assert.equal((await written).kind, 'updated');
      await released;
    }));
});

describe('a single statement', { skip: skipsPostgres }, () => {
  test('a single statement is not part of a transaction that leases its connection while it is opened', () =>
    withDatabase(async (url) => {
      await withClient(url, (client) => client.query('CREATE TABLE numbers (number integer)'));
      await using database = closing(new PostgresDatabase(parsePostgresUrl(`${url}?pool_size=4`)));
      const INSERT = 'INSERT INTO numbers VALUES ($1)';
      const single = (number: number) => database.write(INSERT, number);
      const rolledBack = (number: number) =>
        database.transaction({}, async (transaction) => {
          await transaction.run([INSERT, number]);
          throw new Error('rolled back');
        });
      await Promise.allSettled([single(1), single(2), single(3), rolledBack(4), rolledBack(5)]);
      const { rows } = await withClient(url, (client) =>
        client.query('SELECT number FROM numbers ORDER BY 1'),
      );
      assert.deepEqual(rows, [{ number: 1 }, { number: 2 }, { number: 3 }]);
    }));
});

describe('a deletion that takes long', { skip: skipsPostgres }, () => {
  test('a deletion that takes long gets the time it needs, also after it waited for a lock', () =>
    withDatabase(async (url) => {
      await using store = closing(await openPostgresStore({ url: `${url}?statement_timeout_ms=600` }));
      const roster = await newRoster(store);
      await roster.groupOf('g', 'ann');
      await withClient(url, async (client) => {
        await client.query(
          'CREATE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(3); RETURN NULL; END $$',
        );
        await client.query(
          'CREATE TRIGGER take_long AFTER DELETE ON memberships FOR EACH STATEMENT EXECUTE FUNCTION take_long()',
        );
        await client.query('BEGIN');
        await client.query('SELECT 1 FROM groups FOR UPDATE');
        const deletion = roster.deleteGroup('g');
        deletion.catch(() => {});
        // Longer than a pipelined statement waits.
        await untilWaiting(url, 1, 100);
        await client.query('ROLLBACK');
        await deletion;
      });
      assert.equal(await store.groups.find(roster.key, 'g'), null);
    }));
});

describe('a reader of a long list that stops reading', { skip: skipsPostgres }, () => {
  const SIZE = 10_500;

  test('a reader of a long list that stops loses its snapshot to another reader, and continues where the group has not changed', () =>
    withPostgresStore(async (store) => {
      const roster = await newRoster(store);
      const ids = numbered('u', SIZE);
      await roster.users(...ids.slice(0, 10_000));
      await roster.users(...ids.slice(10_000));
      for (const id of ['same', 'changed']) await roster.putGroup(id, { name: id, members: ids });
      const stopped = await Promise.all(
        ['same', 'changed', 'same', 'changed'].map(async (id) => {
          const { members } = await roster.group(id);
          assert.ok(typeof members !== 'string');
          const pieces = members[Symbol.asyncIterator]();
          const begun = [(await pieces.next()).value, (await pieces.next()).value];
          const rest = { [Symbol.asyncIterator]: () => pieces };
          return async () => begun.join('') + (await joined(rest));
        }),
      );
      // Four more readers that stop too: each takes the snapshot of one.
      const later = await Promise.all(Array.from({ length: 4 }, () => roster.group('same')));
      await roster.changeMembers('changed', { remove: ['u000001', 'u010000'] });
      assert.deepEqual(
        await roster.members('changed'),
        ids.filter((id) => !/^u0(00001|10000)$/.test(id)),
      );
      for (const { members } of later) assert.equal(await joined(members), JSON.stringify(ids));
      const [one, two, three, four] = stopped as [(typeof stopped)[0], ...typeof stopped];
      for (const read of [one, three]) assert.equal(await read?.(), JSON.stringify(ids));
      for (const read of [two, four]) await assert.rejects(async () => read?.(), StoreUnavailableError);
    }));
});

describe('a transaction whose process is busy with something else', { skip: skipsPostgres }, () => {
  test('a transaction that begins before its process is busy for seconds is applied', () =>
    withDatabase(async (url) => {
      await using database = closing(new PostgresDatabase(parsePostgresUrl(url)));
      const written = database.transaction({}, (transaction) => {
        const begun = transaction.run(['SELECT 1']);
        // What was sent leaves after this.
        stayBusy();
        return begun;
      });
      assert.deepEqual(await written, [[[1]]]);
    }));

  test('a transaction in which nothing is sent for too long is unavailable', () =>
    withDatabase(async (url) => {
      await using database = closing(
        new PostgresDatabase({ ...parsePostgresUrl(url), idleInTransactionMs: 50 }),
      );
      const write = database.transaction({}, async (transaction) => {
        await transaction.run(['SELECT 1']);
        stayBusy(500);
        await transaction.run(['SELECT 2']);
      });
      await assert.rejects(write, StoreUnavailableError);
    }));
});

describe('a transaction that has lasted long', { skip: skipsPostgres }, () => {
  /** How often a connection checks for late answers. */
  const CHECK_MS = 200;

  /** A clock that `pass` moves, and with it the checks for late answers. */
  function movedClock({ mock }: TestContext): { pass(ms: number): Promise<void> } {
    const now = performance.now.bind(performance);
    let passed = 0;
    mock.method(performance, 'now', () => now() + passed);
    mock.timers.enable({ apis: ['setInterval'] });
    return {
      async pass(ms) {
        for (let left = ms; left > 0; left -= CHECK_MS) {
          passed += CHECK_MS;
          mock.timers.tick(CHECK_MS);
          await new Promise(setImmediate);
        }
      },
    };
  }

  test('a server may be silent in a transaction for twice as long as it had lasted, and no longer', (t) =>
    withDatabase(async (url) => {
      const clock = movedClock(t);
      await using database = closing(new PostgresDatabase(parsePostgresUrl(url)));
      /** A statement after 20 s that the server answers after `silentMs`. */
      const answeredAfter = (silentMs: number) =>
        database.transaction({}, async (transaction) => {
          await transaction.run(['SELECT 1']);
          await clock.pass(20_000);
          const answered = transaction.run(['SELECT 2 FROM pg_sleep(1)']);
          const [rows] = await Promise.all([answered, clock.pass(silentMs)]);
          return rows;
        });
      assert.deepEqual(await answeredAfter(35_000), [[[2]]]);
      await assert.rejects(answeredAfter(45_000), /no answer in time/);
    }));

  test('a transaction whose statement takes too long after minutes of others is run again on any connection', (t) =>
    withDatabase(async (url) => {
      const clock = movedClock(t);
      await using database = closing(
        new PostgresDatabase(parsePostgresUrl(`${url}?statement_timeout_ms=100`)),
      );
      let runs = 0;
      const answered = database.transaction({}, async (transaction) => {
        runs += 1;
        await transaction.run(['SELECT 1']);
        await clock.pass(120_000);
        return transaction.run(['SELECT 2 FROM pg_sleep(0.3)']);
      });
      assert.deepEqual(await answered, [[[2]]]);
      assert.equal(runs, 2);
    }));
});
