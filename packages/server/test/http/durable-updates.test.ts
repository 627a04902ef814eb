/** Durable updates of a socket, while the store takes longer than a second for one of them, and when the server stops. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { PresenceEntry } from '@rollcall/protocol';
import type { ClientWriter } from '../../src/core/caller.ts';
import type { ClientSessions } from '../../src/core/clients/client-session.ts';
import { presenceChange } from '../../src/core/presence/presence-change.ts';
import { DurableUpdates } from '../../src/http/socket/durable-updates.ts';
import type { Engine } from '../../src/wiring.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { SocketClient } from '../support/socket-client.ts';
import { until } from '../support/waiting.ts';
import { type AppCase, altered, withApp } from './app-case.ts';

const REGION = { doc: 'd' };
const writer = {} as ClientWriter;
const at = (line: string) =>
  presenceChange({ location: { ...REGION, line }, exclusiveWithin: REGION, durable: true }, 'g');

/** The lines that are written, the first of them only when `endFirst` is called. */
function slowStore() {
  const clock = new MovedClock();
  const { promise: isFirstStored, resolve: endFirst, reject: failFirst } = Promise.withResolvers<void>();
  const written: string[] = [];
  const clients: Pick<ClientSessions, 'putPresence'> = {
    putPresence(_writer, { location }) {
      written.push(JSON.parse(location).line);
      return written.length === 1 ? isFirstStored : Promise.resolve();
    },
  };
  const updates = new DurableUpdates({ clients: clients as ClientSessions, clock });
  return { clock, updates, written, endFirst, failFirst };
}

test('a durable update waits for the one before it of its region, so that the last one counts', async () => {
  const { clock, updates, written, endFirst } = slowStore();
  const answers = [updates.put(writer, at('1')), updates.put(writer, at('2'))];
  clock.move(3_000);
  answers.push(updates.put(writer, at('3')));
  assert.deepEqual(written, ['1']);
  endFirst();
  await nextIteration();
  clock.move(1_000);
  await Promise.all(answers);
  assert.deepEqual(written, ['1', '3']);
  answers.push(updates.put(writer, at('4')));
  assert.deepEqual(written, ['1', '3'], 'less than a second after the one before');
  clock.move(1_000);
  await Promise.all(answers);
  assert.deepEqual(written, ['1', '3', '4']);
  clock.move(1_000);
  assert.equal(clock.timers, 0, 'no update waits');
});

test('a durable update that waits for its second when its socket closes is stored at once', async () => {
  const { updates, written, endFirst } = slowStore();
  endFirst();
  await updates.put(writer, at('1'));
  const second = updates.put(writer, at('2'));
  assert.deepEqual(written, ['1']);
  updates.close();
  await second;
  assert.deepEqual(written, ['1', '2']);
});

test('a durable update that waits when its socket closes is stored after the one before it, also where that is rejected', async () => {
  const { clock, updates, written, failFirst } = slowStore();
  const first = updates.put(writer, at('1'));
  const second = updates.put(writer, at('2'));
  updates.close();
  assert.deepEqual(written, ['1']);
  failFirst(new Error('the store is away'));
  await assert.rejects(first);
  await second;
  assert.deepEqual(written, ['1', '2']);
  assert.equal(clock.timers, 0);
});

const PRESENT = { groupID: 'g', exclusiveWithin: REGION, durable: true };

/** A socket of user ada, a member of group g. */
async function loggedIn({ app, call, clock }: AppCase): Promise<SocketClient> {
  await call('PUT', '/v1/users/ada', { payload: {} });
  await call('PUT', '/v1/groups/g', { payload: { name: 'G', members: ['ada'] } });
  const socket = await SocketClient.open(await app.listen({ host: '127.0.0.1', port: 0 }));
  const claims = { project_id: 'wiki', user_id: 'ada', iat: seconds(clock.now()) };
  await socket.ok('auth', { token: jwt(claims, 'wiki-secret') });
  return socket;
}

test('the second one of two durable updates counts, also where its token would be verified sooner', () => {
  const first = Promise.withResolvers<void>();
  let gate: Promise<void> | null = null;
  const isRead = Promise.withResolvers<void>();
  const disturb = ({ store }: Engine) => ({
    store: altered(store, {
      projects: {
        async find(id: string) {
          const [project, waiting] = [await store.projects.find(id), gate];
          gate = null;
          if (waiting !== null) isRead.resolve();
          await waiting;
          return project;
        },
      },
    }),
  });
  return withApp({ disturb }, async (appCase) => {
    const { call, clock } = appCase;
    using socket = await loggedIn(appCase);
    // What was verified is too old from now on.
    clock.jump(1_000);
    gate = first.promise;
    socket.tcp.cork();
    for (const line of ['1', '2'])
      socket.send({ op: 'present', ref: Number(line) + 100, ...PRESENT, location: { ...REGION, line } });
    socket.tcp.uncork();
    await isRead.promise;
    for (let iteration = 0; iteration < 10; iteration += 1) await nextIteration();
    first.resolve();
    await until('the second location', async () => {
      clock.move(1_000);
      return socket.frames.filter(({ ok }) => ok === true).length === 3;
    });
    const entry = await call('GET', '/v1/users/ada/presence?groupID=g');
    assert.deepEqual(entry.json<PresenceEntry>().durable?.location, { ...REGION, line: '2' });
  });
});

test('a durable update that waits for its second when the server stops is stored', () =>
  withApp({}, async (appCase) => {
    const { app, call } = appCase;
    using socket = await loggedIn(appCase);
    await socket.ok('present', { ...PRESENT, location: { ...REGION, line: '1' } });
    const location = { ...REGION, line: '2' };
    socket.send({ op: 'present', ref: 100, ...PRESENT, location });
    // Answered after the frame before it has begun to wait.
    await socket.ok('absent', { groupID: 'g', location });
    app.stopStreams();
    await socket.closes(4409);
    await until('the durable location', async () => {
      const entry = await call('GET', '/v1/users/ada/presence?groupID=g');
      return isDeepStrictEqual(entry.json<PresenceEntry>().durable?.location, location);
    });
  }));
