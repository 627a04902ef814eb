/** What presence asks of Redis and leaves there. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { WATCH_LEASE_MS } from '../../src/presence/presence-store.ts';
import { openRedisPresence } from '../../src/presence/redis/redis-presence.ts';
import {
  at,
  PAGE_1,
  PAGE_2,
  PresenceScene,
  SCOPE,
  SITE,
  START,
  TTL,
} from '../contract/presence/presence-scene.ts';
import { OwnRedis, skipsOwnRedis } from '../support/own-redis.ts';

const DAY_MS = 86_400_000;
const USERS = Array.from({ length: 50 }, (_, index) => `u${index}`);

async function withScene(t: TestContext, body: (scene: PresenceScene, redis: OwnRedis) => Promise<void>) {
  const redis = await OwnRedis.start();
  t.after(() => redis.remove());
  const scene = new PresenceScene([
    await openRedisPresence({ url: redis.url }),
    await openRedisPresence({ url: redis.url }),
  ]);
  t.after(() => scene.close());
  await body(scene, redis);
}

async function keysOf(redis: OwnRedis): Promise<string[]> {
  return (await redis.command('KEYS', '*')) as string[];
}

/** How often a command was called since the counts were reset, by clients and scripts. */
async function callsOf(redis: OwnRedis): Promise<Map<string, number>> {
  const stats = (await redis.command('INFO', 'commandstats')) as string;
  const counts = stats.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm);
  return new Map(Array.from(counts, ([, name, count]) => [name as string, Number(count)]));
}

/** All that presence can do, once or more. */
async function useAll(scene: PresenceScene): Promise<void> {
  await Promise.all(USERS.map((id) => scene.set(id, PAGE_1)));
  await scene.set('u1', at({ page: '1', role: 'editor' }), { region: SITE });
  await scene.set('u1', at({ page: '2', role: 'editor' }), { region: SITE });
  const { watch } = await scene.watch();
  await watch.since(watch.position);
  await watch.renew(START);
  await scene.ids({ location: at({ page: '2', role: 'editor' }), partial: true });
  await scene.ids({ location: PAGE_1 });
  await scene.locationsOf('u1');
  await scene.clear('u2', PAGE_1);
  await scene.store.removeUsers(SCOPE, ['u3'], START);
  await scene.store.tell(SCOPE, { type: 'group', active: true }, START);
  await scene.store.snapshot({ ...SCOPE, after: null, limit: 10, now: START });
  await scene.store.watchedGroups(SCOPE.project, START);
  await scene.store.sweep(START + 1);
  await scene.store.removeProject('another', START);
}

describe('what presence asks of Redis', { skip: skipsOwnRedis }, () => {
  test('a refresh is one call, and so are 16 that come at once, whoever is there; so is a reading', (t) =>
    withScene(t, async (scene, redis) => {
      await Promise.all(USERS.map((id) => scene.set(id, PAGE_1)));
      await redis.command('CONFIG', 'RESETSTAT');
      const together = USERS.slice(0, 16);
      await Promise.all(together.map((id) => scene.set(id, PAGE_1, { now: START + 1 })));
      assert.equal((await callsOf(redis)).get('evalsha'), 1);
      for (const id of USERS) await scene.set(id, PAGE_1, { now: START + 2 });
      assert.equal((await callsOf(redis)).get('evalsha'), 1 + USERS.length);
      await scene.find();
      await scene.find({ location: PAGE_1, partial: true });
      const calls = await callsOf(redis);
      assert.equal(calls.get('evalsha'), 1 + USERS.length + 2);
      assert.equal(calls.get('eval'), 1, 'the first time, with its text');
    }));

  test('of those that are set at once, what fails fails alone', (t) =>
    withScene(t, async (scene, redis) => {
      await scene.set('ann', PAGE_1, { groupId: 'broken' });
      for (const key of (await keysOf(redis)).filter((name) => name.endsWith(':broken}:places')))
        await redis.command('SET', key, 'not a hash');
      const groups = ['one', 'broken', 'two'];
      const set = groups.map((groupId) => scene.set('ann', PAGE_2, { groupId }));
      const outcomes = (await Promise.allSettled(set)).map(({ status }) => status);
      assert.deepEqual(outcomes, ['fulfilled', 'rejected', 'fulfilled']);
      await assert.rejects(set[1] as Promise<unknown>, /WRONGTYPE/);
      assert.deepEqual(await scene.ids({ groupId: 'one' }), ['ann']);
      assert.deepEqual(await scene.ids({ groupId: 'two' }), ['ann']);
    }));

  test('nothing is looked for by going through all keys', (t) =>
    withScene(t, async (scene, redis) => {
      await useAll(scene);
      const names = [...(await callsOf(redis)).keys()];
      const searches = names.filter((name) => /scan|^keys$|randomkey|smembers|hgetall/.test(name));
      assert.deepEqual(searches, []);
    }));
});

describe('what presence leaves in Redis', { skip: skipsOwnRedis }, () => {
  test('nothing, once all of it has ended and been swept', (t) =>
    withScene(t, async (scene, redis) => {
      await Promise.all(USERS.map((id) => scene.set(id, PAGE_1)));
      await scene.set('u1', at({ page: '2', role: 'editor' }), { region: SITE });
      await scene.set('u1', PAGE_2, { groupId: 'another' });
      await scene.store.removeGroup({ ...SCOPE, groupId: 'another' }, START);
      assert.equal((await scene.store.sweep(START + TTL)).length, USERS.length + 1);
      assert.deepEqual(await keysOf(redis), []);
    }));

  test('keys that vanish by themselves, after the last deadline in them, should nobody sweep', (t) =>
    withScene(t, async (scene, redis) => {
      await useAll(scene);
      await scene.set('late', PAGE_1, { until: START + 30 * DAY_MS });
      for (const key of await keysOf(redis)) {
        const lives = (await redis.command('PTTL', key)) as number;
        assert.ok(lives > 0, `${key} lives for ${lives} ms`);
        const isOfPresence = /places|deadlines|index|meta/.test(key);
        if (isOfPresence) assert.ok(lives > 30 * DAY_MS, `${key} lives for ${lives} ms`);
      }
    }));

  test('keys that are made again when a group was empty vanish too', (t) =>
    withScene(t, async (scene, redis) => {
      await scene.set('ann', PAGE_1);
      await scene.clear('ann', PAGE_1);
      await scene.set('ann', PAGE_1);
      for (const key of await keysOf(redis))
        assert.ok(((await redis.command('PTTL', key)) as number) > 0, key);
    }));

  test('of a watched group no more than its lease: whoever watched it last', (t) =>
    withScene(t, async (scene, redis) => {
      await scene.watch();
      await scene.set('ann', PAGE_1);
      for (const key of (await keysOf(redis)).filter((name) => /group}:(watched|history)/.test(name))) {
        assert.ok(((await redis.command('PTTL', key)) as number) <= 2 * WATCH_LEASE_MS, key);
      }
    }));
});
