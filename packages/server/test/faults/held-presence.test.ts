/** What sockets hold while Redis cannot be reached for a while, or has lost everything. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { canonicalLocation, type Location } from '@rollcall/protocol';
import { openRedisPresence } from '../../src/presence/redis/redis-presence.ts';
import { Browser } from '../support/browser.ts';
import { closing } from '../support/closing.ts';
import { expectDone } from '../support/expect.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { Presence } from '../support/presence-client.ts';
import { Project } from '../support/project-client.ts';
import { freshRedisUrl, keysOf, removeKeys, skipsRedis, snapshotOf } from '../support/redis.ts';
import { withServer } from '../support/server.ts';
import { SlowProxy } from '../support/slow-proxy.ts';
import { openSockets, SocketClient } from '../support/socket-client.ts';
import { until } from '../support/waiting.ts';
import { withTwoProcesses } from './two-processes.ts';

const AT = { page: '1' };
const THERE = { page: '2' };
const LIFE_SECONDS = 35;
/** In the answer of lua/set.lua to an update that sets a user present. */
const ARRIVED_AND_CREATED = '*3\r\n:1\r\n:1\r\n';

interface World {
  readonly p: Presence;
  readonly clock: MovedClock;
  readonly proxy: SlowProxy;
  readonly redisUrl: string;
}

/** A server whose connections to Redis can be cut, while Redis keeps its data. The group `g` has the members a and b. */
async function withWorld(use: (world: World) => Promise<void>): Promise<void> {
  const redis = new URL(freshRedisUrl());
  redis.searchParams.set('timeout_ms', '1000');
  const redisUrl = redis.href;
  await SlowProxy.with(redisUrl, async (proxy, throughProxy) => {
    const clock = new MovedClock(Date.now());
    const settings = { redisUrl: throughProxy, socketTimeoutSeconds: 3_600 };
    await withServer({ clock, settings }, async (server) => {
      const p = new Presence(Project.of(server));
      await p.project.seedGroup('g', 'a', 'b');
      await use({ p, clock, proxy, redisUrl });
      p.project.close();
    });
  });
}

const isReadable = async (p: Presence) => (await p.project.get('/v1/groups/g/presence')).status === 200;

const dataOf = async (p: Presence) => (await p.page({ expand: 'data' })).users[0]?.ephemeral.data;

/** Sets the user absent in the group `g` of the only project, as another process does. */
async function setAbsent(redisUrl: string, userId: string, location: Location, now: number): Promise<void> {
  await using store = closing(await openRedisPresence({ url: redisUrl }));
  const [key] = await keysOf(new URL(redisUrl).searchParams.get('prefix') as string, '*:g}:index');
  const project = Number(/\{(\d+):g\}/.exec(key as string)?.[1]);
  const absence = { project, groupId: 'g', userId, location: canonicalLocation(location), now };
  assert.equal(await store.clear(absence), true);
}

const skip = await skipsRedis();

