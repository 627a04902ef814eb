/** The Broker while Redis is ill. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Broker, Change } from '../../src/broker/broker.ts';
import { openRedisBroker } from '../../src/broker/redis/redis-broker.ts';
import { StoreUnavailableError } from '../../src/store/store.ts';
import { OwnRedis, skipsOwnRedis, until } from '../support/own-redis.ts';

const LIMIT_MS = 5_000;
const change = (projectId: string): Change => ({ type: 'project', projectId });

/** Two brokers and what the subscribers of each have heard. */
async function withBrokers(
  t: TestContext,
  body: (
    brokers: readonly [Broker, Broker],
    heard: readonly [string[], string[]],
    redis: OwnRedis,
  ) => Promise<void>,
): Promise<void> {
  const redis = await OwnRedis.start();
  t.after(() => redis.remove());
  const brokers = [
    await openRedisBroker({ url: redis.url }),
    await openRedisBroker({ url: redis.url }),
  ] as const;
  t.after(() => Promise.all(brokers.map((broker) => broker.close())));
  const heard = [[], []] as [string[], string[]];
  for (const [index, broker] of brokers.entries()) {
    broker.subscribe((told) => heard[index]?.push((told as { projectId: string }).projectId));
  }
  await body(brokers, heard, redis);
}

/** Publishes until the other side hears. */
async function untilTold(publisher: Broker, heard: readonly string[], name: string): Promise<void> {
  const isTold = async () => {
    await publisher.publish(change(name));
    return heard.includes(name);
  };
  await until(`${name} is told`, isTold, LIMIT_MS);
}

describe('the broker while Redis is ill', { skip: skipsOwnRedis, concurrency: true }, () => {
  test('stopped: own subscribers are told and the publisher hears of it; started again: all are told', (t) =>
    withBrokers(t, async ([publisher, other], [own, others], redis) => {
      await redis.stop();
      await assert.rejects(publisher.publish(change('away')), StoreUnavailableError);
      await assert.rejects(publisher.ping(), StoreUnavailableError);
      assert.deepEqual([own, others], [['away'], []]);
      await redis.start();
      await untilTold(publisher, others, 'back');
      await untilTold(other, own, 'back there');
    }));

  test('paused: a publisher does not wait for ever; going on: all are told', (t) =>
    withBrokers(t, async ([publisher], [own, others], redis) => {
      redis.signal('SIGSTOP');
      const begun = performance.now();
      const published = publisher.publish(change('paused'));
      assert.deepEqual(own, ['paused']);
      await assert.rejects(published, StoreUnavailableError);
      assert.ok(performance.now() - begun < LIMIT_MS);
      redis.signal('SIGCONT');
      await untilTold(publisher, others, 'back');
    }));

  test('cut off: subscribers are told again soon', (t) =>
    withBrokers(t, async ([publisher], [, others], redis) => {
      await redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await untilTold(publisher, others, 'back');
    }));

  test('what is no change of ours on the channel harms nobody', (t) =>
    withBrokers(t, async ([publisher], [, others], redis) => {
      const [channel] = (await redis.command('PUBSUB', 'CHANNELS')) as [string];
      for (const text of ['', '{', '[]', 'null', '{}', '{"change":{}}'])
        await redis.command('PUBLISH', channel, text);
      await untilTold(publisher, others, 'after it');
    }));

  test('a Redis that is not there is said so', async () => {
    await assert.rejects(openRedisBroker({ url: 'redis://127.0.0.1:1' }), StoreUnavailableError);
  });
});
