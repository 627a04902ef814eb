/** The Redis drivers while the masters of a cluster change: slots move, and a replica takes over. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { openRedisBroker } from '../../src/broker/redis/redis-broker.ts';
import { PresenceKeys } from '../../src/presence/redis/presence-keys.ts';
import { openRedisPresence } from '../../src/presence/redis/redis-presence.ts';
import { slotOf } from '../../src/redis/slot.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { PAGE_1, PAGE_2, PresenceScene, SCOPE, START, TTL } from '../contract/presence/presence-scene.ts';
import { closing, openTwo } from '../support/closing.ts';
import { type OwnRedis, skipsOwnRedis } from '../support/own-redis.ts';
import { PATIENTLY } from '../support/redis.ts';
import {
  closeSlot,
  moveKeys,
  moveSlot,
  type OwnCluster,
  openSlot,
  SHORT_NODE_TIMEOUT_MS,
  startCluster,
  takeOver,
} from '../support/redis-cluster.ts';
import { until } from '../support/waiting.ts';
import { Crowd } from './cluster-crowd.ts';

/** The group whose slot stays in the middle of a move, and others. */
const GROUPS = Array.from({ length: 12 }, (_, index) => `g${index}`);

let cluster: OwnCluster;

describe('a Redis Cluster whose slots move', { skip: skipsOwnRedis }, () => {
  before(async () => {
    cluster = await startCluster();
  });

  test('users arrive and depart while slots move, and each departure is published once', () =>
    Crowd.with(cluster.url, 'moving', async (crowd) => {
      await crowd.runDuring(async () => {
        for (const slot of crowd.slots) await moveToNext(slot);
      });
      await crowd.assertEachDepartureOnce();
    }));

  test('while the move of a slot is stuck calls for its group are unavailable, and other groups continue', async () => {
    const url = `${cluster.url}?prefix=between&${PATIENTLY}`;
    await using scene = closing(new PresenceScene(await openTwo(() => openRedisPresence({ url }))));
    const [stuck = '', ...others] = GROUPS;
    await Promise.all(GROUPS.map((groupId) => scene.set('ann', PAGE_1, { groupId })));
    const keys = new PresenceKeys({ prefix: 'between', db: 0 });
    const slot = slotOf(keys.channel({ ...SCOPE, groupId: stuck }));
    const { from, to, rest } = await mastersOf(slot);
    await openSlot(slot, from, to);
    for (const count of [0, 2, Infinity]) {
      await moveKeys(slot, from, to, count);
      await assert.rejects(scene.set('bob', PAGE_2, { groupId: stuck }), StoreUnavailableError);
      await assert.rejects(scene.ids({ groupId: stuck }), StoreUnavailableError);
    }
    const ended = await scene.store.sweep(START + TTL);
    assert.deepEqual(ended.map(({ groupId }) => groupId).sort(), others.toSorted());
    await closeSlot(slot, to, [from, ...rest]);
    await until(
      'its departure is published too',
      async () => (await scene.store.sweep(START + 2 * TTL)).length === 1,
    );
    await scene.set('bob', PAGE_2, { groupId: stuck });
    assert.deepEqual(await scene.ids({ groupId: stuck }), ['bob']);
  });

  test('no presence is lost when a replica takes over from a living master, and each departure is published once', () =>
    Crowd.with(cluster.url, 'taken', async (crowd) => {
      await crowd.runDuring(() => takeOver(cluster.replica));
      await crowd.assertEachDepartureOnce();
    }));

  test('a process that only subscribes receives changes again once another node has the channel', async () => {
    // A master of it stops, and its replica takes over.
    cluster = await startCluster(SHORT_NODE_TIMEOUT_MS);
    const url = `${cluster.url}?prefix=listening`;
    await using speaker = closing(await openRedisBroker({ url }));
    await using listener = closing(await openRedisBroker({ url }));
    const received = new Set<string>();
    listener.subscribe((change) => void received.add(`${'projectId' in change ? change.projectId : ''}`));
    const publish = async (projectId: string) => {
      await speaker.publish({ type: 'project', projectId });
      return received.has(projectId);
    };
    await until('changes are received', () => publish('first'));
    const slot = slotOf('listening:0:{changes}');
    await moveToNext(slot);
    await until('changes are received from another master', () => publish('second'));
    const pair = [cluster.replica, cluster.masters[0] as OwnRedis];
    const { from, to, rest } = await mastersOf(slot);
    const dying = [from, to, ...rest].find((master) => pair.includes(master)) as OwnRedis;
    const others = [from, to, ...rest].filter((master) => master !== dying);
    if (from !== dying) await moveSlot(slot, from, dying, others);
    await until('changes are received from the master that will stop', () => publish('third'));
    await dying.stop();
    await until('changes are received from its replica', () => publish('fourth'));
  });
});

/** The master of a slot, the master to move it to, and the others. */
async function mastersOf(slot: number): Promise<{ from: OwnRedis; to: OwnRedis; rest: OwnRedis[] }> {
  const nodes = [...cluster.masters, cluster.replica];
  type Range = [first: number, last: number, master: [host: string, port: number]];
  const ranges = (await cluster.masters[1]?.command('CLUSTER', 'SLOTS')) as Range[];
  const ports = new Set(ranges.map(([, , [, port]]) => port));
  const portOfSlot = ranges.find(([first, last]) => first <= slot && slot <= last)?.[2][1];
  const from = nodes.find(({ port }) => port === portOfSlot);
  const [to, ...rest] = nodes.filter((node) => node !== from && ports.has(node.port));
  assert.ok(from !== undefined && to !== undefined);
  return { from, to, rest };
}

async function moveToNext(slot: number): Promise<void> {
  const { from, to, rest } = await mastersOf(slot);
  await moveSlot(slot, from, to, rest);
}
