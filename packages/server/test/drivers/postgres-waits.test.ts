/** On PostgreSQL, what waits for others: large writes for large writes, readers of long lists for those who stop reading. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { StoreUnavailableError } from '../../src/store/store.ts';
import { joined } from '../contract/store/entries.ts';
import { newRoster, numbered, type Roster } from '../contract/store/roster.ts';
import { skipsPostgres, withClient, withDatabase } from '../support/postgres.ts';

describe('a large write that waits', { skip: skipsPostgres }, () => {
  /** Locks a group as a large write of another process does that is at work until it is cancelled. */
  async function workAtLength(url: string, roster: Roster, use: () => Promise<void>): Promise<void> {
    await withClient(url, async (client) => {
      await client.query(`SET application_name = 'rollcall large write ${roster.key}'`);
      await client.query('BEGIN');
      await client.query(`SELECT 1 FROM groups WHERE id = 'g' FOR UPDATE`);
      const working = client.query('SELECT pg_sleep(60)').catch((error) => error);
      await use();
      await withClient(url, (other) =>
        other.query(
          `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)' AND pid <> pg_backend_pid()`,
        ),
      );
      await working;
      await client.query('ROLLBACK');
    });
  }

  test('for another one at work goes on when that is done, though no read goes through meanwhile', () =>
    withDatabase(async (url) => {
      const store = await openPostgresStore({ url });
      const roster = await newRoster(store);
      await roster.groupOf('g', 'ann');
      let write: Promise<unknown> = Promise.resolve();
      await withClient(url, async (client) => {
        await workAtLength(url, roster, async () => {
          write = roster.batch({ groups: [{ id: 'g', name: 'New' }] });
          write.catch(() => {});
          // Longer than any question may take, and than a lock is waited for at once.
          await client.query('BEGIN; LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE');
          const reads = Array.from({ length: 200 }, () => store.findSession('s'));
          for (const settled of await Promise.allSettled(reads)) {
            assert.ok(settled.status === 'rejected' && settled.reason instanceof StoreUnavailableError);
          }
          await client.query('ROLLBACK');
        });
      });
      assert.equal(((await write) as { kind: string }).kind, 'applied');
      assert.equal((await roster.group('g')).name, 'New');
      await store.close();
    }));
});

describe('readers of long lists who stop reading', { skip: skipsPostgres }, () => {
  const SIZE = 10_500;

  test('leave it to others, and go on where the group has not changed', () =>
    withDatabase(async (url) => {
      const store = await openPostgresStore({ url });
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
      // Four more, who stop too: each takes the place of one.
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
      await store.close();
    }));
});
