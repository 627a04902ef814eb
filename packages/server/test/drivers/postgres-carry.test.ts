/** Records of another store that are written to PostgreSQL while others write there. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { CarriedRecord, Store } from '../../src/store/store.ts';
import { newRoster, numbered, type Roster, View } from '../contract/store/roster.ts';
import { Random } from '../sim/random.ts';
import { skipsPostgres, withClient, withDatabase } from '../support/postgres.ts';
import { untilWaiting } from '../support/postgres-waiting.ts';

const SEED = 20_260_301;
const TURNS = 20;
const LANES = 3;
const USERS = numbered('u', 20);
const GROUPS = numbered('g', 6);
const STAMP = { now: 1, revision: 'r' };
const PAGE = '{"page":"1"}';

/** Everything that can be carried into the project, in an order of no meaning. */
function contents(projectId: string, random: Random): CarriedRecord[] {
  const all: CarriedRecord[] = [
    ...USERS.map((userId) => {
      const channels = { sendViaMessenger: random.chance(0.5), sendViaEmail: random.chance(0.5) };
      return { type: 'preferences', projectId, userId, ...channels } as const;
    }),
    ...GROUPS.map((groupId) => ({ type: 'workspace', projectId, groupId, workspace: 'W' }) as const),
    ...GROUPS.flatMap((groupId) =>
      USERS.slice(0, 3).map((userId) => {
        const place = { region: PAGE, location: PAGE, at: 1 };
        return { type: 'durablePresence', projectId, groupId, userId, ...place } as const;
      }),
    ),
  ];
  return shuffled(all, random);
}

const shuffled = <Item>(items: readonly Item[], random: Random): Item[] =>
  items
    .map((item) => ({ item, place: random.next() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);

/** One of the writes that change users, groups and members together. */
function write(roster: Roster, random: Random): Promise<unknown> {
  const [group, user] = [random.pick(GROUPS), random.pick(USERS)];
  switch (random.below(5)) {
    case 0: {
      const members = random.some(USERS, 10);
      const groups = shuffled(GROUPS, random).map((id) => ({ id, name: user, members }));
      return roster.batch({ users: shuffled(USERS, random).map((id) => ({ id, name: group })), groups });
    }
    case 1: {
      const [add, remove] = [random.some(USERS.slice(0, 10), 5), random.some(USERS.slice(10), 5)];
      return roster.changeMembers(group, { add, remove });
    }
    case 2:
      return roster.putGroup(group, { name: user, members: shuffled(USERS, random).slice(0, 12) });
    case 3:
      return roster.putUser(user, { name: group });
    default:
      return roster.store.putDurablePresence(
        roster.key,
        { userId: user, groupId: group, region: PAGE, location: PAGE },
        roster.next(),
      );
  }
}

/** Customers and projects that replace those that are there. */
function accounts(random: Random): CarriedRecord[] {
  const customers = numbered('c', 10).map(
    (id) => ({ type: 'customer', id, secret: 's', name: 'C', createdAt: 1 }) as const,
  );
  const projects = numbered('p', 10).map((id) => {
    const secrets = { secret: 's', previousSecret: null, previousValidUntil: null };
    return { type: 'project', id, customerId: 'c000001', name: 'P', ...secrets, createdAt: 1 } as const;
  });
  return shuffled([...customers, ...projects], random);
}

async function withTwoStores(
  use: (stores: readonly Store[], first: Store) => Promise<unknown>,
): Promise<void> {
  await withDatabase(async (url) => {
    const stores = await Promise.all([openPostgresStore({ url }), openPostgresStore({ url })]);
    try {
      await use(stores, stores[0] as Store);
    } finally {
      // What a connection did is counted when it ends.
      await Promise.all(stores.map((store) => store.close()));
    }
    const { rows } = await withClient(url, (client) =>
      client.query('SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()'),
    );
    assert.deepEqual(rows, [{ deadlocks: 0 }]);
  });
}

describe('carrying in', { skip: skipsPostgres }, () => {
  test('leaves out what is about a group that was made since it held those that it changes', () =>
    withDatabase(async (url) => {
      const store = await openPostgresStore({ url });
      const roster = await newRoster(store);
      await roster.users('ann', 'bob');
      const project = (await store.listProjects(null))[0];
      assert.ok(project);
      const { id: projectId, customerId } = project;
      await withClient(url, async (client) => {
        await client.query('BEGIN');
        await client.query(`SELECT 1 FROM users WHERE id = 'ann' FOR UPDATE`);
        const channels = { sendViaMessenger: false, sendViaEmail: true };
        const about = { projectId, groupId: 'g' };
        const carried = store.carryIn(
          [
            { type: 'preferences', projectId, userId: 'ann', ...channels },
            { type: 'workspace', ...about, workspace: 'W' },
            { type: 'durablePresence', ...about, userId: 'bob', region: PAGE, location: PAGE, at: 1 },
            { type: 'customer', id: customerId, secret: 's', name: 'C', createdAt: 1 },
          ],
          STAMP,
        );
        await untilWaiting(url, 1);
        await roster.putGroup('g', { name: 'G', members: ['bob'] });
        await withClient(url, async (other) => {
          await other.query('BEGIN');
          await other.query('SELECT 1 FROM customers FOR UPDATE');
          await client.query('ROLLBACK');
          await untilWaiting(url, 1);
          // Has to wait for nothing that the call holds.
          await roster.changeMembers('g', { remove: ['bob'] });
          await other.query('ROLLBACK');
        });
        assert.deepEqual(await carried, { written: 2, skipped: 2 });
        const { rows } = await client.query('SELECT user_id FROM durable_presence');
        assert.deepEqual(rows, []);
      });
      await store.close();
    }));
});

describe(`carrying in does not deadlock (seed ${SEED})`, { skip: skipsPostgres }, () => {
  test('with those who write the same, whatever order the records have', () =>
    withTwoStores(async (stores, first) => {
      const roster = await newRoster(first);
      const { id: projectId } = (await first.listProjects(null))[0] as { id: string };
      await roster.applied({
        users: USERS.map((id) => ({ id })),
        groups: GROUPS.map((id) => ({ id, name: id, members: USERS })),
      });
      const lanes = stores.flatMap((store, process) =>
        Array.from({ length: LANES }, async (_, lane) => {
          const random = new Random(SEED + 2 * lane + process);
          const own = new View(store, roster.key);
          for (let turn = 0; turn < TURNS; turn += 1) {
            if (lane === 0) await store.carryIn(contents(projectId, random), own.next());
            else await write(own, random);
          }
        }),
      );
      await Promise.all(lanes);
    }));

  test('with others who carry the same in another order', () =>
    withTwoStores(async (stores, first) => {
      await first.carryIn(
        accounts(new Random(SEED)).sort((a, b) => a.type.localeCompare(b.type)),
        STAMP,
      );
      const lanes = [...stores, ...stores].map(async (store, lane) => {
        const random = new Random(SEED + lane);
        for (let turn = 0; turn < TURNS; turn += 1) await store.carryIn(accounts(random), STAMP);
      });
      await Promise.all(lanes);
    }));
});
