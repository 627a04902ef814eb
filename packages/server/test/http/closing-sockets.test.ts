/** Frames that a socket still handles when its close frame arrives. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { PresenceEntry } from '@rollcall/protocol';
import type { Engine } from '../../src/wiring.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { SocketClient } from '../support/socket-client.ts';
import { until } from '../support/waiting.ts';
import { type AppCase, altered, send, withApp } from './app-case.ts';

const LOCATION = { page: 'p' };

interface Closed extends AppCase {
  /** The socket of the page has sent a watch, a durable update and its close frame, and the watch is not opened before this. */
  openWatch(): void;
  sockets(): Promise<number>;
  durable(): Promise<object | undefined>;
}

function withClosedSocket(use: (closed: Closed) => Promise<void>): Promise<void> {
  const opened = Promise.withResolvers<void>();
  let isLoggedIn = false;
  const disturb = ({ store }: Engine) => ({
    store: altered(store, {
      eligibility: {
        find: async (...query) => {
          if (isLoggedIn) await opened.promise;
          return await store.eligibility.find(...query);
        },
      },
    }),
  });
  return withApp({ disturb }, async (appCase) => {
    const { app, call, clock } = appCase;
    await call('PUT', '/v1/users/ada', { payload: {} });
    await call('PUT', '/v1/groups/g', { payload: { name: 'G', members: ['ada'] } });
    using socket = await SocketClient.open(await app.listen({ host: '127.0.0.1', port: 0 }));
    const claims = { project_id: 'wiki', user_id: 'ada', group_id: 'g', iat: seconds(clock.now()) };
    await socket.ok('auth', { token: jwt(claims, 'wiki-secret') });
    isLoggedIn = true;
    const present = { op: 'present', ref: 3, durable: true, location: LOCATION };
    socket.sendAndClose([{ op: 'watch', ref: 2 }, present], 1000);
    await once(socket.ws, 'close');
    await use({
      ...appCase,
      openWatch: opened.resolve,
      sockets: async () => Number(/^rollcall_sockets (\d+)$/m.exec((await send(app, '/metrics')).body)?.[1]),
      durable: async () =>
        (await call('GET', '/v1/users/ada/presence?groupID=g')).json<PresenceEntry>().durable?.location,
    });
  });
}

test('a durable update behind a frame that is handled for ten seconds after the close frame counts', () =>
  withClosedSocket(async ({ clock, openWatch, durable }) => {
    for (let passed = 0; passed < 10; passed += 1) clock.move(1_000);
    openWatch();
    await until('the durable location', async () => isDeepStrictEqual(await durable(), LOCATION));
  }));

test('a socket ends eleven seconds after its close frame, without the frames that are not handled by then', () =>
  withClosedSocket(async ({ clock, openWatch, sockets, durable }) => {
    assert.equal(await sockets(), 1);
    for (let passed = 0; passed < 11; passed += 1) clock.move(1_000);
    assert.equal(await sockets(), 0);
    openWatch();
    assert.equal(await durable(), undefined);
  }));
