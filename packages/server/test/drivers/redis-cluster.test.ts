/** The Redis drivers on a real cluster of several nodes. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { openRedisBroker } from '../../src/broker/redis/redis-broker.ts';
import { openRedisPresence } from '../../src/presence/redis/redis-presence.ts';
import { StoreUnavailableError } from '../../src/store/store.ts';
import { brokerContract } from '../contract/broker-contract.ts';
import { PAGE_1, PAGE_2, PresenceScene, START, TTL } from '../contract/presence/presence-scene.ts';
import { presenceStoreContract } from '../contract/presence-store-contract.ts';
import { skipsOwnRedis, until } from '../support/own-redis.ts';
import { type OwnCluster, startCluster } from '../support/redis-cluster.ts';

/** More than land on one node by chance. */
const GROUPS = Array.from({ length: 40 }, (_, index) => `g${index}`);

/** Within which every call has failed, and within which all is well again. */
const LIMIT_MS = 5_000;

let cluster: OwnCluster;
let prefixes = 0;

function freshUrl(): string {
  prefixes += 1;
  return `${cluster.url}?prefix=p${prefixes}`;
}

/** For a crowd of calls on a machine that has much else to do. */
const patientUrl = () => `${freshUrl()}&timeout_ms=20000`;

describe('Redis Cluster', { skip: skipsOwnRedis }, () => {
  before(async () => {
    cluster = await startCluster();
  });

  presenceStoreContract('Redis Cluster', async () => {
    const url = patientUrl();
    return [await openRedisPresence({ url }), await openRedisPresence({ url })];
  });

  brokerContract('Redis Cluster', async () => {
    const url = patientUrl();
    return [await openRedisBroker({ url }), await openRedisBroker({ url })];
  });

  test('every node has groups, and one sweep ends the presence in all', async () => {
    const url = freshUrl();
    const scene = new PresenceScene([await openRedisPresence({ url }), await openRedisPresence({ url })]);
    try {
      await Promise.all(GROUPS.map((groupId) => scene.set('ann', PAGE_1, { groupId })));
      const sizes = await Promise.all(cluster.masters.map((node) => node.command('DBSIZE')));
      assert.ok(
        sizes.every((size) => (size as number) > 0),
        `${sizes}`,
      );
      const expiries = await scene.store.sweep(START + TTL);
      assert.deepEqual(expiries.map(({ groupId }) => groupId).sort(), GROUPS.toSorted());
    } finally {
      await scene.close();
    }
  });

  test('a paused node: no call hangs, and all is well soon after it goes on', async () => {
    const url = freshUrl();
    const scene = new PresenceScene([await openRedisPresence({ url }), await openRedisPresence({ url })]);
    try {
      const recorders = await Promise.all(GROUPS.map((groupId) => scene.watch({ groupId })));
      cluster.masters[1]?.signal('SIGSTOP');
      for (let round = 0; round < 2; round += 1) {
        const begun = performance.now();
        const sets = await Promise.allSettled(GROUPS.map((groupId) => scene.set('ann', PAGE_1, { groupId })));
        const failed = sets.filter((result) => result.status === 'rejected');
        assert.ok(failed.length > 0 && failed.every(({ reason }) => reason instanceof StoreUnavailableError));
        assert.ok(performance.now() - begun < LIMIT_MS);
      }
      await until('who watched there is told', async () => recorders.some(({ isLost }) => isLost));
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

  test('a master dies and its replica takes over: watchers are told, and what there was is there', async () => {
    const url = freshUrl();
    const scene = new PresenceScene([await openRedisPresence({ url }), await openRedisPresence({ url })]);
    try {
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
    } finally {
      await scene.close();
    }
  });
});
