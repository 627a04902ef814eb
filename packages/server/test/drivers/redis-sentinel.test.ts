/** The Redis drivers behind a sentinel: the master dies or is exchanged, its replica takes over, and the master comes back. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { openRedisBroker } from '../../src/broker/redis/redis-broker.ts';
import { openRedisPresence } from '../../src/presence/redis/redis-presence.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import { PAGE_1, PresenceScene } from '../contract/presence/presence-scene.ts';
import { openTwo } from '../support/closing.ts';
import { OwnRedis, skipsOwnRedis } from '../support/own-redis.ts';
import { untilReplicated } from '../support/redis-sentinels.ts';
import { until } from '../support/waiting.ts';

const NAME = 'main';

async function startSentinel(master: OwnRedis): Promise<OwnRedis> {
  const sentinel = await OwnRedis.startSentinel();
  await sentinel.command('SENTINEL', 'MONITOR', NAME, '127.0.0.1', `${master.port}`, '1');
  await sentinel.command('SENTINEL', 'SET', NAME, 'down-after-milliseconds', '500');
  await sentinel.command('SENTINEL', 'SET', NAME, 'failover-timeout', '2000');
  return sentinel;
}

/** A master and its replica behind a sentinel. Resolves when a failover is possible. */
async function startPair(t: TestContext) {
  const master = await OwnRedis.start('--repl-diskless-sync-delay', '0');
  t.after(() => master.remove());
  const replica = await OwnRedis.start('--replicaof', '127.0.0.1', `${master.port}`);
  t.after(() => replica.remove());
  const sentinel = await startSentinel(master);
  t.after(() => sentinel.remove());
  await until('the sentinel knows the replica', async () => {
    return ((await sentinel.command('SENTINEL', 'REPLICAS', NAME)) as unknown[]).length === 1;
  });
  await untilFollows(replica);
  return { master, replica, sentinel, url: `redis://127.0.0.1:${sentinel.port}?sentinel=${NAME}` };
}

const replicationOf = async (server: OwnRedis) => (await server.command('INFO', 'replication')) as string;

const untilFollows = (server: OwnRedis) =>
  until('the replica follows', async () => /master_link_status:up/.test(await replicationOf(server)));

const untilMaster = (server: OwnRedis) =>
  until('it is the master', async () => /^role:master/m.test(await replicationOf(server)));

describe('Redis behind a sentinel', { skip: skipsOwnRedis }, () => {
  test('the Redis client connects to the master that the sentinel names, and to its replica when that takes over', async (t) => {
    const { master, replica, url } = await startPair(t);
    const scene = new PresenceScene(await openTwo(() => openRedisPresence({ url })));
    t.after(() => scene.close());
    const broker = await openRedisBroker({ url });
    t.after(() => broker.close());
    const recorder = await scene.watch();
    await scene.set('ann', PAGE_1);
    await recorder.first(1);
    await until(
      'the replica has it',
      async () => (await replica.command('DBSIZE')) === (await master.command('DBSIZE')),
    );

    await master.stop();
    await assert.rejects(scene.set('bob', PAGE_1), StoreUnavailableError);
    await recorder.lost();
    await until('the replica has taken over', () => scene.set('bob', PAGE_1).then(() => true));
    await until('there too', () => scene.ids().then((ids) => ids.length === 2));
    let again = recorder;
    await until('it can be watched', async () => {
      again = await scene.watch();
      return true;
    });
    // By either of the two clients, each of which finds the new master by itself.
    await until('it can be cleared', () => scene.clear('bob', PAGE_1).then(() => true));
    await again.first(1);
    await until('the broker is back', async () => {
      await broker.publish({ type: 'project', projectId: 'p' });
      return true;
    });
  });

  test('a planned SENTINEL FAILOVER and one back lose no presence, and watches go on with the next master', async (t) => {
    const { master, replica, sentinel, url } = await startPair(t);
    const scene = new PresenceScene(await openTwo(() => openRedisPresence({ url })));
    t.after(() => scene.close());
    const users = ['ann'];
    await scene.set('ann', PAGE_1);
    for (const [next, before] of [
      [replica, master],
      [master, replica],
    ] as const) {
      const recorder = await scene.watch();
      // Rejected until the sentinel has seen the end of the failover before, which takes long on a busy machine: longer than
      // presence lasts.
      await until('the failover begins', async () => {
        for (const user of users) await scene.set(user, PAGE_1);
        // What the replica does not have yet is lost with any failover.
        await untilReplicated({ master: before, replica: next });
        return (await sentinel.command('SENTINEL', 'FAILOVER', NAME)) === 'OK';
      });
      await untilMaster(next);
      await untilFollows(before);
      const user = `after-${users.length}`;
      await until('it can be written', () => scene.set(user, PAGE_1).then(() => true));
      users.push(user);
      // What is set here is on the next master, and comes to the one before from there.
      await until('both have it', async () => {
        return (await next.command('DBSIZE')) === (await before.command('DBSIZE'));
      });
      await until('it can be read', async () => (await scene.ids()).join() === users.toSorted().join());
      await recorder.lost();
      let again = recorder;
      await until('it can be watched', async () => {
        again = await scene.watch();
        return true;
      });
      await scene.clear('ann', PAGE_1);
      await again.first(1);
      await scene.set('ann', PAGE_1);
    }
  });

  test('opening Redis is rejected with one line when the sentinel does not know the master', async (t) => {
    const sentinel = await OwnRedis.startSentinel();
    t.after(() => sentinel.remove());
    const url = `redis://127.0.0.1:${sentinel.port}?sentinel=nobody&connect_timeout_ms=300&timeout_ms=300`;
    await assert.rejects(openRedisPresence({ url }), StoreUnavailableError);
  });
});
