/** On PostgreSQL, operations that are blocked delay no others: locked rows, busy projects, deletions that take long. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Client } from 'pg';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';
import { newRoster, numbered, Roster } from '../contract/store/roster.ts';
import { closing } from '../support/closing.ts';
import { CONTEXT } from '../support/origin.ts';
import { skipsPostgres, withClient, withDatabase } from '../support/postgres.ts';
import { until } from '../support/waiting.ts';
import { withPostgresStore } from './postgres-stores.ts';

const MOST_ATTEMPTS = 10;

interface Bench {
  readonly store: Store;
  /** The project whose operations are blocked. */
  readonly busy: Roster;
  /** Another project. */
  readonly other: Roster;
  /** Connections beside the store's own: one that locks rows, and one that reads pg_stat_activity. */
  readonly locker: Client;
  readonly observer: Client;
}

/** Two projects of one store, each with the users u000001 to u000100 and as many groups, all of whose members they are. */
async function withBench(use: (bench: Bench) => Promise<void>): Promise<void> {
  await withPostgresStore(async (store, url) => {
    const [busy, other] = [await newRoster(store), await newRoster(store)];
    for (const roster of [busy, other]) {
      const users = numbered('u', 100);
      const groups = numbered('g', 100).map((id) => ({ id, name: id, members: users }));
      await roster.applied({ users: users.map((id) => ({ id })), groups });
    }
    await withClient(url, (locker) =>
      withClient(url, (observer) => use({ store, busy, other, locker, observer })),
    );
  });
}

/** One of each write of one row, none of which the other operations touch. */
const writes = (roster: Roster): readonly (() => Promise<unknown>)[] => [
  () => roster.putGroup('g000090', { name: `name ${Math.random()}` }),
  () => roster.putGroup('g000091', { members: ['u000095'] }),
  () => roster.changeMembers('g000092', { remove: ['u000096'] }),
  () => roster.putUser('u000097', { name: `name ${Math.random()}` }),
  () => roster.deleteUser('nobody'),
  () => roster.deleteGroup('g000093'),
  () => roster.batch({ users: [{ id: 'u000098', name: `name ${Math.random()}` }] }),
  () => roster.store.preferences.put(roster.key, 'u000099', { sendViaEmail: false }, CONTEXT),
  () => {
    const update = { userId: 'u000094', groupId: 'g000094', region: '{"p":"1"}', location: '{"p":"1"}' };
    return roster.store.durablePresence.put(roster.key, update, roster.next());
  },
];

/** Waits until so many of the store's connections wait for a lock, for some time. */
async function waiting(observer: Client, count: number, sinceMs = 0): Promise<void> {
  await until(`${count} wait for a lock`, async () => (await waitingNow(observer, sinceMs)) >= count);
}

async function waitingNow(observer: Client, sinceMs = 0): Promise<number> {
  const { rows } = await observer.query(
    `SELECT count(*)::int AS count FROM pg_stat_activity
     WHERE datname = current_database() AND wait_event_type = 'Lock'
       AND clock_timestamp() - query_start > $1 * interval '1 ms'`,
    [sinceMs],
  );
  return rows[0].count;
}

/** Each write succeeded or was unavailable. */
async function assertSettled(running: readonly Promise<unknown>[]): Promise<void> {
  for (const settled of await Promise.allSettled(running)) {
    if (settled.status === 'rejected') assert.ok(settled.reason instanceof StoreUnavailableError);
  }
}

/** Runs the operation, and returns how many of the others ended before it. */
async function doneBefore(others: readonly Promise<unknown>[], run: () => Promise<unknown>): Promise<number> {
  let done = 0;
  const count = () => {
    done += 1;
  };
  for (const each of others) each.then(count, count);
  await run();
  return done;
}

/**
 * Runs all writes of the rosters while `block` starts operations that wait seconds for the lock of `sql`, until they
 * are rejected. On a busy machine the writes may take as long for other reasons: then the run is repeated.
 */
async function whileBlocked(
  { locker, observer }: Bench,
  lock: string,
  block: () => { blocked: Promise<unknown>[]; connections: number },
  rosters: readonly Roster[],
): Promise<void> {
  let isDone = false;
  for (let attempt = 0; !isDone && attempt < MOST_ATTEMPTS; attempt += 1) {
    await locker.query(`BEGIN; ${lock}`);
    let givenUp = 0;
    const { blocked, connections } = block();
    const settled = assertSettled(blocked);
    for (const each of blocked) {
      each.catch(() => {
        givenUp += 1;
      });
    }
    await waiting(observer, connections);
    for (const roster of rosters) await Promise.all(writes(roster).map((write) => write()));
    isDone = givenUp === 0;
    await locker.query('ROLLBACK');
    await settled;
  }
  assert.ok(isDone, 'the writes end before the blocked operations give up');
}

