/** Batches on PostgreSQL beyond the contract: on a thread of their own, and among other writes. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Client } from 'pg';
import type { BatchStore } from '../../src/store/ports/batches.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { batchContract } from '../contract/store/batch-contract.ts';
import { batchErrorContract } from '../contract/store/batch-error-contract.ts';
import { changesOf, idsOf } from '../contract/store/entries.ts';
import { type BatchItems, newRoster, numbered, Roster, View } from '../contract/store/roster.ts';
import { StoreLab } from '../contract/store/store-lab.ts';
import { closing } from '../support/closing.ts';
import { ownDatabase, skipsPostgres, withClient, withDatabase } from '../support/postgres.ts';
import { untilWaiting } from '../support/postgres-waiting.ts';
import { until } from '../support/waiting.ts';
import { withPostgresStore } from './postgres-stores.ts';

/** Longer than any body that is read on the event loop. White space around JSON means nothing. */
const PADDING = Buffer.alloc(100_000, ' ');

/** A store that treats every batch as a large one. */
function withLargeBatches(store: Store): Store {
  const apply: BatchStore['apply'] = (project, { body, dryRun }, context) =>
    store.batches.apply(project, { body: Buffer.concat([body, PADDING]), dryRun }, context);
  return { ...store, batches: { apply } };
}

const large = ({ store, key }: Roster): Roster => new View(withLargeBatches(store), key);

describe('a batch that is applied on a thread', { skip: skipsPostgres }, () => {
  const lab = new StoreLab(async () => {
    const { url, remove } = await ownDatabase();
    return { open: async () => withLargeBatches(await openPostgresStore({ url })), remove };
  });
  before(() => lab.open());
  after(() => lab.close());
  batchContract(lab);
  batchErrorContract(lab);
});

/** Another transaction locks all groups until it rolls back. */
const whileGroupsAreLocked = (url: string, use: (client: Client) => Promise<void>) =>
  withClient(url, async (client) => {
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM groups FOR UPDATE');
    await use(client);
  });

/** Writes that rename a group take until `use` calls `release`, however long that is: a wait for a lock would have a limit. */
async function whileRenamesTakeLong(
  url: string,
  use: (untilTakingLong: (count: number) => Promise<void>, release: () => Promise<unknown>) => Promise<void>,
): Promise<void> {
  await withClient(url, async (client) => {
    await client.query(`
      CREATE TABLE released ();
      CREATE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN WHILE NOT EXISTS (SELECT FROM released) LOOP PERFORM pg_sleep(0.01); END LOOP; RETURN NEW; END $$;
      CREATE TRIGGER take_long BEFORE UPDATE OF name ON groups FOR EACH ROW EXECUTE FUNCTION take_long()`);
    const takingLong = `SELECT count(*)::int FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event = 'PgSleep'`;
    const untilTakingLong = (count: number) =>
      until(`${count} renames that take long`, async () => {
        return (await client.query(takingLong)).rows[0].count >= count;
      });
    const release = () => client.query('INSERT INTO released DEFAULT VALUES');
    // A store is not closed before its writes end.
    await use(untilTakingLong, release).finally(release);
  });
}

