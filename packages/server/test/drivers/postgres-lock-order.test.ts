/** The order in which writes on PostgreSQL lock memberships: in different orders, two writes could wait for each other. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newRoster, numbered } from '../contract/store/roster.ts';
import { skipsPostgres, withClient } from '../support/postgres.ts';
import { untilWaiting } from '../support/postgres-waiting.ts';
import { withPostgresStore } from './postgres-stores.ts';

const USERS = numbered('u', 40);

test(
  'a batch removes memberships in the order of their IDs, whatever order it names them in',
  { skip: skipsPostgres },
  () =>
    withPostgresStore(async (store, url) => {
      const roster = await newRoster(store);
      await roster.users(...USERS);
      for (const group of ['a', 'z']) await roster.putGroup(group, { name: 'G', members: USERS });
      const [first] = USERS.toSorted();
      await withClient(url, async (locker) => {
        await locker.query('BEGIN');
        await locker.query(`SELECT 1 FROM memberships WHERE group_id = 'a' AND user_id = $1 FOR KEY SHARE`, [
          first,
        ]);
        const emptied = ['z', 'a'].map((id) => ({ id, members: [] }));
        const applied = roster.applied({ groups: emptied });
        await untilWaiting(url, 1);
        // It waits for the first one, so it has locked no other.
        const { rowCount } = await locker.query('SELECT 1 FROM memberships FOR KEY SHARE NOWAIT');
        assert.equal(rowCount, 2 * USERS.length);
        await locker.query('COMMIT');
        await applied;
      });
      for (const group of ['a', 'z']) assert.deepEqual(await roster.members(group), []);
    }),
);
