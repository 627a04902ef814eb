/** The commands of presence to Redis, and its keys. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '@rollcall/protocol';
import { WATCH_LEASE_MS } from '../../src/presence/presence-store.ts';
import type { Json } from '../../src/values/json.ts';
import {
  at,
  PAGE_1,
  PAGE_2,
  type PresenceScene,
  SCOPE,
  SITE,
  START,
  TTL,
} from '../contract/presence/presence-scene.ts';
import { withRedisScene } from '../contract/presence/redis-scene.ts';
import { type OwnRedis, skipsOwnRedis } from '../support/own-redis.ts';

const DAY_MS = 86_400_000;
const USERS = Array.from({ length: 50 }, (_, index) => `u${index}`);

async function keysOf(redis: OwnRedis): Promise<string[]> {
  return (await redis.command('KEYS', '*')) as string[];
}

/** How often a command was called since the counts were reset, by clients and scripts. */
async function callsOf(redis: OwnRedis): Promise<Map<string, number>> {
  const stats = (await redis.command('INFO', 'commandstats')) as string;
  const counts = stats.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm);
  return new Map(Array.from(counts, ([, name, count]) => [name as string, Number(count)]));
}

/** Every operation of presence, once or more. */
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
  await scene.store.publish(SCOPE, { type: 'group' }, START);
  await scene.store.watchedGroups(SCOPE.project, START);
  await scene.store.sweep(START + 1);
  await scene.store.removeProject('another', START);
}

