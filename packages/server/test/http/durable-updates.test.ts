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
import { jwt, seconds } from '../support/jwt.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { SocketClient } from '../support/socket-client.ts';
import { until } from '../support/waiting.ts';
import { withApp } from './app-case.ts';

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

test('a durable update that waits for its second when the server stops is stored', () =>
  withApp({}, async ({ app, call, clock }) => {
    await call('PUT', '/v1/users/ada', { payload: {} });
    await call('PUT', '/v1/groups/g', { payload: { name: 'G', members: ['ada'] } });
    using socket = await SocketClient.open(await app.listen({ host: '127.0.0.1', port: 0 }));
    const claims = { project_id: 'wiki', user_id: 'ada', iat: seconds(clock.now()) };
    await socket.ok('auth', { token: jwt(claims, 'wiki-secret') });
    const present = { groupID: 'g', exclusiveWithin: REGION, durable: true };
    await socket.ok('present', { ...present, location: { ...REGION, line: '1' } });
    const location = { ...REGION, line: '2' };
    socket.send({ op: 'present', ref: 100, ...present, location });
    // Answered after the frame before it has begun to wait.
    await socket.ok('absent', { groupID: 'g', location });
    app.stopStreams();
    await socket.closes(4409);
    await until('the durable location', async () => {
      const entry = await call('GET', '/v1/users/ada/presence?groupID=g');
      return isDeepStrictEqual(entry.json<PresenceEntry>().durable?.location, location);
    });
  }));
