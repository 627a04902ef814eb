/** When a socket whose user has lost access is closed, although the store failed meanwhile, or nothing was published. */
import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import type { Engine } from '../../src/wiring.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { SocketClient } from '../support/socket-client.ts';
import { StreamReader } from '../support/stream-reader.ts';
import { type AppCase, altered, withApp } from './app-case.ts';

test('a socket of a deleted user is closed with 4403 a second after a check of its access has failed', () => {
  const failed = Promise.withResolvers<void>();
  let isAway = false;
  const disturb = ({ store }: Engine) => ({
    store: altered(store, {
      eligibility: {
        findMany(...query) {
          if (!isAway) return store.eligibility.findMany(...query);
          failed.resolve();
          return Promise.reject(new StoreUnavailableError('the store is away'));
        },
      },
    }),
  });
  return withApp({ disturb }, async ({ app, call, clock }) => {
    await call('PUT', '/v1/users/ada', { payload: {} });
    using socket = await SocketClient.open(await app.listen({ host: '127.0.0.1', port: 0 }));
    const claims = { project_id: 'wiki', user_id: 'ada', iat: seconds(clock.now()) };
    await socket.ok('auth', { token: jwt(claims, 'wiki-secret') });
    // The first check of a project's sockets comes with the next tick.
    clock.move(1_000);
    isAway = true;
    await call('PUT', '/v1/users/ada', { payload: { status: 'deleted' } });
    await failed.promise;
    await nextIteration();
    isAway = false;
    clock.move(1_000);
    await socket.closes(4403, 'user_not_found');
  });
});

test('a socket whose group is set deleted is closed with 4403, also where another user is deleted before the check', () => {
  const [checking, checked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isSlow = false;
  const disturb = ({ store }: Engine) => ({
    store: altered(store, {
      eligibility: {
        async findMany(...query) {
          const found = await store.eligibility.findMany(...query);
          if (isSlow) {
            checking.resolve();
            await checked.promise;
          }
          return found;
        },
      },
    }),
  });
  return withApp({ disturb }, async (appCase) => {
    const { app, call, clock } = appCase;
    const put = (path: string, payload: object) => call('PUT', path, { payload });
    for (const id of ['ada', 'bob', 'cid']) await put(`/v1/users/${id}`, {});
    await put('/v1/groups/g', { name: 'g', members: ['ada'] });
    await app.listen({ host: '127.0.0.1', port: 0 });
    using socket = await openSocket(appCase, { group_id: 'g' });
    using other = await openSocket(appCase, { user_id: 'bob' });
    // The first check of a project's sockets comes with the next tick.
    clock.move(1_000);
    await nextIteration();
    isSlow = true;
    await put('/v1/users/bob', { status: 'deleted' });
    await checking.promise;
    await put('/v1/groups/g', { status: 'deleted' });
    await put('/v1/users/cid', { status: 'deleted' });
    checked.resolve();
    await other.closes(4403, 'user_not_found');
    await socket.closes(4403, 'group_not_found');
  });
});

/** A watcher of what a socket of ada holds in g gets `departed` where the socket ends before the event of the status is published. */
async function departsBeforeEvent(path: string): Promise<void> {
  const released = Promise.withResolvers<void>();
  const disturb = ({ presence }: Engine) => ({
    presence: altered(presence, {
      async release(...release) {
        await presence.release(...release);
        released.resolve();
      },
      async publish(...event) {
        await released.promise;
        await presence.publish(...event);
      },
    }),
  });
  await withApp({ disturb }, async (appCase) => {
    const { app, call, clock, authorization } = appCase;
    for (const id of ['ada', 'bob']) await call('PUT', `/v1/users/${id}`, { payload: {} });
    await call('PUT', '/v1/groups/g', { payload: { name: 'g', members: ['ada', 'bob'] } });
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const host = { url: `http://127.0.0.1:${port}`, token: authorization.slice('Bearer '.length) };
    using watcher = await StreamReader.open(host, '/v1/groups/g/presence');
    await watcher.snapshot();
    using socket = await openSocket(appCase);
    // The first check of a project's sockets comes with the next tick.
    clock.move(1_000);
    await nextIteration();
    await socket.ok('present', { groupID: 'g', location: { page: '1' } });
    await watcher.changes(1);
    await call('PUT', path, { payload: { status: 'deleted' } });
    const [, departed] = await watcher.changes(2);
    assert.deepEqual([departed?.type, departed?.data.reason], ['departed', 'removed']);
  });
}

test('what a socket held departs with the reason removed when its user is set deleted, also where the socket ends first', () =>
  departsBeforeEvent('/v1/users/ada'));

test('what a socket held departs with the reason removed when its group is set deleted, also where the hold ends first', () =>
  departsBeforeEvent('/v1/groups/g'));

/** The application, whose broker publishes no loss of access: each hub finds it by its own checks. */
const withoutNotifications = (use: (appCase: AppCase) => Promise<void>) =>
  withApp(
    {
      disturb: ({ broker }: Engine) => ({
        broker: altered(broker, {
          publish: (change) => (change.type === 'eligibility' ? Promise.resolve() : broker.publish(change)),
        }),
      }),
    },
    use,
  );

async function openSocket({ app, clock }: AppCase, claims: object = {}): Promise<SocketClient> {
  const { port } = app.server.address() as AddressInfo;
  const socket = await SocketClient.open(`http://127.0.0.1:${port}`);
  const iat = seconds(clock.now());
  await socket.ok('auth', {
    token: jwt({ project_id: 'wiki', user_id: 'ada', iat, ...claims }, 'wiki-secret'),
  });
  return socket;
}

test('a socket whose user is deleted before the process follows their project is closed with 4403 a second later', () =>
  withoutNotifications(async (appCase) => {
    const { app, call, clock } = appCase;
    await call('PUT', '/v1/users/ada', { payload: {} });
    await app.listen({ host: '127.0.0.1', port: 0 });
    using socket = await openSocket(appCase);
    await call('PUT', '/v1/users/ada', { payload: { status: 'deleted' } });
    clock.move(1_000);
    await socket.closes(4403, 'user_not_found');
  }));

test('a watch that finds its group lost ends alone, or closes the socket with 4403 where the token names the group', () =>
  withoutNotifications(async (appCase) => {
    const { app, call, clock } = appCase;
    await call('PUT', '/v1/users/ada', { payload: {} });
    for (const id of ['g', 'h'])
      await call('PUT', `/v1/groups/${id}`, { payload: { name: id, members: ['ada'] } });
    await app.listen({ host: '127.0.0.1', port: 0 });
    using one = await openSocket(appCase, { group_id: 'g' });
    using all = await openSocket(appCase);
    await one.ok('watch');
    const watch = await all.ok('watch', { groupID: 'g' });
    await all.ok('watch', { groupID: 'h' });
    for (const socket of [one, all]) await socket.event('snapshot');
    await all.event('snapshot');
    // The first check of a project's sockets comes with the next tick.
    clock.move(1_000);
    await nextIteration();
    await call('POST', '/v1/groups/g/members', { payload: { remove: ['ada'] } });
    clock.move(1_000);
    await one.closes(4403, 'group_not_found');
    const ended = await all.event('ended');
    assert.deepEqual([ended.watch, ended.data.error], [watch, 'group_not_found']);
    await all.ok('unwatch', { watch: watch + 1 });
  }));
