/** The PresenceStore while Redis is away: no call hangs, no event is wrong, and calls succeed soon after its return. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { PresenceStore } from '../../src/presence/presence-store.ts';
import { openRedisPresence } from '../../src/presence/redis/redis-presence.ts';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import {
  INCARNATION,
  PAGE_1,
  PAGE_2,
  type PresenceScene,
  SCOPE,
  SITE,
  START,
  TTL,
} from '../contract/presence/presence-scene.ts';
import { withRedisScene } from '../contract/presence/redis-scene.ts';
import { skipsOwnRedis } from '../support/own-redis.ts';
import { until, within } from '../support/waiting.ts';

/** Later than any sweep. */
const OVERDUE_MS = 10_000;
/** The time within which every call has failed, and within which calls succeed again. */
const LIMIT_MS = 5_000;
/** Options of the client of Redis, which mean nothing to an operator. */
const NAMES_OF_CLIENT = /maxRetriesPerRequest|enableOfflineQueue/;

/** Every method once. */
const calls = (store: PresenceStore): Promise<unknown>[] => [
  store.ping(),
  store.set({
    ...SCOPE,
    userId: 'ann',
    incarnation: INCARNATION,
    region: SITE,
    location: PAGE_1,
    now: START,
    expiresAt: START + TTL,
  }),
  store.clear({ ...SCOPE, userId: 'ann', location: PAGE_1, now: START }),
  store.find({ ...SCOPE, filter: null, after: null, limit: 10, now: START }),
  store.locationsOf({ ...SCOPE, userId: 'ann', incarnation: INCARNATION, now: START }),
  store.removeUsers(SCOPE, ['ann'], START),
  store.removeGroup(SCOPE, START),
  store.removeProject(SCOPE.project, START),
  store.sweep(START),
  store.watch(SCOPE, START, { onEvent() {}, onLost() {} }),
  store.watchedGroups(SCOPE.project, START),
  store.publish(SCOPE, { type: 'group' }, START),
];

async function assertUnavailable(store: PresenceStore): Promise<void> {
  const results = await within(LIMIT_MS, Promise.allSettled(calls(store)), 'the end of every call');
  for (const [index, result] of results.entries()) {
    assert.equal(result.status, 'rejected', `call ${index}`);
    assert.ok(result.reason instanceof StoreUnavailableError, `call ${index}: ${result.reason}`);
    assert.doesNotMatch(result.reason.message, /\n/);
  }
}

async function assertWell(scene: PresenceScene): Promise<void> {
  await until(
    'all is well',
    async () => (await Promise.all([...calls(scene.store), ...calls(scene.other)])).length > 0,
    LIMIT_MS,
  );
  await scene.store.removeGroup(SCOPE, START);
  const recorder = await scene.watch();
  await scene.set('cid', PAGE_2);
  assert.deepEqual(await recorder.first(1), [
    { type: 'arrived', userId: 'cid', incarnation: INCARNATION, location: PAGE_2, from: null },
  ]);
  assert.deepEqual(await scene.ids(), ['cid']);
}

