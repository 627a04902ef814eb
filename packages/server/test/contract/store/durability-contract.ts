import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Store } from '../../../src/store/store.ts';
import { ProjectGoneError } from '../../../src/values/engine-errors.ts';
import { closing } from '../../support/closing.ts';
import { CONTEXT } from '../../support/origin.ts';
import { idsOf } from './entries.ts';
import { newRoster, numbered, Roster, START } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

export function durabilityContract(lab: StoreLab): void {
  /** Runs each step on a newly opened store of the same data. */
  const reopening = async (...steps: readonly ((store: Store) => Promise<unknown>)[]) => {
    await using opened = new AsyncDisposableStack();
    const space = opened.adopt(await lab.makeSpace(), ({ remove }) => remove());
    for (const step of steps) {
      await using store = closing(await space.open());
      await step(store);
    }
  };

  test('every acknowledged write is read when the store is opened again', async () => {
    let before: unknown;
    let key: Roster['key'] = '';
    const snapshot = async (store: Store) => ({
      roster: await new Roster(store, key).everything(),
      customers: await store.customers.list(),
      projects: await store.projects.list(null),
      session: await store.sessions.find('session'),
      serviceKey: Buffer.from(await store.sessions.serviceKey()).toString('hex'),
    });
    await reopening(
      async (store) => {
        const roster = await newRoster(store);
        key = roster.key;
        await roster.groupOf('g', ...numbered('u', 100));
        await roster.putUser('u000001', { name: 'N', status: 'deleted', metadata: { a: '\0' } });
        await roster.putGroup('g', { status: 'deleted', metadata: { b: 1 } });
        await roster.putGroup('g', { status: 'active' });
        await roster.connectGroup('g', 'W1');
        await store.preferences.put(key, 'u000002', { sendViaEmail: false }, CONTEXT);
        const update = { userId: 'u000003', groupId: 'g', region: '{"p":"1"}', location: '{"p":"1"}' };
        assert.equal((await store.durablePresence.put(key, update, roster.next())).kind, 'set');
        await store.projects.rotateSecret(key, { secret: 'rotated', previousValidUntil: START }, CONTEXT);
        await store.sessions.create(key, { id: 'session', expiresAt: START }, CONTEXT);
        await store.sessions.revoke(key, 'session', CONTEXT);
        before = await snapshot(store);
      },
      async (store) => assert.deepEqual(await snapshot(store), before),
      async (store) => assert.deepEqual(await snapshot(store), before),
    );
  });

  test('a store that is opened again has the same keys, revisions and counts', async () => {
    let first: Roster['key'] = '';
    await reopening(
      async (store) => {
        const roster = await newRoster(store);
        first = roster.key;
        await roster.users('ann', 'bob');
      },
      async (store) => {
        const roster = new Roster(store, first);
        assert.equal((await roster.putUser('ann', {})).kind, 'unchanged');
        assert.equal((await roster.putUser('cid', {})).kind, 'created');
        assert.equal((await roster.listUsers({ after: null, limit: 1 })).total, 3);
        const other = await newRoster(store);
        assert.notEqual(other.key, first);
        assert.deepEqual(await idsOf(other.listUsers), []);
      },
    );
  });

  test('a store that is closed finishes the writes under way', async () => {
    let key: Roster['key'] = '';
    const ids = numbered('u', 50);
    await reopening(
      async (store) => {
        const roster = await newRoster(store);
        key = roster.key;
        const writes = ids.map((id) => roster.putUser(id, {}));
        await Promise.all([store.close(), ...writes]);
      },
      async (store) => assert.deepEqual(await idsOf(new Roster(store, key).listUsers), ids),
    );
  });

  test('closing a store is idempotent, also when it is called twice at once', async () => {
    await reopening(async (store) => {
      await Promise.all([store.close(), store.close()]);
      await store.close();
    });
  });

  test('a deleted project stays deleted when the store is opened again, and its key is rejected', async () => {
    let dead: Roster['key'] = '';
    await reopening(
      async (store) => {
        const roster = await newRoster(store);
        dead = roster.key;
        await roster.groupOf('g', ...numbered('u', 3_000));
        assert.equal(await store.projects.delete(dead), true);
      },
      async (store) => {
        assert.deepEqual(await store.projects.list(null), []);
        await assert.rejects(new Roster(store, dead).putUser('u000000', {}), ProjectGoneError);
        const other = await newRoster(store);
        assert.notEqual(other.key, dead);
        assert.deepEqual(await idsOf(other.listGroups), []);
      },
    );
  });
}
