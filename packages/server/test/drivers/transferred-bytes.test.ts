/** What a driver is given for another thread is transferred there: the event loop does not copy it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Store } from '../../src/store/store.ts';
import { packIds } from '../../src/store/worker-threads/packed-ids.ts';
import { newRoster, numbered } from '../contract/store/roster.ts';
import { skipsPostgres } from '../support/postgres.ts';
import { withPostgresStore } from './postgres-stores.ts';
import { withDirectory, withStore } from './sqlite-directory.ts';

/** 90 KB of IDs. */
const COUNT = 9_000;

async function assertTransferred(store: Store): Promise<void> {
  const roster = await newRoster(store);
  const ids = numbered('u', COUNT);
  const [members, add, remove] = [packIds(ids), packIds(ids), packIds([...ids, 'nobody'].slice(COUNT - 1))];
  const batch = Buffer.from(JSON.stringify({ users: ids.map((id) => ({ id })) }));
  assert.equal((await roster.batch(batch)).kind, 'applied');
  assert.equal((await roster.putGroup('g', { name: 'G', members })).kind, 'created');
  const added = store.members.change(roster.key, 'g', { add, remove: packIds([]) }, roster.next());
  assert.equal((await added).kind, 'unchanged');
  for (const bytes of [batch, members.bytes, add.bytes]) assert.equal(bytes.length, 0);
  const removed = store.members.change(roster.key, 'g', { add: packIds([]), remove }, roster.next());
  assert.equal((await removed).kind, 'updated');
}

test('the bytes of batches and packed lists are transferred to the embedded writer', () =>
  withDirectory((dataDir) => withStore(dataDir, assertTransferred)));

test(
  'the bytes of batches and packed lists are transferred to a thread for large writes',
  { skip: skipsPostgres },
  () => withPostgresStore(assertTransferred),
);
