/** The Broker while Redis is stopped, paused or disconnected. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Broker, Notification } from '../../src/broker/broker.ts';
import { openRedisBroker } from '../../src/broker/redis/redis-broker.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { openTwo } from '../support/closing.ts';
import { OwnRedis, skipsOwnRedis } from '../support/own-redis.ts';
import { until, within } from '../support/waiting.ts';

const LIMIT_MS = 5_000;
const change = (projectId: string): Notification => ({ type: 'project', projectId });

/** Two brokers, and the changes that the subscribers of each got. */
async function withBrokers(
  t: TestContext,
  body: (
    brokers: readonly [Broker, Broker],
    received: readonly [string[], string[]],
    redis: OwnRedis,
  ) => Promise<void>,
): Promise<void> {
  await using redis = await OwnRedis.start();
  const brokers = await openTwo(() => openRedisBroker({ url: redis.url }));
  t.after(() => Promise.all(brokers.map((broker) => broker.close())));
  const received = [[], []] as [string[], string[]];
  for (const [index, broker] of brokers.entries()) {
    broker.subscribe((change) => received[index]?.push((change as { projectId: string }).projectId));
  }
  await body(brokers, received, redis);
}

/** Publishes until the change has arrived. */
async function untilReceived(publisher: Broker, received: readonly string[], name: string): Promise<void> {
  const hasArrived = async () => {
    await publisher.publish(change(name));
    return received.includes(name);
  };
  await until(`${name} has arrived`, hasArrived, LIMIT_MS);
}

describe('the Broker while Redis is away', { skip: skipsOwnRedis, concurrency: 4 }, () => {
  test('while Redis is stopped a Broker notifies its own subscribers and publish rejects; all are notified when it is started again', (t) =>
    withBrokers(t, async ([publisher, other], [own, others], redis) => {
      await redis.stop();
      await assert.rejects(publisher.publish(change('away')), StoreUnavailableError);
      await assert.rejects(publisher.ping(), StoreUnavailableError);
      assert.deepEqual([own, others], [['away'], []]);
      await redis.start();
      await untilReceived(publisher, others, 'back');
      await untilReceived(other, own, 'back there');
    }));

  test('while Redis is paused publish of a Broker rejects; all subscribers are notified when it is resumed', (t) =>
    withBrokers(t, async ([publisher], [own, others], redis) => {
      redis.signal('SIGSTOP');
      const published = publisher.publish(change('paused'));
      assert.deepEqual(own, ['paused']);
      await within(LIMIT_MS, assert.rejects(published, StoreUnavailableError));
      redis.signal('SIGCONT');
      await untilReceived(publisher, others, 'back');
    }));

  test('after its connection to Redis was cut a Broker notifies subscribers again soon', (t) =>
    withBrokers(t, async ([publisher], [, others], redis) => {
      await redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await untilReceived(publisher, others, 'back');
    }));

  test('a foreign message on the channel of a Broker is ignored', (t) =>
    withBrokers(t, async ([publisher], [, others], redis) => {
      const [channel] = (await redis.command('PUBSUB', 'CHANNELS')) as [string];
      for (const text of ['', '{', '[]', 'null', '{}', '{"change":{}}'])
        await redis.command('PUBLISH', channel, text);
      await untilReceived(publisher, others, 'after it');
    }));

  test('opening a Broker without a Redis is rejected with one line', async () => {
    await assert.rejects(openRedisBroker({ url: 'redis://127.0.0.1:1' }), StoreUnavailableError);
  });
});

const CHANNELS = 2_000;
/** The brokers share one more. */
const COMMON = 1;
const TRIED_AT_ONCE = 100;

test(
  'while Redis is stopped a Broker that follows very much tries a hundred channels at once, and all are back with it',
  {
    skip: skipsOwnRedis,
  },
  (t) =>
    withBrokers(t, async ([, other], _received, redis) => {
      for (let project = 1; project <= CHANNELS; project += 1) other.follow({ type: 'changes', project });
      const isFollowing = async () =>
        ((await redis.command('PUBSUB', 'CHANNELS')) as string[]).length === CHANNELS + COMMON;
      await until('all are followed', isFollowing);
      const { mock } = t.mock.method(Redis.prototype, 'subscribe');
      await redis.stop();
      let [most, before] = [0, 0];
      while (before < 5 * TRIED_AT_ONCE) {
        await nextIteration();
        most = Math.max(most, mock.callCount() - before);
        before = mock.callCount();
      }
      // The other broker has its channel too.
      assert.ok(most <= TRIED_AT_ONCE + COMMON, `${most} in one iteration of the event loop`);
      await redis.start();
      await until('all are followed again', isFollowing);
    }),
);
