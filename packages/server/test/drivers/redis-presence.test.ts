import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openRedisPresence } from '../../src/presence/redis/redis-presence.ts';
import {
  at,
  INCARNATION,
  PAGE_1,
  PresenceScene,
  SCOPE,
  START,
  TTL,
} from '../contract/presence/presence-scene.ts';
import { presenceStoreContract } from '../contract/presence-store-contract.ts';
import { closing, openTwo } from '../support/closing.ts';
import { freshRedisUrl, skipsRedis } from '../support/redis.ts';

describe('PresenceStore on Redis', { skip: await skipsRedis() }, () => {
  presenceStoreContract('Redis', async () => {
    const url = freshRedisUrl();
    return openTwo(() => openRedisPresence({ url }));
  });

  test('a sweep of a process whose clock is behind leaves presence until its deadline', async () => {
    const url = freshRedisUrl();
    const open = () => openRedisPresence({ url });
    await using scene = closing(new PresenceScene([await open(), await open()]));
    await scene.set('ann', PAGE_1);
    const setting = { ...SCOPE, userId: 'bob', incarnation: INCARNATION, region: PAGE_1, location: PAGE_1 };
    const behind = START - 30_000;
    await scene.other.set({ ...setting, now: behind, expiresAt: behind + TTL });
    await scene.swept(behind);
    for (const now of [START, behind])
      assert.deepEqual(await scene.swept(now), now === START ? [`bob ${PAGE_1}`] : []);
    assert.deepEqual(await scene.ids({ now: START + TTL - 1 }), ['ann']);
  });

  test('a step that removes users ends with the one whose presences are the thousandth', async () => {
    const url = freshRedisUrl();
    await using scene = closing(new PresenceScene(await openTwo(() => openRedisPresence({ url }))));
    const users = Array.from({ length: 12 }, (_, index) => `u${index + 10}`);
    const pages = Array.from({ length: 100 }, (_, index) => at({ page: `${index}` }));
    await Promise.all(users.flatMap((userId) => pages.map((location) => scene.set(userId, location))));
    const recorder = await scene.watch();
    await scene.store.removeUsers(SCOPE, users, START);
    assert.deepEqual(await recorder.first(2), [
      { type: 'usersRemoved', userIds: users.slice(0, 10) },
      { type: 'usersRemoved', userIds: users.slice(10) },
    ]);
  });
});
