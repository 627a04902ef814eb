/** What a socket holds where other callers update or end the same presence over HTTP. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { expectOk } from '../support/expect.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { oneServer } from '../support/one-server.ts';
import { Presence } from '../support/presence-client.ts';
import { openSockets, SocketClient, watcherOf } from '../support/socket-client.ts';
import { until } from '../support/waiting.ts';

const clock = new MovedClock(Date.now());
// The clock passes half a minute while a socket sends nothing.
const server = oneServer({ clock, settings: { socketTimeoutSeconds: 300 } });
const AT = { page: '1' };
const REGION = { page: '3' };
const PARAGRAPH_1 = { page: '3', paragraph: '1' };
const PARAGRAPH_2 = { page: '3', paragraph: '2' };
/** A lease of presence that is not renewed is over by then. */
const LIFE_SECONDS = 35;

describe('presence that a socket holds beside other holders', () => {
  test('an update over HTTP with the connectionID of an open socket does not end what the socket holds', async () => {
    const p = await Presence.inNewProject(server);
    using watcher = await watcherOf(p);
    using socket = await SocketClient.of(p.project, 'a', 'g', { connectionID: 'page-1' });
    await socket.ok('present', { location: AT });
    assert.equal((await watcher.event('arrived')).data.id, 'a');
    // A page that could open no socket for a moment sends it, and it arrives later than the frame.
    expectOk(await p.put('a', { location: AT, connectionID: 'page-1' }));
    await p.pass(clock, LIFE_SECONDS);
    assert.deepEqual(await p.locationsOf('a'), [AT]);
    socket.ws.close();
    assert.equal((await watcher.event('departed')).data.reason, 'absent');
  });

  test('data that an update over HTTP gives or clears stay as they are where a socket of its connectionID holds the location', async () => {
    const p = await Presence.inNewProject(server);
    using socket = await SocketClient.of(p.project, 'a', 'g', { connectionID: 'page-1' });
    await socket.ok('present', { location: AT, data: { x: 1 } });
    await socket.ok('present', { location: PARAGRAPH_1, data: { x: 1 } });
    expectOk(await p.put('a', { location: AT, connectionID: 'page-1', data: null }));
    expectOk(await p.put('a', { location: PARAGRAPH_1, connectionID: 'page-1', data: { x: 2 } }));
    await p.pass(clock, LIFE_SECONDS);
    assert.deepEqual((await p.page({ expand: 'data' })).users[0]?.ephemeral, {
      locations: [AT, PARAGRAPH_1],
      data: [null, { x: 2 }],
    });
  });

  test('a batch that removes a member and adds them again leaves them where their socket holds a location', async () => {
    const p = await Presence.inNewProject(server);
    using watcher = await watcherOf(p);
    using socket = await SocketClient.of(p.project, 'a', 'g');
    await socket.ok('watch');
    await socket.event('snapshot');
    await socket.ok('present', { location: AT, data: { x: 1 } });
    assert.equal((await watcher.event('arrived')).data.id, 'a');
    expectOk(
      await p.project.post('/v1/batch', {
        groups: [
          { id: 'g', members: ['b', 'c'] },
          { id: 'g', members: ['a', 'b', 'c'] },
        ],
      }),
    );
    // The socket got no `ended`, so its page does not know that it has left.
    assert.equal((await watcher.event('departed')).data.reason, 'removed');
    await p.pass(clock, 2);
    assert.equal((await watcher.event('arrived')).data.id, 'a');
    assert.deepEqual((await p.page({ expand: 'data' })).users[0]?.ephemeral, {
      locations: [AT],
      data: [{ x: 1 }],
    });
    assert.equal(socket.close, null);
  });

  test('a connectionID that is back within 2 s does not take a location again that an absence has cleared for good', async () => {
    const p = await Presence.inNewProject(server);
    const page = { connectionID: 'page-1' };
    using first = await SocketClient.of(p.project, 'a', 'g', page);
    await first.ok('present', { location: AT });
    await first.ok('present', { location: PARAGRAPH_1, exclusiveWithin: REGION });
    // The user is at the second paragraph, so nobody sees the absence from the first.
    await p.set('a', PARAGRAPH_2, { exclusiveWithin: REGION });
    await p.setAbsent('a', PARAGRAPH_1);
    // Another holder comes after the absence, and goes.
    await p.setAbsent('a', AT);
    await p.set('a', AT);
    first.tcp.resetAndDestroy();
    await until('the server to notice it', async () => (await openSockets(p.project)) === 0);
    using _back = await SocketClient.of(p.project, 'a', 'g', page);
    assert.deepEqual(await p.locationsOf('a'), [AT, PARAGRAPH_2]);
    await p.pass(clock, LIFE_SECONDS);
    assert.deepEqual(await p.locationsOf('a'), []);
  });
});