describe('the PresenceStore while Redis is away', { skip: skipsOwnRedis, concurrency: 4 }, () => {
  test('opening a PresenceStore without a Redis is rejected with one line that names the address', async () => {
    await assert.rejects(openRedisPresence({ url: 'redis://127.0.0.1:1' }), (error: Error) => {
      assert.ok(error instanceof StoreUnavailableError);
      assert.equal(error.message, 'Redis does not answer at 127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1');
      return true;
    });
  });

  test('while Redis is stopped presence calls reject and watches are lost; all succeed when it is started again, and empty', () =>
    withRedisScene(async (scene, redis) => {
      const recorder = await scene.watch();
      await scene.set('ann', PAGE_1);
      await recorder.first(1);
      await redis.stop();
      await assertUnavailable(scene.store);
      await recorder.lost();
      await redis.start();
      await assertWell(scene);
      assert.equal(recorder.events.length, 1);
    }));

  test('while Redis is paused presence calls reject, also those under way; all succeed when it is resumed', () =>
    withRedisScene(async (scene, redis) => {
      const recorder = await scene.watch();
      redis.signal('SIGSTOP');
      await Promise.all(Array.from({ length: 20 }, () => assertUnavailable(scene.store)));
      await assertUnavailable(scene.store);
      await recorder.lost();
      redis.signal('SIGCONT');
      await assertWell(scene);
    }));

  test('while Redis is paused watches are lost also without any call', () =>
    withRedisScene(async (scene, redis) => {
      const recorder = await scene.watch();
      redis.signal('SIGSTOP');
      await recorder.lost();
      redis.signal('SIGCONT');
      await assertWell(scene);
    }));

  test('opening a PresenceStore rejects while Redis is paused', () =>
    withRedisScene(async (_, redis) => {
      redis.signal('SIGSTOP');
      const rejected = assert.rejects(openRedisPresence({ url: redis.url }), StoreUnavailableError);
      await within(LIMIT_MS, rejected);
      redis.signal('SIGCONT');
    }));

  test('presence calls whose connection is cut reject with a reason for operators or were applied, and later ones succeed', () =>
    withRedisScene(async (scene, redis) => {
      const recorder = await scene.watch();
      for (let round = 0; round < 5; round += 1) {
        const sets = Array.from({ length: 200 }, (_, index) => scene.set(`u${round}-${index}`, PAGE_1));
        const underWay = Promise.allSettled(sets);
        await redis.command('CLIENT', 'KILL', 'TYPE', 'normal');
        await redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
        for (const result of await underWay) {
          if (result.status === 'fulfilled') continue;
          assert.ok(result.reason instanceof StoreUnavailableError);
          assert.doesNotMatch(`${result.reason.cause}`, NAMES_OF_CLIENT);
        }
        await until('it answers', () => scene.store.ping().then(() => true), LIMIT_MS);
      }
      await recorder.lost();
      await assertWell(scene);
    }));

  test('a watch is lost when Redis is emptied, and the group continues in another epoch', () =>
    withRedisScene(async (scene, redis) => {
      const recorder = await scene.watch();
      const { position } = recorder.watch;
      await redis.command('FLUSHALL');
      await recorder.watch.renew(START);
      await recorder.lost();
      const { watch } = await scene.watch();
      assert.notEqual(watch.position.epoch, position.epoch);
      assert.equal(await watch.since(position), null);
    }));

  test('since returns null for a position that a restart from an older snapshot lost', () =>
    withRedisScene(async (scene, redis) => {
      const before = await scene.watch();
      await scene.set('ann', PAGE_1);
      await before.first(1);
      await redis.command('SAVE');
      const lost = await scene.watch();
      for (const page of [PAGE_2, PAGE_1, PAGE_2]) await scene.set('ann', page, { region: SITE });
      await lost.first(3);
      const { epoch, offset } = lost.watch.position;
      const position = { epoch, offset: offset + 3, checksum: lost.checksums.at(-1) as string };
      assert.deepEqual(await lost.watch.since(position), []);
      await redis.stop();
      await redis.start();
      await lost.lost();
      await until('it answers', () => scene.store.ping().then(() => true), LIMIT_MS);
      await until('it answers', () => scene.other.ping().then(() => true), LIMIT_MS);
      // The same events at the same offsets, a moment later.
      for (const page of [PAGE_2, PAGE_1, PAGE_2, PAGE_1]) {
        await scene.set('ann', page, { region: SITE, now: START + 1 });
      }
      const { watch } = await scene.watch({ now: START + 1 });
      assert.equal(await watch.since(position), null);
      const known = { ...before.watch.position, offset: offset, checksum: before.checksums[0] as string };
      assert.equal((await watch.since(known))?.length, 4, 'the remaining events follow');
    }));

  test('watches are lost when the offsets go back while connections stay open', () =>
    withRedisScene(async (scene, redis) => {
      const recorder = await scene.watch();
      await scene.set('base', PAGE_1);
      await recorder.first(1);
      const keys = (await redis.command('KEYS', '*project:*')) as string[];
      for (const key of keys) await redis.command('COPY', key, `${key}:before`);
      for (const user of ['x1', 'x2', 'x3']) await scene.set(user, PAGE_1);
      await recorder.first(4);
      for (const key of keys) await redis.command('COPY', `${key}:before`, key, 'REPLACE');
      const behind = await scene.watch();
      assert.equal(behind.watch.position.offset, recorder.watch.position.offset + 1);
      await recorder.watch.renew(START);
      await recorder.lost();
      // One event more than were lost: only the last one has an offset that the watch did not have before.
      const second = await scene.watch();
      for (const user of ['y1', 'y2', 'y3', 'y4']) await scene.set(user, PAGE_1);
      await second.first(4);
      for (const key of keys) await redis.command('COPY', `${key}:before`, key, 'REPLACE');
      for (const user of ['z1', 'z2', 'z3', 'z4', 'z5']) await scene.set(user, PAGE_1);
      await second.lost();
      assert.ok(!JSON.stringify(second.events).includes('z5'));
    }));

  test('after the index of due groups was lost, a refresh or a renewal registers the group again', () =>
    withRedisScene(async (scene, redis) => {
      const refreshed = await scene.watch();
      const silent = await scene.watch({ groupId: 'silent' });
      await scene.set('ann', PAGE_1);
      await scene.set('bob', PAGE_1, { groupId: 'silent' });
      for (const key of (await redis.command('KEYS', '*{due *}')) as string[]) {
        await redis.command('DEL', key);
      }
      const later = START + TTL + OVERDUE_MS;
      await scene.set('cid', PAGE_1, { now: later });
      await silent.watch.renew(later);
      await scene.store.sweep(later);
      assert.deepEqual((await refreshed.first(3)).at(-1), {
        type: 'departed',
        userId: 'ann',
        location: PAGE_1,
        reason: 'expired',
      });
      assert.equal((await silent.first(2)).at(-1)?.type, 'departed');
    }));

  test('a foreign message on the channel of a watch is ignored', () =>
    withRedisScene(async (scene, redis) => {
      const recorder = await scene.watch();
      const [channel] = (await redis.command('PUBSUB', 'CHANNELS')) as [string];
      const { epoch } = recorder.watch.position;
      for (const text of ['', ' ', 'x', '{}', `${epoch} x {}`, `${epoch} 1 {`]) {
        await redis.command('PUBLISH', channel, text);
      }
      await scene.set('ann', PAGE_1);
      await recorder.first(1);
      assert.equal(recorder.isLost, false);
    }));

  test('a watch that missed an event is lost at the next event or renewal', () =>
    withRedisScene(async (scene, redis) => {
      const [first, second] = [await scene.watch(), await scene.watch({ groupId: 'other' })];
      for (const key of (await redis.command('KEYS', '*project:*:watched')) as string[]) {
        await redis.command('HINCRBY', key, 'offset', '1');
      }
      await scene.set('ann', PAGE_1);
      await second.watch.renew(START);
      await Promise.all([first.lost(), second.lost()]);
      assert.deepEqual([first.events, second.events], [[], []]);
    }));

  test('presence scripts are loaded again after Redis has flushed them', () =>
    withRedisScene(async (scene, redis) => {
      await scene.set('ann', PAGE_1);
      await redis.command('SCRIPT', 'FLUSH');
      await Promise.all([scene.set('ann', PAGE_1), scene.set('bob', PAGE_1), scene.ids()]);
      assert.deepEqual(await scene.ids(), ['ann', 'bob']);
    }));

  test('a presence update rejects when the server becomes a replica, and the client connects to the master', () =>
    withRedisScene(async (scene, redis) => {
      await scene.set('ann', PAGE_1);
      const connections = async () =>
        ((await redis.command('CLIENT', 'LIST')) as string)
          .split('\n')
          .filter((line) => line.includes('cmd=evalsha'))
          .map((line) => line.slice(0, line.indexOf(' ')));
      const [before] = await connections();
      assert.ok(before !== undefined);
      await redis.command('REPLICAOF', '127.0.0.1', '1');
      await assert.rejects(scene.set('ann', PAGE_2), StoreUnavailableError);
      await until(
        'the connection is another one',
        async () => !(await connections()).includes(before),
        LIMIT_MS,
      );
      await redis.command('REPLICAOF', 'NO', 'ONE');
      await assertWell(scene);
    }));

  test('presence writes to a full Redis are unavailable, and readings continue', () =>
    withRedisScene(async (scene, redis) => {
      await scene.set('ann', PAGE_1);
      await redis.command('CONFIG', 'SET', 'maxmemory', '1');
      await assert.rejects(scene.set('bob', PAGE_1), StoreUnavailableError);
      assert.deepEqual(await scene.ids(), ['ann']);
      await redis.command('CONFIG', 'SET', 'maxmemory', '0');
      await scene.set('bob', PAGE_1);
      assert.deepEqual(await scene.ids(), ['ann', 'bob']);
    }));

  test('what sockets hold goes on in a full Redis: its lease is renewed', () =>
    withRedisScene(async (scene, redis) => {
      await scene.set('ann', PAGE_1, { connection: 'page', lease: 'lease' });
      await redis.command('CONFIG', 'SET', 'maxmemory', '1');
      const renewal = { ...SCOPE, lease: 'lease', now: START + 1_000, expiresAt: START + 1_000 + TTL };
      assert.deepEqual(await scene.store.renewLease(renewal), { updates: 1, holds: 1 });
      assert.deepEqual(await scene.swept(START + TTL), []);
      assert.deepEqual(await scene.ids({ now: START + TTL }), ['ann']);
    }));

  test('a full Redis is swept, so that its memory becomes free, and watches have the departures', () =>
    withRedisScene(async (scene, redis) => {
      const recorder = await scene.watch();
      await scene.set('ann', PAGE_1, { until: START + 1_000 });
      await scene.set('bob', PAGE_1, { until: START + 3_000 });
      await scene.set('cid', PAGE_1);
      await redis.command('CONFIG', 'SET', 'maxmemory', '1');
      assert.equal(await scene.clear('cid', PAGE_1), true);
      // The entry of the group is due before the deadline.
      assert.deepEqual(await scene.swept(START + 500), []);
      assert.deepEqual(await scene.swept(START + 1_000), [`ann ${PAGE_1}`]);
      await recorder.watch.renew(START + 1_000);
      assert.deepEqual(await scene.swept(START + 3_000), [`bob ${PAGE_1}`]);
      const departed = (userId: string, reason: string) =>
        ({ type: 'departed', userId, location: PAGE_1, reason }) as const;
      assert.deepEqual((await recorder.first(6)).slice(3), [
        departed('cid', 'absent'),
        departed('ann', 'expired'),
        departed('bob', 'expired'),
      ]);
      assert.equal(recorder.isLost, false);
    }));
});