describe('presence that sockets hold while Redis is away', { skip }, () => {
  test('a socket that closes while Redis is away is released when Redis is back, although others hold presence in the group', () =>
    withWorld(async ({ p, clock, proxy }) => {
      using gone = await SocketClient.of(p.project, 'a', 'g');
      await gone.ok('present', { location: AT });
      using stays = await SocketClient.of(p.project, 'b', 'g');
      await stays.ok('present', { location: THERE });
      proxy.cut();
      gone.ws.close();
      await until('the server to notice it', async () => (await openSockets(p.project)) === 1);
      await until('the release to fail', async () => !(await isReadable(p)));
      proxy.mend();
      await until('Redis to be back', () => isReadable(p));
      await p.pass(clock, LIFE_SECONDS);
      assert.deepEqual(await p.ephemeral(), { b: [THERE] });
    }));

  test('a connectionID whose login fails because Redis is away does not hold its locations for ever', () =>
    withWorld(async ({ p, clock, proxy }) => {
      const page = { connectionID: 'page-1' };
      using first = await SocketClient.of(p.project, 'a', 'g', page);
      await first.ok('present', { location: AT });
      using stays = await SocketClient.of(p.project, 'b', 'g');
      await stays.ok('present', { location: THERE });
      first.ws.terminate();
      await until('the server to notice it', async () => (await openSockets(p.project)) === 1);
      proxy.cut();
      using back = await SocketClient.open(p.project.url);
      await back.fails('error', 'auth', { token: Browser.of(p.project, 'a', 'g').token, ...page });
      back.ws.terminate();
      proxy.mend();
      await until('Redis to be back', () => isReadable(p));
      await p.pass(clock, LIFE_SECONDS);
      assert.deepEqual(await p.ephemeral(), { b: [THERE] });
    }));

  test('what a connectionID holds is that of the process on which it logged in last, where the one before has not noticed that its socket is gone', () =>
    withTwoProcesses('writer', async ({ writer, reader, clock }) => {
      const [before, after] = [writer, reader].map((server) => new Presence(Project.of(server)));
      const [first, second] = [before, after] as [Presence, Presence];
      await first.project.seedGroup('g', 'a', 'b');
      const page = { connectionID: 'page-1' };
      using lost = await SocketClient.of(first.project, 'a', 'g', page);
      await lost.ok('present', { location: AT });
      using stays = await SocketClient.of(first.project, 'b', 'g');
      await stays.ok('present', { location: THERE });
      using back = await SocketClient.of(second.project, 'a', 'g', page);
      await back.ok('absent', { location: THERE });
      // Both renew their leases.
      await second.pass(clock, LIFE_SECONDS);
      assert.deepEqual(await second.ephemeral(), { a: [AT], b: [THERE] });
      lost.ws.terminate();
      await until('the server to notice it', async () => (await openSockets(first.project)) === 1);
      await second.pass(clock, LIFE_SECONDS);
      assert.deepEqual(await second.ephemeral(), { a: [AT], b: [THERE] });
      back.ws.close();
      await until('the departure', async () => (await second.locationsOf('a')).length === 0);
      await second.pass(clock, LIFE_SECONDS);
      assert.deepEqual(await second.ephemeral(), { b: [THERE] });
      for (const { project } of [first, second]) project.close();
    }));

  test('a location whose answer was lost is released with its socket, although others hold presence in the group', () =>
    withWorld(async ({ p, clock, proxy }) => {
      using stays = await SocketClient.of(p.project, 'b', 'g');
      await stays.ok('present', { location: THERE });
      using gone = await SocketClient.of(p.project, 'a', 'g');
      proxy.cutsAt = (answer) => answer.includes(ARRIVED_AND_CREATED);
      await gone.fails('error', 'present', { location: AT });
      proxy.cutsAt = () => false;
      await until('Redis to be back', () => isReadable(p));
      assert.deepEqual(await p.locationsOf('a'), [AT]);
      gone.ws.close();
      await until('the server to notice it', async () => (await openSockets(p.project)) === 1);
      await p.pass(clock, LIFE_SECONDS);
      assert.deepEqual(await p.ephemeral(), { b: [THERE] });
    }));

  test('locations of one exclusive region that Redis has lost are set again in their order: the newest is shown', () =>
    withWorld(async ({ p, clock, redisUrl }) => {
      const region = { exclusiveWithin: { doc: 'd' } };
      const at = (page: string) => ({ location: { doc: 'd', page }, ...region });
      using one = await SocketClient.of(p.project, 'a', 'g');
      using two = await SocketClient.of(p.project, 'a', 'g');
      await one.ok('present', at('1'));
      await two.ok('present', at('2'));
      await one.ok('present', at('3'));
      await removeKeys(new URL(redisUrl).searchParams.get('prefix') as string);
      await p.pass(clock, LIFE_SECONDS);
      assert.deepEqual(await p.locationsOf('a'), [{ doc: 'd', page: '3' }]);
      one.ws.close();
      await until('the older location', async () => JSON.stringify(await p.locationsOf('a')).includes('"2"'));
    }));

  test('an absence whose event is lost, because the server could not be reached meanwhile, ends what a socket holds for good', () =>
    withWorld(async ({ p, clock, proxy, redisUrl }) => {
      using socket = await SocketClient.of(p.project, 'a', 'g');
      await socket.ok('present', { location: AT });
      proxy.cut();
      await setAbsent(redisUrl, 'a', AT, clock.now());
      proxy.mend();
      await until('Redis to be back', () => isReadable(p));
      await p.pass(clock, LIFE_SECONDS);
      assert.deepEqual(await p.ephemeral(), {});
      // The server has read what it missed.
      await removeKeys(new URL(redisUrl).searchParams.get('prefix') as string);
      await p.pass(clock, LIFE_SECONDS);
      assert.deepEqual(await p.ephemeral(), {});
      await socket.ok('present', { location: AT });
      assert.deepEqual(await p.locationsOf('a'), [AT]);
    }));

  test('a location that Redis has lost with its last writes is set again, although others hold presence in the group', () =>
    withWorld(async ({ p, clock, redisUrl }) => {
      using stays = await SocketClient.of(p.project, 'b', 'g');
      await stays.ok('present', { location: THERE });
      const restore = await snapshotOf(new URL(redisUrl).searchParams.get('prefix') as string);
      using socket = await SocketClient.of(p.project, 'a', 'g');
      await socket.ok('present', { location: AT });
      await restore();
      assert.deepEqual(await p.ephemeral(), { b: [THERE] });
      await p.pass(clock, LIFE_SECONDS);
      assert.deepEqual(await p.ephemeral(), { a: [AT], b: [THERE] });
      socket.ws.close();
      await until('the release', async () => (await p.locationsOf('a')).length === 0);
    }));

  test('locations that Redis has lost are set again once: data that an update over HTTP gives one afterwards stay', () =>
    withWorld(async ({ p, clock, redisUrl }) => {
      const page = { connectionID: 'page-1' };
      using socket = await SocketClient.of(p.project, 'a', 'g', page);
      await socket.ok('present', { location: AT, data: { from: 'socket' } });
      await removeKeys(new URL(redisUrl).searchParams.get('prefix') as string);
      await p.pass(clock, LIFE_SECONDS);
      assert.deepEqual(await dataOf(p), [{ from: 'socket' }]);
      expectDone(await p.put('a', { location: AT, ...page, data: { from: 'http' } }));
      await p.pass(clock, LIFE_SECONDS);
      assert.deepEqual(await dataOf(p), [{ from: 'http' }]);
    }));

  test('a location that Redis has lost with its last writes is set again, also where an answer of Redis was lost before', () =>
    withWorld(async ({ p, clock, proxy, redisUrl }) => {
      using stays = await SocketClient.of(p.project, 'b', 'g');
      proxy.cutsAt = (answer) => answer.includes(ARRIVED_AND_CREATED);
      await stays.fails('error', 'present', { location: THERE });
      proxy.cutsAt = () => false;
      await until('Redis to be back', () => isReadable(p));
      await stays.ok('present', { location: THERE });
      await p.pass(clock, LIFE_SECONDS);
      const restore = await snapshotOf(new URL(redisUrl).searchParams.get('prefix') as string);
      using socket = await SocketClient.of(p.project, 'a', 'g');
      await socket.ok('present', { location: AT });
      await restore();
      await p.pass(clock, LIFE_SECONDS);
      assert.deepEqual(await p.ephemeral(), { a: [AT], b: [THERE] });
    }));
});
