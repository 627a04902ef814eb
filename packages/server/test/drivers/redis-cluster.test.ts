/** The Redis drivers on a real cluster of several nodes. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { openRedisBroker } from '../../src/broker/redis/redis-broker.ts';
import { openRedisPresence } from '../../src/presence/redis/redis-presence.ts';
import { openChannels } from '../../src/redis/redis-channels.ts';
import { RedisConnection } from '../../src/redis/redis-connection.ts';
import { parseRedisUrl } from '../../src/redis/redis-url.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { brokerContract } from '../contract/broker-contract.ts';
import { PAGE_1, PAGE_2, PresenceScene, START, TTL } from '../contract/presence/presence-scene.ts';
import { presenceStoreContract } from '../contract/presence-store-contract.ts';
import { closing, openTwo } from '../support/closing.ts';
import { skipsOwnRedis } from '../support/own-redis.ts';
import { PATIENTLY } from '../support/redis.ts';
import { type OwnCluster, SHORT_NODE_TIMEOUT_MS, startCluster } from '../support/redis-cluster.ts';
import { until, within } from '../support/waiting.ts';

/** More than land on one node by chance. */
const GROUPS = Array.from({ length: 40 }, (_, index) => `g${index}`);

/** The time within which every call has failed, and within which all calls succeed again. */
const LIMIT_MS = 5_000;

let cluster: OwnCluster;
let prefixes = 0;

function freshUrl(): string {
  prefixes += 1;
  return `${cluster.url}?prefix=p${prefixes}`;
}

const patientUrl = () => `${freshUrl()}&${PATIENTLY}`;

describe('Redis Cluster', { skip: skipsOwnRedis }, () => {
  before(async () => {
    cluster = await startCluster();
  });

  const makeStores = async () => {
    const url = patientUrl();
    return openTwo(() => openRedisPresence({ url }));
  };
  // All of a group is on one node, where a crowd is as on a single server.
  presenceStoreContract('Redis Cluster', makeStores, false);

  brokerContract('Redis Cluster', async () => {
    const url = patientUrl();
    return openTwo(() => openRedisBroker({ url }));
  });

  test('one sweep of a Redis Cluster ends presence on every node', async () => {
    const url = patientUrl();
    await using scene = closing(new PresenceScene(await openTwo(() => openRedisPresence({ url }))));
    await Promise.all(GROUPS.map((groupId) => scene.set('ann', PAGE_1, { groupId })));
    const sizes = await Promise.all(cluster.masters.map((node) => node.command('DBSIZE')));
    assert.ok(
      sizes.every((size) => (size as number) > 0),
      `${sizes}`,
    );
    const expiries = await scene.store.sweep(START + TTL);
    assert.deepEqual(expiries.map(({ groupId }) => groupId).sort(), GROUPS.toSorted());
  });
});

describe('a Redis Cluster whose nodes fail', { skip: skipsOwnRedis }, () => {
  before(async () => {
    cluster = await startCluster(SHORT_NODE_TIMEOUT_MS);
  });

  test('no call hangs while a node of a Redis Cluster is paused, and all succeed soon after it is resumed', async () => {
    const url = freshUrl();
    const scene = new PresenceScene(await openTwo(() => openRedisPresence({ url })));
    try {
      const recorders = await Promise.all(GROUPS.map((groupId) => scene.watch({ groupId })));
      cluster.masters[1]?.signal('SIGSTOP');
      for (let round = 0; round < 2; round += 1) {
        const calls = GROUPS.map((groupId) => scene.set('ann', PAGE_1, { groupId }));
        const sets = await within(LIMIT_MS, Promise.allSettled(calls), 'the end of every call');
        const failed = sets.filter((result) => result.status === 'rejected');
        assert.ok(failed.length > 0 && failed.every(({ reason }) => reason instanceof StoreUnavailableError));
      }
      await until('the watches of its groups are lost', async () => recorders.some(({ isLost }) => isLost));
      cluster.masters[1]?.signal('SIGCONT');
      const setAll = async () => {
        await Promise.all(GROUPS.map((groupId) => scene.set('ann', PAGE_1, { groupId })));
        return true;
      };
      await until('all is well', setAll, LIMIT_MS);
    } finally {
      cluster.masters[1]?.signal('SIGCONT');
      await scene.close();
    }
  });

  // A rejection that nobody handles fails the test.
  test('a channel that is left while its node of a Redis Cluster does not answer is rejected, and received later', async () => {
    const url = `${freshUrl()}&connect_timeout_ms=300&timeout_ms=300`;
    const connection = await RedisConnection.open(parseRedisUrl(url), 'broker');
    const channels = await openChannels(connection);
    const texts: string[] = [];
    const listener = { onMessage: (text: string) => texts.push(text), onLost: () => {} };
    try {
      cluster.masters[1]?.signal('SIGSTOP');
      const outcomes = await Promise.all(
        GROUPS.map(async (channel) => {
          const subscribed = channels.subscribe(channel, listener);
          channels.unsubscribe(channel);
          return subscribed.catch((error) => error);
        }),
      );
      assert.ok(outcomes.some((outcome) => outcome instanceof StoreUnavailableError));
      cluster.masters[1]?.signal('SIGCONT');
      await until('every channel is received', async () => {
        texts.length = 0;
        for (const channel of GROUPS) await channels.subscribe(channel, listener);
        for (const channel of GROUPS) await connection.publish(channel, channel);
        for (const channel of GROUPS) await channels.drain(channel);
        return texts.length === GROUPS.length;
      });
    } finally {
      cluster.masters[1]?.signal('SIGCONT');
      channels.close();
      connection.close();
    }
  });

  test('watches are lost and presence stays when a master of a Redis Cluster dies and its replica takes over', async () => {
    const url = freshUrl();
    await using scene = closing(new PresenceScene(await openTwo(() => openRedisPresence({ url }))));
    const recorders = await Promise.all(GROUPS.map((groupId) => scene.watch({ groupId })));
    await Promise.all(GROUPS.map((groupId) => scene.set('ann', PAGE_1, { groupId })));
    await until('the replica has it all', async () => {
      const [first] = cluster.masters;
      return (await first?.command('DBSIZE')) === (await cluster.replica.command('DBSIZE'));
    });
    await cluster.masters[0]?.stop();
    await until('every group can be written again', async () => {
      await Promise.all(GROUPS.map((groupId) => scene.set('bob', PAGE_2, { groupId })));
      return true;
    });
    const lost = recorders.filter(({ isLost }) => isLost);
    assert.ok(lost.length > 0 && lost.length < GROUPS.length, `${lost.length} were lost`);
    for (const [index, groupId] of GROUPS.entries()) {
      assert.deepEqual(await scene.ids({ groupId }), ['ann', 'bob']);
      const recorder = recorders[index]?.isLost ? await scene.watch({ groupId }) : recorders[index];
      const known = recorder?.events.length ?? 0;
      await scene.set('cid', PAGE_1, { groupId });
      await recorder?.first(known + 1);
      recorder?.assertOrder();
    }
  });
});
