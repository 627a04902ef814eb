import { describe } from 'node:test';
import { openRedisPresence } from '../../src/presence/redis/redis-presence.ts';
import { presenceStoreContract } from '../contract/presence-store-contract.ts';
import { freshRedisUrl, skipsRedis } from '../support/redis.ts';

describe('PresenceStore on Redis', { skip: await skipsRedis() }, () => {
  presenceStoreContract('Redis', async () => {
    const url = freshRedisUrl();
    return [await openRedisPresence({ url }), await openRedisPresence({ url })];
  });
});
