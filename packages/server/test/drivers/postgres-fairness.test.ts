/** On PostgreSQL, what is held up holds up nobody else: rows that others lock, projects with much to do, deletions that take long. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { type ProjectKey, type Store, StoreUnavailableError } from '../../src/store/store.ts';
import { newRoster, numbered, Roster } from '../contract/store/roster.ts';
import { skipsPostgres, withClient, withDatabase } from '../support/postgres.ts';

const LIMIT_MS = 20_000;

interface Bench {
  readonly store: Store;
  /** The project with whatever is in the way. */
  readonly busy: Roster;
  /** Another one. */
  readonly other: Roster;
  /** Connections behind the store's back: one that locks something, one that looks on. */
  readonly locker: Client;
  readonly onlooker: Client;
}

/** Two projects of one store, each with the users u000001 to u000100 and as many groups, all of whose members they are. */
async function withBench(use: (bench: Bench) => Promise<void>): Promise<void> {
  await withDatabase(async (url) => {
    const store = await openPostgresStore({ url });
    try {
      const [busy, other] = [await newRoster(store), await newRoster(store)];
      for (const roster of [busy, other]) {
        const users = numbered('u', 100);
        const groups = numbered('g', 100).map((id) => ({ id, name: id, members: users }));
        await roster.applied({ users: users.map((id) => ({ id })), groups });
      }
      await withClient(url, (locker) =>
        withClient(url, (onlooker) => use({ store, busy, other, locker, onlooker })),
      );
    } finally {
      await store.close();
    }
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
  () => roster.store.putPreferences(roster.key, 'u000099', { sendViaEmail: false }),
  () => {
    const place = { userId: 'u000094', groupId: 'g000094', region: '{"p":"1"}', location: '{"p":"1"}' };
    return roster.store.putDurablePresence(roster.key, place, roster.next());
  },
];

/** Waits until so many of the store's connections wait for a lock, for some time. */
async function waiting(onlooker: Client, count: number, sinceMs = 0): Promise<void> {
  const deadline = performance.now() + LIMIT_MS;
  while ((await waitingNow(onlooker, sinceMs)) < count) {
    assert.ok(performance.now() < deadline, `${count} wait for a lock`);
    await delay(5);
  }
}

async function waitingNow(onlooker: Client, sinceMs = 0): Promise<number> {
  const { rows } = await onlooker.query(
    `SELECT count(*)::int AS count FROM pg_stat_activity
     WHERE datname = current_database() AND wait_event_type = 'Lock'
       AND clock_timestamp() - query_start > $1 * interval '1 ms'`,
    [sinceMs],
  );
  return rows[0].count;
}

/** Each either did it, or was told in time that it cannot be done. */
async function assertSettled(running: readonly Promise<unknown>[]): Promise<void> {
  for (const settled of await Promise.allSettled(running)) {
    if (settled.status === 'rejected') assert.ok(settled.reason instanceof StoreUnavailableError);
  }
}

/** Does it, and says how many of the others were done before it. */
async function doneBefore(others: readonly Promise<unknown>[], run: () => Promise<unknown>): Promise<number> {
  let done = 0;
  const count = () => {
    done += 1;
  };
  for (const each of others) each.then(count, count);
  await run();
  return done;
}

describe('what is held up holds up nobody else', { skip: skipsPostgres }, () => {
  test('sixty writes of a row that somebody else locks', () =>
    withBench(async ({ busy, other, locker, onlooker }) => {
      await locker.query('BEGIN');
      await locker.query(`SELECT 1 FROM groups WHERE id = 'g000001' FOR UPDATE`);
      let done = 0;
      const held = numbered('name', 60).map((name) =>
        busy.putGroup('g000001', { name }).finally(() => {
          done += 1;
        }),
      );
      await waiting(onlooker, 1);
      for (const roster of [other, busy]) {
        for (let round = 0; round < 5; round += 1) {
          await Promise.all(writes(roster).map((write) => write()));
        }
      }
      assert.equal(done, 0, 'all of this while the row is locked');
      await locker.query('ROLLBACK');
      await assertSettled(held);
    }));

  test('a project whose rows are all locked by somebody else', () =>
    withBench(async ({ busy, other, locker, onlooker }) => {
      await locker.query('BEGIN');
      for (const table of ['groups', 'users'])
        await locker.query(`SELECT 1 FROM ${table} WHERE project_id = $1 FOR UPDATE`, [busy.key]);
      let done = 0;
      const held = numbered('', 100)
        .flatMap((index) => [
          busy.putGroup(`g${index}`, { name: 'Late' }),
          busy.putUser(`u${index}`, { name: 'Late' }),
          busy.deleteUser(`u${index}`),
          busy.changeMembers(`g${index}`, { remove: ['u000001'] }),
        ])
        .map((write) =>
          write.finally(() => {
            done += 1;
          }),
        );
      await waiting(onlooker, 2);
      for (let round = 0; round < 5; round += 1) {
        await Promise.all(writes(other).map((write) => write()));
      }
      assert.equal(done, 0, 'all of this while the rows are locked');
      await locker.query('ROLLBACK');
      await assertSettled(held);
    }));

  test('very many writes of one row, of many rows, and reads of one project', () =>
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

  test('a read that takes long', () =>
    withBench(async ({ store, other, locker, onlooker }) => {
      await locker.query('BEGIN; LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE');
      const held = store.findSession('s');
      held.catch(() => {});
      await waiting(onlooker, 1, 200);
      for (let round = 0; round < 5; round += 1) {
        await Promise.all(numbered('u', 100).map((id) => other.user(id)));
      }
      assert.equal(await waitingNow(onlooker), 1, 'all of this while it takes long');
      await locker.query('ROLLBACK');
      assert.equal(await held, null);
    }));

  test('large writes of one project', () =>
    withBench(async ({ busy, other, locker, onlooker }) => {
      const members = numbered('m', 1_100);
      for (const { applied } of [busy, other].map((roster) => ({ applied: roster.users(...members) })))
        await applied;
      await locker.query('BEGIN');
      await locker.query('SELECT 1 FROM groups WHERE project_id = $1 FOR UPDATE', [busy.key]);
      const held = numbered('g', 20).map((id) => busy.putGroup(id, { members }));
      await waiting(onlooker, 2);
      assert.equal((await other.putGroup('g000001', { members })).kind, 'updated');
      assert.ok((await waitingNow(onlooker)) >= 2, 'all of this while they wait');
      await Promise.all(writes(other).map((write) => write()));
      await locker.query('ROLLBACK');
      await assertSettled(held);
    }));
});

describe('writes of one row', { skip: skipsPostgres }, () => {
  test('wait for each other in the process, and not in PostgreSQL', () =>
    withDatabase(async (url) => {
      const made = await openPostgresStore({ url });
      const { key } = await newRoster(made);
      await new Roster(made, key).groupOf('g', 'ann', 'ben');
      await made.close();
      // Of a store that does nothing, whose looks for what is to be done end with a rollback as well.
      const idle = await rollbacksOf(url, async () => (await openPostgresStore({ url })).close());
      const busy = await rollbacksOf(url, () => writeAtOnce(url, key));
      assert.equal(busy, idle, 'who waits for a lock is rolled back, and tried again');
    }));
});

/** Three hundred writes of one group and of one user, all at once. */
async function writeAtOnce(url: string, key: ProjectKey): Promise<void> {
  const store = await openPostgresStore({ url });
  const roster = new Roster(store, key);
  const writing = numbered('', 300).map((index, turn) => {
    if (turn % 3 === 0) return roster.putGroup('g', { name: index });
    if (turn % 3 === 1) return roster.putUser('ben', { name: index });
    return roster.changeMembers('g', turn % 2 === 0 ? { remove: ['ann'] } : { add: ['ann'] });
  });
  await Promise.all(writing);
  await store.close();
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
  test('is done all the same, and holds up nobody', () =>
    withBench(async ({ busy, other, locker }) => {
      await locker.query(`
        CREATE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF OLD.project_id = '${busy.key}' THEN PERFORM pg_sleep(0.05); END IF;
          RETURN OLD;
        END $$;
        CREATE TRIGGER slowly BEFORE DELETE ON memberships FOR EACH ROW EXECUTE FUNCTION take_long()`);
      const deletions = numbered('g', 3).map((id) => busy.deleteGroup(id));
      for (let round = 0; round < 5; round += 1) {
        await Promise.all(writes(other).map((write) => write()));
      }
      for (const deletion of deletions) assert.equal((await deletion).kind, 'deleted');
    }));
});
