import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONTEXT } from '../../support/origin.ts';
import { START, unique } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

export function sessionContract(lab: StoreLab): void {
  const session = async (expiresAt = START + 1_000) => {
    const { key } = await lab.project();
    const id = unique('session');
    await lab.store.sessions.create(key, { id, expiresAt }, CONTEXT);
    return { id, key, expiresAt };
  };

  test('a session is found with its project and its end, not revoked', async () => {
    const { id, key, expiresAt } = await session();
    const found = await lab.store.sessions.find(id);
    assert.ok(found);
    assert.deepEqual([found.id, found.expiresAt, found.revoked], [id, expiresAt, false]);
    assert.equal(found.project.key, key);
    assert.deepEqual(found.project, await lab.store.projects.find(found.project.id));
  });

  test('a session has the current data of its project, a rotated secret included', async () => {
    const { id, key } = await session();
    await lab.store.projects.rotateSecret(key, { secret: 'rotated', previousValidUntil: START + 7 }, CONTEXT);
    assert.equal((await lab.store.sessions.find(id))?.project.secret, 'rotated');
  });

  test('a session that was never issued is null', async () => {
    assert.equal(await lab.store.sessions.find(unique('nothing')), null);
  });

  test('a revoked session is read as revoked, and revoking it again changes nothing', async () => {
    const [{ id, key }, other] = [await session(), await session()];
    await lab.store.sessions.revoke(key, id, CONTEXT);
    await lab.store.sessions.revoke(key, id, CONTEXT);
    await lab.store.sessions.revoke(key, unique('nothing'), CONTEXT);
    assert.equal((await lab.store.sessions.find(id))?.revoked, true);
    assert.equal((await lab.store.sessions.find(other.id))?.revoked, false);
  });

  test('a session of a deleted project is null, and revoking it changes and records nothing', async () => {
    const { id, key } = await session();
    await lab.store.projects.delete(key);
    assert.equal(await lab.store.sessions.find(id), null);
    assert.deepEqual(await lab.store.sessions.revoke(key, id, CONTEXT), { kind: 'unchanged', changes: [] });
  });

  test('a session is found after its end, until expired sessions are removed: the store reads no clock', async () => {
    const [ended, revoked, live] = [
      await session(START - 2),
      await session(START - 1),
      await session(START + 1),
    ];
    await lab.store.sessions.revoke(revoked.key, revoked.id, CONTEXT);
    assert.equal((await lab.store.sessions.find(ended.id))?.expiresAt, START - 2);
    while (await lab.store.sessions.removeExpired(START));
    assert.equal(await lab.store.sessions.find(ended.id), null);
    assert.equal(await lab.store.sessions.find(revoked.id), null);
    assert.equal((await lab.store.sessions.find(live.id))?.expiresAt, START + 1);
  });

  test('the service key of a store is 64 bytes and always the same', async () => {
    const keys = await Promise.all([lab.store.sessions.serviceKey(), lab.store.sessions.serviceKey()]);
    const [first, second] = keys.map((key) => Buffer.from(key).toString('hex'));
    assert.equal(first?.length, 128);
    assert.equal(first, second);
    assert.equal(Buffer.from(await lab.store.sessions.serviceKey()).toString('hex'), first);
  });

  test('two stores have different service keys', () =>
    lab.withStore(async (other) => {
      const [mine, theirs] = [await lab.store.sessions.serviceKey(), await other.sessions.serviceKey()];
      assert.notEqual(Buffer.compare(mine, theirs), 0);
    }));
}
