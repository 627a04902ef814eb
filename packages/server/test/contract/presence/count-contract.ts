import assert from 'node:assert/strict';
import { PAGE_1, PAGE_2, type Rule, SCOPE, SITE, START, TTL } from './presence-scene.ts';

/** How much presence there is. */
export function countContract(rule: Rule): void {
  rule('without presence, no presence and no group is counted', async ({ store }) => {
    assert.deepEqual(await store.count(), { presences: 0, groups: 0 });
  });

  rule(
    'a user is counted once for each group, region and connection, however often it is set',
    async (scene) => {
      for (const userId of ['ann', 'ann', 'bob']) await scene.set(userId, PAGE_1, { region: SITE });
      await scene.set('ann', PAGE_2);
      await scene.set('ann', PAGE_2, { connection: 'c' });
      await scene.set('ann', PAGE_1, { groupId: 'another' });
      await scene.set('ann', PAGE_1, { project: 'another' });
      assert.deepEqual(await scene.store.count(), { presences: 6, groups: 3 });
      assert.deepEqual(await scene.other.count(), { presences: 6, groups: 3 });
    },
  );

  rule('a hold that belongs to a lease is counted, and the lease is not', async (scene) => {
    await scene.set('ann', PAGE_1, { connection: 'c', lease: 'l' });
    assert.equal((await scene.store.count()).presences, 1);
  });

  rule('presence that ended is not counted, however it ended', async (scene) => {
    const users = ['absent', 'removed', 'expired', 'present'];
    for (const userId of users)
      await scene.set(userId, PAGE_1, userId === 'present' ? { until: START + 9 * TTL } : {});
    for (const groupId of ['g', 'h']) await scene.set('ann', PAGE_1, { groupId });
    await scene.set('ann', PAGE_1, { project: 'another' });
    await scene.clear('absent', PAGE_1);
    await scene.store.removeUsers(SCOPE, ['removed'], START);
    await scene.store.removeGroup({ ...SCOPE, groupId: 'g' }, START);
    await scene.store.removeProject('another', START);
    assert.equal((await scene.store.count()).presences, 3);
    await scene.store.sweep(START + TTL + 10_000);
    assert.deepEqual(await scene.store.count(), { presences: 1, groups: 1 });
  });
}
