import assert from 'node:assert/strict';
import { test } from 'node:test';
import { START, unique } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

export function sessionContract(lab: StoreLab): void {
  const session = async (expiresAt = START + 1_000) => {
    const { key } = await lab.project();
    const id = unique('session');
    await lab.store.createSession({ id, project: key, expiresAt });
    return { id, key, expiresAt };
  };

  test('a session is found with its project and its end, not revoked', async () => {
    const { id, key, expiresAt } = await session();
    const found = await lab.store.findSession(id);
    assert.ok(found);
    assert.deepEqual([found.id, found.expiresAt, found.revoked], [id, expiresAt, false]);
    assert.equal(found.project.key, key);
    assert.deepEqual(found.project, await lab.store.findProject(found.project.id));
  });

  test('a session shows its project as it is now, a rotated secret included', async () => {
    const { id, key } = await session();
    await lab.store.rotateSecret(key, 'rotated', START + 7);
    assert.equal((await lab.store.findSession(id))?.project.secret, 'rotated');
  });

  test('a session that was never issued is null', async () => {
    assert.equal(await lab.store.findSession(unique('nothing')), null);
  });

  test('a revoked session says so, and revoking is idempotent', async () => {
    const [{ id }, other] = [await session(), await session()];
    await lab.store.revokeSession(id);
    await lab.store.revokeSession(id);
    await lab.store.revokeSession(unique('nothing'));
    assert.equal((await lab.store.findSession(id))?.revoked, true);
    assert.equal((await lab.store.findSession(other.id))?.revoked, false);
  });

  test('a session of a deleted project is null', async () => {
    const { id, key } = await session();
    await lab.store.deleteProject(key);
    assert.equal(await lab.store.findSession(id), null);
  });

  test('the store reads no clock: a session is found after its end, until expired ones are removed', async () => {
    const [ended, revoked, live] = [
      await session(START - 2),
      await session(START - 1),
      await session(START + 1),
    ];
    await lab.store.revokeSession(revoked.id);
    assert.equal((await lab.store.findSession(ended.id))?.expiresAt, START - 2);
    await lab.store.removeExpiredSessions(START);
    assert.equal(await lab.store.findSession(ended.id), null);
    assert.equal(await lab.store.findSession(revoked.id), null);
    assert.equal((await lab.store.findSession(live.id))?.expiresAt, START + 1);
  });

  test('the service key is 64 bytes and always the same', async () => {
    const keys = await Promise.all([lab.store.serviceKey(), lab.store.serviceKey()]);
    const [first, second] = keys.map((key) => Buffer.from(key).toString('hex'));
    assert.equal(first?.length, 128);
    assert.equal(first, second);
    assert.equal(Buffer.from(await lab.store.serviceKey()).toString('hex'), first);
  });

  test('two stores have different service keys', async () => {
    const space = await lab.makeSpace();
    const other = await space.open();
    try {
      const [mine, theirs] = [await lab.store.serviceKey(), await other.serviceKey()];
      assert.notEqual(Buffer.compare(mine, theirs), 0);
    } finally {
      await other.close();
      await space.remove();
    }
  });
}