describe('large batches on PostgreSQL', { skip: skipsPostgres }, () => {
  test('large batches of one project leave a thread to other projects, and small batches wait for none of them', () =>
    withPostgresStore(async (store, url) => {
      const [busy, other] = [large(await newRoster(store)), large(await newRoster(store))];
      await busy.groupOf('g', 'ann');
      const groups = numbered('g', 5);
      await busy.applied({ groups: groups.map((id) => ({ id, name: id })) });
      await whileRenamesTakeLong(url, async (untilTakingLong, release) => {
        const stuck = Promise.all(groups.map((id) => busy.applied({ groups: [{ id, name: 'Other' }] })));
        stuck.catch(() => {});
        // Two of the batches have a thread.
        await untilTakingLong(2);
        await other.applied({ users: [{ id: 'bob' }] });
        await new View(store, busy.key).applied({ users: [{ id: 'cid' }] });
        await release();
        await stuck;
      });
      assert.deepEqual(await idsOf(busy.listUsers), ['ann', 'cid']);
      assert.deepEqual(await idsOf(other.listUsers), ['bob']);
    }));

  test('at most 64 large batches of one project wait for a thread, and one more is unavailable at once', () =>
    withPostgresStore(async (store, url) => {
      const roster = large(await newRoster(store));
      const groups = numbered('g', 2 + 64);
      await roster.applied({ groups: groups.map((id) => ({ id, name: id })) });
      await whileRenamesTakeLong(url, async (_, release) => {
        const waiting = Promise.all(groups.map((id) => roster.applied({ groups: [{ id, name: 'Other' }] })));
        waiting.catch(() => {});
        await assert.rejects(roster.batch({ users: [] }), StoreUnavailableError);
        await release();
        await waiting;
      });
    }));

  test('the body of a large batch is transferred to the thread, not copied', () =>
    withPostgresStore(async (store) => {
      const roster = await newRoster(store);
      const body = Buffer.from(JSON.stringify({ users: numbered('u', 5_000).map((id) => ({ id })) }));
      assert.equal((await roster.batch(body)).kind, 'applied');
      assert.equal(body.length, 0);
    }));

  test('a large batch may replace more members than one row of an answer names', () =>
    withPostgresStore(async (store) => {
      const roster = await newRoster(store);
      const users = numbered('u', 40_000);
      const [before, after] = [users.slice(0, 25_000), users.slice(10_000)];
      for (let from = 0; from < users.length; from += 10_000)
        await roster.applied({ users: users.slice(from, from + 10_000).map((id) => ({ id })) });
      await roster.applied({ groups: [{ id: 'g', name: 'g', members: before }] });
      const outcome = await roster.applied({ groups: [{ id: 'g', members: after }] });
      const left = changesOf(outcome).filter((text) => text.startsWith('member.removed'));
      assert.deepEqual(
        left.sort(),
        users.slice(0, 10_000).map((id) => `member.removed g ${id}`),
      );
      assert.deepEqual(await roster.members('g'), after);
    }));

  test('large batches that wait for a thread are applied although one gets no lock', () =>
    withPostgresStore(async (store, url) => {
      const roster = large(await newRoster(store));
      await roster.groupOf('g', 'ann');
      await whileGroupsAreLocked(url, async (client) => {
        const batches = numbered('name ', 5).map((name) => roster.applied({ groups: [{ id: 'g', name }] }));
        const ended = Promise.allSettled(batches);
        await assert.rejects(Promise.race(batches), StoreUnavailableError);
        await untilWaiting(url, 2);
        await client.query('ROLLBACK');
        const applied = (await ended).filter(({ status }) => status === 'fulfilled').length;
        assert.ok(applied >= 3, `${applied} were applied, and two had a thread`);
      });
    }));

  test('large batches that have a thread finish when the store is closed; waiting and later ones are unavailable', () =>
    withDatabase(async (url) => {
      const store = await openPostgresStore({ url });
      const roster = large(await newRoster(store));
      const ids = numbered('u', 6);
      let ended = 0;
      const batches = ids.map((id) =>
        roster.applied({ users: [{ id }] }).finally(() => {
          ended += 1;
        }),
      );
      const outcomes = Promise.allSettled(batches);
      await store.close();
      assert.equal(ended, ids.length);
      for (const [index, outcome] of (await outcomes).entries()) {
        if (index < 2) assert.equal(outcome.status, 'fulfilled');
        else assert.ok(outcome.status === 'rejected' && outcome.reason instanceof StoreUnavailableError);
      }
      await assert.rejects(roster.batch({ users: [] }), StoreUnavailableError);
      await using again = closing(await openPostgresStore({ url }));
      assert.deepEqual(await idsOf(new Roster(again, roster.key).listUsers), ids.slice(0, 2));
    }));
});

/** The name of the database, as an identifier. */
const databaseOf = (url: string) => `"${new URL(url).pathname.slice(1)}"`;

const times = (count: number, step: (index: number) => Promise<unknown>) => async (): Promise<void> => {
  for (let index = 0; index < count; index += 1) await step(index);
};

const MOST_ATTEMPTS = 100;

