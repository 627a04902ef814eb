/** When a socket whose user has lost access is closed, although the store failed meanwhile, or nothing was published. */
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { StoreUnavailableError } from '../../src/values/engine-errors.ts';
import type { Engine } from '../../src/wiring.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { SocketClient } from '../support/socket-client.ts';
import { altered, withApp } from './app-case.ts';

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

test('a socket whose user is deleted before the process follows their project is closed with 4403 a second later', () => {
  const disturb = ({ broker }: Engine) => ({
    broker: altered(broker, {
      publish: (change) => (change.type === 'eligibility' ? Promise.resolve() : broker.publish(change)),
    }),
  });
  return withApp({ disturb }, async ({ app, call, clock }) => {
    await call('PUT', '/v1/users/ada', { payload: {} });
    using socket = await SocketClient.open(await app.listen({ host: '127.0.0.1', port: 0 }));
    const claims = { project_id: 'wiki', user_id: 'ada', iat: seconds(clock.now()) };
    await socket.ok('auth', { token: jwt(claims, 'wiki-secret') });
    await call('PUT', '/v1/users/ada', { payload: { status: 'deleted' } });
    clock.move(1_000);
    await socket.closes(4403, 'user_not_found');
  });
});
