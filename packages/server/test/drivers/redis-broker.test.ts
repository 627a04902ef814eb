import { describe } from 'node:test';
import { openRedisBroker } from '../../src/broker/redis/redis-broker.ts';
import { brokerContract } from '../contract/broker-contract.ts';
import { openTwo } from '../support/closing.ts';
import { freshRedisUrl, skipsRedis } from '../support/redis.ts';

describe('Broker on Redis', { skip: await skipsRedis() }, () => {
  brokerContract('Redis', async () => {
    const url = freshRedisUrl();
    return openTwo(() => openRedisBroker({ url }));
  });
});