describe('the calls of presence to Redis', { skip: skipsOwnRedis }, () => {
  test('a refresh of presence is one call, 16 refreshes of one tick are one call, and a reading is one call', () =>
    withRedisScene(async (scene, redis) => {
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

  test('a presence update that fails in a batch fails alone', () =>
    withRedisScene(async (scene, redis) => {
      await scene.set('ann', PAGE_1, { groupId: 'broken' });
      for (const key of (await keysOf(redis)).filter((name) => name.endsWith(':broken}:locations')))
        await redis.command('SET', key, 'not a hash');
      const groups = ['one', 'broken', 'two'];
      const set = groups.map((groupId) => scene.set('ann', PAGE_2, { groupId }));
      const outcomes = (await Promise.allSettled(set)).map(({ status }) => status);
      assert.deepEqual(outcomes, ['fulfilled', 'rejected', 'fulfilled']);
      await assert.rejects(set[1] as Promise<unknown>, /WRONGTYPE/);
      assert.deepEqual(await scene.ids({ groupId: 'one' }), ['ann']);
      assert.deepEqual(await scene.ids({ groupId: 'two' }), ['ann']);
    }));

  test('the steps of a script do not grow with the square of the holds that a user has at one location', (t) =>
    withRedisScene(async (scene, redis) => {
      const hold = (index: number, region = SITE) => ({ connection: `c${index}`, region, lease: 'process' });
      for (const region of [PAGE_1, PAGE_2, SITE]) {
        for (let index = 0; index < limits.HOLDS_MAX / 3; index += 1)
          await scene.set('ann', PAGE_1, hold(index, region));
      }
      const steps: Record<string, () => Promise<unknown>> = {
        refresh: () => scene.set('ann', PAGE_1, hold(5)),
        move: () => scene.set('ann', PAGE_2, hold(5)),
        'reading of a user': () => scene.locationsOf('ann'),
        reading: () => scene.find(),
        absence: () => scene.clear('ann', PAGE_1, START, SCOPE, 'c7'),
        release: () =>
          scene.store.release({
            ...SCOPE,
            userId: 'ann',
            connection: 'c8',
            lease: 'process',
            at: START,
            now: START,
          }),
        'absence of all': () => scene.clear('ann', PAGE_1),
      };
      for (const [name, step] of Object.entries(steps)) {
        await redis.command('CONFIG', 'RESETSTAT');
        await step();
        const calls = [...(await callsOf(redis)).values()].reduce((sum, count) => sum + count, 0);
        t.diagnostic(`${name}: ${calls} commands`);
        assert.ok(calls < 20 * limits.HOLDS_MAX, `${name}: ${calls} commands`);
      }
    }));

  test('no call of presence scans all keys of Redis', () =>
    withRedisScene(async (scene, redis) => {
      await useAll(scene);
      const names = [...(await callsOf(redis)).keys()];
      const searches = names.filter((name) => /scan|^keys$|randomkey|smembers|hgetall/.test(name));
      assert.deepEqual(searches, []);
    }));
});

/** A location of 16 pairs and so many bytes of text. */
function sized(name: string, bytes: number): Json {
  const names = Array.from({ length: 15 }, (_, index) => `k${index + 10}`);
  const empty = at({ name, ...Object.fromEntries(names.map((key) => [key, ''])) }).length;
  const each = Math.floor((bytes - empty) / names.length);
  const lengths = names.map((_, index) => each + (index === 0 ? (bytes - empty) % names.length : 0));
  return at({
    name,
    ...Object.fromEntries(names.map((key, index) => [key, 'x'.repeat(lengths[index] as number)])),
  });
}

/** The bytes that the keys of presence take, apart from those that every Redis has. */
async function bytesOf(redis: OwnRedis): Promise<number> {
  const sizes = await Promise.all(
    (await keysOf(redis)).map((key) => redis.command('MEMORY', 'USAGE', key, 'SAMPLES', '0')),
  );
  return sizes.reduce<number>((sum, size) => sum + Number(size), 0);
}

/** The most memory of one user in one group, in bytes, with an ID of 3 characters. */
const USER_MAX_BYTES = 700_000;

describe('the memory of presence in Redis', { skip: skipsOwnRedis }, () => {
  test('no index of presence has the text of a location, however long it and its region are', () =>
    withRedisScene(async (scene, redis) => {
      const [first, second, region] = ['1', '2', 'region'].map((name) => sized(name, 8_192)) as [
        Json,
        Json,
        Json,
      ];
      await scene.set('ann', first);
      await scene.set('ann', first, { region });
      await scene.set('ann', second, { region });
      const keys = (await keysOf(redis)).filter((key) => /group}:(index|deadlines)$/.test(key));
      assert.equal(keys.length, 2);
      for (const key of keys) {
        const members = (await redis.command('ZRANGE', key, '0', '-1')) as string[];
        assert.ok(members.length >= 2);
        for (const member of members) assert.ok(member.length <= 100, `${key}: ${member}`);
      }
    }));

  for (const [what, bytes] of [
    ['of many pairs', limits.EPHEMERAL_LOCATIONS_MAX_BYTES / limits.EPHEMERAL_LOCATIONS_MAX],
    ['of the largest size', limits.LOCATION_MAX_BYTES],
  ] as const) {
    test(`the presence of one user takes bounded memory: locations ${what}`, (t) =>
      withRedisScene(async (scene, redis) => {
        const locations = Array.from({ length: 300 }, (_, index) => sized(`${index}`, Math.floor(bytes)));
        const grown: number[] = [];
        for (const [index, location] of locations.entries()) {
          await scene.set('ann', location, {
            region: sized(`region ${index}`, 8_192),
            until: START + TTL + index,
          });
          if (index % 100 === 99) grown.push(await bytesOf(redis));
        }
        t.diagnostic(`${grown.join(', ')} bytes`);
        assert.ok(
          grown.every((size) => size <= USER_MAX_BYTES),
          `${grown.join(', ')} bytes`,
        );
        const left = (await scene.locationsOf('ann')).length;
        assert.equal((await scene.store.sweep(START + 2 * TTL)).length, left);
        assert.deepEqual(await keysOf(redis), []);
      }));
  }
});

describe('the keys that presence leaves in Redis', { skip: skipsOwnRedis }, () => {
  test('no key of presence is left once all presence has ended and been swept', () =>
    withRedisScene(async (scene, redis) => {
      await Promise.all(USERS.map((id) => scene.set(id, PAGE_1)));
      await scene.set('u1', at({ page: '2', role: 'editor' }), { region: SITE });
      await scene.set('u1', PAGE_2, { groupId: 'another' });
      await scene.store.removeGroup({ ...SCOPE, groupId: 'another' }, START);
      assert.equal((await scene.store.sweep(START + TTL)).length, USERS.length + 1);
      assert.deepEqual(await keysOf(redis), []);
    }));

  test('keys of presence expire after their last deadline when no process sweeps', () =>
    withRedisScene(async (scene, redis) => {
      await useAll(scene);
      await scene.set('late', PAGE_1, { until: START + 30 * DAY_MS });
      for (const key of await keysOf(redis)) {
        const lives = (await redis.command('PTTL', key)) as number;
        assert.ok(lives > 0, `${key} lives for ${lives} ms`);
        const isOfPresence = /deadlines|index|meta/.test(key);
        if (isOfPresence) assert.ok(lives > 30 * DAY_MS, `${key} lives for ${lives} ms`);
      }
    }));

  test('keys of presence that are created again after a group was empty expire too', () =>
    withRedisScene(async (scene, redis) => {
      await scene.set('ann', PAGE_1);
      await scene.clear('ann', PAGE_1);
      await scene.set('ann', PAGE_1);
      for (const key of await keysOf(redis))
        assert.ok(((await redis.command('PTTL', key)) as number) > 0, key);
    }));

  test('keys of presence expire also after holds were released, taken back, moved to another lease, or lost their lease', () =>
    withRedisScene(async (scene, redis) => {
      const hold = { connection: 'a', lease: 'process' };
      const scope = { ...SCOPE, userId: 'ann', connection: 'a', now: START };
      const steps: readonly (() => Promise<unknown>)[] = [
        () => scene.set('ann', PAGE_1, hold),
        () => scene.store.release({ ...scope, lease: 'process', at: START + 2_000 }),
        () => scene.store.retain(scope),
        () => scene.set('ann', PAGE_1, { ...hold, lease: 'another process' }),
        () => scene.set('ann', PAGE_1, { connection: 'a' }),
        () => scene.set('ann', PAGE_1, hold),
        () => scene.store.release({ ...scope, lease: 'process', at: START + 2_000 }),
        () => scene.set('ann', PAGE_1, hold),
        () => scene.set('ann', PAGE_2, { ...hold, region: PAGE_1 }),
        () => scene.clear('ann', PAGE_2),
        () => scene.set('ann', PAGE_2, hold),
        () => scene.store.release({ ...scope, lease: 'process', at: START }),
        () => scene.set('ann', PAGE_2, { ...hold, lease: 'another process' }),
      ];
      for (const [index, step] of steps.entries()) {
        await step();
        for (const key of await keysOf(redis))
          assert.ok(((await redis.command('PTTL', key)) as number) > 0, `${key} after step ${index}`);
      }
      await scene.store.sweep(START + TTL);
      await scene.store.sweep(START + TTL);
      assert.deepEqual(await keysOf(redis), []);
    }));

  test('an update whose condition is not met, or whose lease has ended, leaves no key of presence that does not expire', () =>
    withRedisScene(async (scene, redis) => {
      const hold = { connection: 'a', lease: 'process' };
      assert.equal((await scene.set('ann', PAGE_1, { ...hold, condition: 'refresh' })).holdEnded, true);
      assert.deepEqual(await keysOf(redis), []);
      await scene.set('ann', PAGE_1, hold);
      await scene.store.removeUsers(SCOPE, ['ann'], START);
      assert.equal((await scene.set('ann', PAGE_1, { ...hold, now: START + TTL })).leaseEnded, true);
      for (const key of await keysOf(redis))
        assert.ok(((await redis.command('PTTL', key)) as number) > 0, key);
    }));

  test('the keys of a watched group expire after the lease of its last watch', () =>
    withRedisScene(async (scene, redis) => {
      await scene.watch();
      await scene.set('ann', PAGE_1);
      for (const key of (await keysOf(redis)).filter((name) => /group}:(watched|history)/.test(name))) {
        assert.ok(((await redis.command('PTTL', key)) as number) <= 2 * WATCH_LEASE_MS, key);
      }
    }));
});
