import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openRedisPresence } from '../../src/presence/redis/redis-presence.ts';
import { at, PresenceScene, SCOPE, START } from '../contract/presence/presence-scene.ts';
import { presenceStoreContract } from '../contract/presence-store-contract.ts';
import { closing, openTwo } from '../support/closing.ts';
import { freshRedisUrl, skipsRedis } from '../support/redis.ts';

describe('PresenceStore on Redis', { skip: await skipsRedis() }, () => {
  presenceStoreContract('Redis', async () => {
    const url = freshRedisUrl();
    return openTwo(() => openRedisPresence({ url }));
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