describe('operations of other projects', { skip: skipsPostgres }, () => {
  test('no write is delayed by sixty writes of a row that another transaction has locked', () =>
    withBench((bench) => {
      const { busy, other } = bench;
      const block = () => ({
        blocked: numbered('name', 60).map((name) => busy.putGroup('g000001', { name })),
        connections: 1,
      });
      const lock = `SELECT 1 FROM groups WHERE id = 'g000001' FOR UPDATE`;
      return whileBlocked(bench, lock, block, [other, busy]);
    }));

  test('no write of another project is delayed by writes of a project whose rows are all locked', () =>
    withBench((bench) => {
      const { busy, other } = bench;
      const block = () => ({
        blocked: numbered('', 100).flatMap((index) => [
          busy.putGroup(`g${index}`, { name: 'Late' }),
          busy.putUser(`u${index}`, { name: 'Late' }),
          busy.deleteUser(`u${index}`),
          busy.changeMembers(`g${index}`, { remove: ['u000001'] }),
        ]),
        connections: 2,
      });
      const ofBusy = `WHERE project_id = '${busy.key}' FOR UPDATE`;
      const lock = `SELECT 1 FROM groups ${ofBusy}; SELECT 1 FROM users ${ofBusy}`;
      return whileBlocked(bench, lock, block, [other]);
    }));

  test('no operation is delayed by very many reads and writes of another project', () =>
    withBench(async ({ busy, other }) => {
      const many = (run: (index: number) => Promise<unknown>) =>
        Array.from({ length: 2_000 }, (_, index) => run(index));
      const group = (index: number) => `g${String((index % 100) + 1).padStart(6, '0')}`;
      const kinds = {
        'writes of one row': (index: number) => busy.putGroup('g000001', { name: `name ${index}` }),
        'writes of many rows': (index: number) => busy.putUser(`new ${index}`, {}),
        transactions: (index: number) => busy.changeMembers(group(index), { remove: [`u${index}`] }),
        reads: () => busy.listUsers({ after: null, limit: 100 }),
      };
      for (const [kind, run] of Object.entries(kinds)) {
        const others = many(run);
        const done = await doneBefore(others, () =>
          kind === 'reads' ? other.user('u000001') : other.putGroup('g000001', { name: kind }),
        );
        assert.ok(done < 400, `${kind}: ${done} of 2,000 went first`);
        await assertSettled(others);
      }
    }));

  test('no read is delayed by a read that takes long', () =>
    withBench(async ({ store, other, locker, observer }) => {
      const readMany = () => Promise.all(numbered('u', 20).map((id) => other.user(id)));
      // All connections are open then.
      await readMany();
      await locker.query('BEGIN; LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE');
      const blocked = store.sessions.find('s');
      blocked.catch(() => {});
      await waiting(observer, 1, 200);
      // More than the other connections have statements under way: one on the connection that waits would wait too.
      for (let time = 0; time < 5; time += 1) {
        await readMany();
      }
      assert.equal(await waitingNow(observer), 1, 'all of this while it takes long');
      await locker.query('ROLLBACK');
      assert.equal(await blocked, null);
    }));

  test('no write is delayed by large writes of another project', () =>
    withBench(async ({ busy, other, locker, observer }) => {
      const members = numbered('m', 1_100);
      for (const { applied } of [busy, other].map((roster) => ({ applied: roster.users(...members) })))
        await applied;
      await locker.query('BEGIN');
      await locker.query('SELECT 1 FROM groups WHERE project_id = $1 FOR UPDATE', [busy.key]);
      const blocked = numbered('g', 20).map((id) => busy.putGroup(id, { members }));
      await waiting(observer, 2);
      assert.equal((await other.putGroup('g000001', { members })).kind, 'updated');
      assert.ok((await waitingNow(observer)) >= 2, 'all of this while they wait');
      await Promise.all(writes(other).map((write) => write()));
      await locker.query('ROLLBACK');
      await assertSettled(blocked);
    }));
});

describe('writes of one row', { skip: skipsPostgres }, () => {
  test('writes of one row wait for each other in the process, and not in PostgreSQL', () =>
    withDatabase(async (url) => {
      const made = await openPostgresStore({ url });
      const { key } = await newRoster(made);
      await new Roster(made, key).groupOf('g', 'ann', 'ben');
      await made.close();
      // A store without writes rolls back too: its purge reads what is to be removed.
      const idle = await rollbacksOf(url, async () => (await openPostgresStore({ url })).close());
      const busy = await rollbacksOf(url, () => writeAtOnce(url, key));
      assert.equal(busy, idle, 'a write that waits for a lock is rolled back, and tried again');
    }));
});

/** Ninety writes of one group and of one user, all at once. */
async function writeAtOnce(url: string, key: ProjectKey): Promise<void> {
  await using store = closing(await openPostgresStore({ url }));
  const roster = new Roster(store, key);
  const writing = numbered('', 90).map((index, number) => {
    if (number % 3 === 0) return roster.putGroup('g', { name: index });
    if (number % 3 === 1) return roster.putUser('ben', { name: index });
    return roster.changeMembers('g', number % 2 === 0 ? { remove: ['ann'] } : { add: ['ann'] });
  });
  await Promise.all(writing);
}

/** How many transactions were rolled back by connections that are made and end meanwhile: they are counted at their end. */
async function rollbacksOf(url: string, run: () => Promise<void>): Promise<number> {
  const before = await rollbacks(url);
  await run();
  return (await rollbacks(url)) - before;
}

const rollbacks = (url: string): Promise<number> =>
  withClient(url, async (client) => {
    const { rows } = await client.query(
      'SELECT xact_rollback::int AS count FROM pg_stat_database WHERE datname = current_database()',
    );
    return rows[0].count;
  });

describe('a deletion that takes long', { skip: skipsPostgres }, () => {
  test('a deletion that takes long succeeds, and delays no other write', () =>
    withBench(async ({ busy, other, locker }) => {
      await locker.query(`
        CREATE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF OLD.project_id = '${busy.key}' THEN PERFORM pg_sleep(0.05); END IF;
          RETURN OLD;
        END $$;
        CREATE TRIGGER slowly BEFORE DELETE ON memberships FOR EACH ROW EXECUTE FUNCTION take_long()`);
      const deletions = numbered('g', 3).map((id) => busy.deleteGroup(id));
      for (let time = 0; time < 5; time += 1) {
        await Promise.all(writes(other).map((write) => write()));
      }
      for (const deletion of deletions) assert.equal((await deletion).kind, 'deleted');
    }));
});