/** Repeats a write that waited too long for locks, as on a busy machine, until it is applied. */
async function untilApplied(write: () => Promise<unknown>): Promise<void> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const error = await write().then(
      () => null,
      (reason) => reason,
    );
    if (error === null) return;
    assert.ok(error instanceof StoreUnavailableError, error);
  }
  assert.fail('a write is applied');
}

const together = (writers: readonly (() => Promise<void>)[]): Promise<unknown> =>
  Promise.all(writers.map((writer) => writer()));

describe('batches among other writes of the same groups and users', { skip: skipsPostgres }, () => {
  test('a batch is applied however often its groups are created and deleted meanwhile', () =>
    withPostgresStore(async (store) => {
      const roster = await newRoster(store);
      const groups = numbered('g', 240);
      const users = numbered('u', 5);
      await roster.users(...users);
      const items = { groups: groups.map((id) => ({ id, name: id, members: users })) };
      let isOver = false;
      /** Makes and deletes its share of the groups; it may be unavailable for a moment. */
      const churn = (writer: number) => async () => {
        const share = groups.filter((_, index) => index % 12 === writer);
        while (!isOver) {
          for (const id of share) {
            const createAndDelete = async () => {
              await roster.putGroup(id, { name: id });
              await roster.deleteGroup(id);
            };
            await createAndDelete().catch((error) =>
              assert.ok(error instanceof StoreUnavailableError, error),
            );
          }
        }
      };
      const batches = async () => {
        const views = [new View(store, roster.key), large(roster)];
        const apply = (view: Roster) => async () => {
          const { created, updated, unchanged } = (await view.applied(items)).groups;
          assert.equal(created + updated + unchanged, groups.length);
        };
        await together(views.map((view) => times(5, apply(view)))).finally(() => {
          isOver = true;
        });
      };
      await together([batches, ...Array.from({ length: 12 }, (_, writer) => churn(writer))]);
      await roster.applied(items);
      assert.deepEqual(await idsOf(roster.listGroups), groups);
      assert.deepEqual(await roster.members('g000000'), users);
    }));

  test('batches never deadlock with other writes, nor with each other', () =>
    withDatabase(async (url) => {
      // A write that shares its connection waits 20 ms for a lock. As in production, it gives way before a deadlock is looked for.
      await withClient(url, (client) =>
        client.query(`ALTER DATABASE ${databaseOf(url)} SET deadlock_timeout = '300ms'`),
      );
      const stores = await Promise.all([openPostgresStore({ url }), openPostgresStore({ url })]);
      const roster = await newRoster(stores[0] as Store);
      const views = stores.map((store) => new View(store, roster.key));
      const users = numbered('u', 12);
      await roster.groupOf('single', ...users);
      /** In a group of its own. Some of the users are items, in any order, and the others mere members. */
      const batchOf = (group: string, number: number): BatchItems => {
        const written = users.filter((_, index) => (index + number) % 3 > 0);
        return {
          users: (number % 2 === 0 ? written : written.toReversed()).map((id) => ({
            id,
            name: `N${number}`,
          })),
          groups: [
            { id: group, name: group, members: [] },
            { id: group, members: users },
          ],
        };
      };
      const timesApplied = (count: number, write: (number: number) => Promise<unknown>) =>
        times(count, (number) => untilApplied(() => write(number)));
      const writers = views.flatMap((view, process) => [
        ...[view, view, large(view)].map((batches, writer) =>
          timesApplied(40, (number) =>
            batches.applied(batchOf(`g ${process} ${writer}`, number + writer + process)),
          ),
        ),
        ...users
          .slice(0, 6)
          .map((id) => timesApplied(100, (number) => view.putUser(id, { name: `P${process}-${number}` }))),
        timesApplied(50, (number) =>
          view.changeMembers('single', number % 2 === 0 ? { remove: users.slice(0, 5) } : { add: users }),
        ),
      ]);
      await together(writers);
      // PostgreSQL counts the work of a connection when it ends.
      await Promise.all(stores.map((store) => store.close()));
      const { rows } = await withClient(url, (client) =>
        client.query('SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()'),
      );
      assert.deepEqual(rows, [{ deadlocks: 0 }]);
    }));
});
