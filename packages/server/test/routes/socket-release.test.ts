/** How long what a socket holds stays when its connection breaks, and how long a socket may wait for auth, to the millisecond. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { Browser } from '../support/browser.ts';
import { expectOk } from '../support/expect.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { oneServer } from '../support/one-server.ts';
import { Presence } from '../support/presence-client.ts';
import { openPresenceStreams, openSockets, SocketClient, watcherOf } from '../support/socket-client.ts';
import { StreamReader } from '../support/stream-reader.ts';
import { until } from '../support/waiting.ts';

const clock = new MovedClock(Date.now());
// The clock passes half a minute while a socket sends nothing.
const server = oneServer({ clock, settings: { socketTimeoutSeconds: 300 } });
const AT = { page: '1' };
const THERE = { page: '2' };
/** A page that names its connection. */
const PAGE = { connectionID: 'page-1' };
/** A lease of presence that is not renewed is over by then. */
const LIFE_SECONDS = 35;

/** A stream of the page beside its socket. */
async function streamOf({ token }: Browser): Promise<StreamReader> {
  const query = new URLSearchParams({ groupID: 'g', ...PAGE });
  const reader = await StreamReader.open({ url: server.running.url, token }, `/v1/client/presence?${query}`);
  await reader.snapshot();
  return reader;
}

/** Resets the connection of a socket, and waits until the server has noticed it: only `others` are open then. */
async function reset(p: Presence, { tcp }: SocketClient, others: number): Promise<void> {
  tcp.resetAndDestroy();
  await until('the server to notice it', async () => (await openSockets(p.project)) === others);
}

/** A close frame of a client with the code 1000, masked with zeros. */
const CLOSE_FRAME = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]);

describe('a connection that stays open after its close frame', () => {
  test('a socket whose client sends a close frame and leaves the connection open releases what it held', async () => {
    const p = await Presence.inNewProject(server);
    using watcher = await watcherOf(p);
    using socket = await SocketClient.of(p.project, 'a', 'g');
    await socket.ok('present', { location: AT });
    await watcher.event('arrived');
    const { tcp } = socket;
    tcp.pause();
    tcp.write(CLOSE_FRAME);
    await until('the server to notice it', async () => {
      await p.pass(clock, 1);
      return (await openSockets(p.project)) === 1;
    });
    assert.equal((await watcher.event('departed')).data.reason, 'absent');
  });
});

/** Frames that take long together, with numbers that are free. */
const LONG = Array.from({ length: 180 }, (_, index) => ({ op: 'watch', ref: 100 + index }));

describe('a clean close', () => {
  test('no frame follows the close frame, not even answers to frames before it, and the connection is not reset', async () => {
    const p = await Presence.inNewProject(server);
    using socket = await SocketClient.of(p.project, 'a', 'g');
    const { tcp } = socket;
    tcp.removeAllListeners();
    tcp.allowHalfOpen = true;
    const received: Buffer[] = [];
    const errors: Error[] = [];
    tcp.on('data', (bytes: Buffer) => received.push(bytes));
    tcp.on('error', (error) => errors.push(error));
    socket.sendAndClose(
      Array.from({ length: 50 }, (_, ref) => ({ op: 'present', ref, location: AT })),
      1000,
    );
    await once(tcp, 'end');
    const bytes = Buffer.concat(received).toString('latin1');
    assert.equal(bytes.slice(bytes.indexOf('\x88')), '\x88\x02\x03\xe8');
    // The first write meets a connection that was reset, and the second one learns it.
    for (const text of ['more', 'and more']) {
      tcp.write(text);
      await p.locationsOf('a');
    }
    assert.deepEqual(errors, []);
    tcp.destroy();
  });

  test('a socket with a connectionID that closes with 1000 behind frames that take long releases at once what it held', async () => {
    const p = await Presence.inNewProject(server);
    using socket = await SocketClient.of(p.project, 'a', 'g', PAGE);
    await socket.ok('present', { location: AT });
    socket.sendAndClose(LONG, 1000);
    await once(socket.ws, 'close');
    clock.move(1_000);
    await until('the release', async () => (await p.locationsOf('a')).length === 0);
  });

  test('a durable update behind frames that are still handled a second after the close frame counts', async () => {
    const p = await Presence.inNewProject(server);
    using socket = await SocketClient.of(p.project, 'a', 'g');
    socket.sendAndClose([...LONG, { op: 'present', ref: 280, durable: true, location: AT }], 1000);
    await once(socket.ws, 'close');
    clock.move(1_000);
    await until('the socket to end', async () => (await openSockets(p.project)) === 0);
    // The last frame is still being stored.
    await until('the durable location', async () =>
      isDeepStrictEqual((await p.entryOf('a')).durable?.location, AT),
    );
  });
});

describe('a connection that is reset', () => {
  for (const [what, fields] of [
    ['without a connectionID', {}],
    ['with a connectionID', PAGE],
  ] as const) {
    test(`a socket ${what} whose connection is reset is released after 2 s, and not before`, async () => {
      const p = await Presence.inNewProject(server);
      using watcher = await watcherOf(p);
      using socket = await SocketClient.of(p.project, 'a', 'g', fields);
      await socket.ok('present', { location: AT });
      await watcher.event('arrived');
      await reset(p, socket, 1);
      await p.pass(clock, 1);
      clock.move(999);
      assert.deepEqual(await p.locationsOf('a'), [AT]);
      clock.move(1);
      assert.deepEqual(await p.locationsOf('a'), []);
      await p.pass(clock, 1);
      const { data } = await watcher.event('departed');
      assert.deepEqual([data.id, data.location], ['a', AT]);
    });
  }

  test('a connectionID whose next socket breaks before its auth is answered keeps its holds where it is back within 2 s', async () => {
    const p = await Presence.inNewProject(server);
    using first = await SocketClient.of(p.project, 'a', 'g', PAGE);
    await first.ok('present', { location: AT });
    for (let attempt = 0; attempt < 5; attempt += 1) {
      if (attempt === 0) await reset(p, first, 0);
      using broken = await SocketClient.open(p.project.url);
      broken.send({ op: 'auth', ref: 1, token: Browser.of(p.project, 'a', 'g').token, ...PAGE });
      // The server has read the frame when it learns of the end.
      broken.tcp.end();
      await until('the server to notice it', async () => (await openSockets(p.project)) === 0);
      // The auth may be handled later, while the next one is on its way: even so, one is less than 2 s behind the one before.
      clock.move(450);
    }
    using _back = await SocketClient.of(p.project, 'a', 'g', PAGE);
    assert.deepEqual(await p.locationsOf('a'), [AT]);
  });

  test('a stream that closes releases nothing that an open socket of the same connectionID holds', async () => {
    const p = await Presence.inNewProject(server);
    const browser = Browser.of(p.project, 'a');
    const reader = await streamOf(browser);
    using socket = await SocketClient.of(p.project, 'a', 'g', PAGE);
    await socket.ok('present', { location: AT });
    expectOk(await browser.putPresence({ groupID: 'g', location: THERE, ...PAGE }));
    reader.close();
    await until('the server to notice it', async () => (await openPresenceStreams(p.project)) === 0);
    await p.pass(clock, 4);
    assert.deepEqual(await p.locationsOf('a'), [AT]);
    await p.pass(clock, LIFE_SECONDS);
    assert.deepEqual(await p.locationsOf('a'), [AT]);
  });

  test('a stream that closes does not end what an open socket holds where an update over HTTP came after its frame', async () => {
    const p = await Presence.inNewProject(server);
    using watcher = await watcherOf(p);
    const browser = Browser.of(p.project, 'a');
    const reader = await streamOf(browser);
    using socket = await SocketClient.of(p.project, 'a', 'g', PAGE);
    await socket.ok('present', { location: AT });
    // A page that could open no socket for a moment sends it, and it arrives later than the frame.
    expectOk(await browser.putPresence({ groupID: 'g', location: AT, ...PAGE }));
    reader.close();
    await until('the server to notice it', async () => (await openPresenceStreams(p.project)) === 1);
    await p.pass(clock, LIFE_SECONDS);
    assert.deepEqual(await p.locationsOf('a'), [AT]);
    await socket.ok('absent', { location: AT });
    await watcher.event('arrived');
    assert.equal((await watcher.event('departed')).data.reason, 'absent');
  });

  test('a connectionID that comes back with a token of another group keeps nothing in the group before', async () => {
    const p = await Presence.inNewProject(server);
    using first = await SocketClient.of(p.project, 'a', 'g', PAGE);
    await first.ok('present', { location: AT });
    await reset(p, first, 0);
    using second = await SocketClient.of(p.project, 'a', 'h', PAGE);
    await second.ok('present', { location: THERE });
    await until('the user to leave', async () => (await p.locationsOf('a')).length === 0);
  });

  test('data that ended with their location do not come back with a connectionID', async () => {
    const p = await Presence.inNewProject(server);
    const data = async () => (await p.page({ expand: 'data' })).users.map(({ ephemeral }) => ephemeral.data);
    using first = await SocketClient.of(p.project, 'a', 'g', PAGE);
    await first.ok('present', { location: AT, data: { typing: true } });
    await p.setAbsent('a', AT);
    await first.ok('present', { location: AT });
    assert.deepEqual(await data(), [[null]]);
    await reset(p, first, 0);
    using back = await SocketClient.of(p.project, 'a', 'g', PAGE);
    await back.ok('absent', { location: THERE });
    assert.deepEqual(await data(), [[null]]);
  });

  test('a connectionID that is back within 2 s keeps its holds, and no stream has a departure', async () => {
    const p = await Presence.inNewProject(server);
    using watcher = await watcherOf(p);
    using first = await SocketClient.of(p.project, 'a', 'g', PAGE);
    await first.ok('present', { location: AT });
    await watcher.event('arrived');
    await reset(p, first, 1);
    await p.pass(clock, 1);
    clock.move(999);
    using back = await SocketClient.of(p.project, 'a', 'g', PAGE);
    await p.pass(clock, LIFE_SECONDS);
    assert.deepEqual(await p.locationsOf('a'), [AT]);
    expectOk(await Browser.of(p.project, 'b', 'g').putPresence({ location: THERE }));
    assert.equal((await watcher.event('arrived')).data.id, 'b', 'nothing was sent in between');
    // It holds the location as the first socket did.
    back.ws.close();
    assert.equal((await watcher.event('departed')).data.reason, 'absent');
  });

  for (const [when, milliseconds] of [
    ['exactly 2 s', 2_000],
    ['3 s', 3_000],
  ] as const)
    test(`a connectionID that is back after ${when} has lost its holds`, async () => {
      const p = await Presence.inNewProject(server);
      using first = await SocketClient.of(p.project, 'a', 'g', PAGE);
      await first.ok('present', { location: AT });
      await reset(p, first, 0);
      clock.move(milliseconds);
      using _back = await SocketClient.of(p.project, 'a', 'g', PAGE);
      assert.deepEqual(await p.locationsOf('a'), []);
    });
});

test('a socket without auth is closed with 4408 after 5 s, and not before; one that logs in stays open', async () => {
  const p = await Presence.inNewProject(server);
  using waiting = await SocketClient.open(p.project.url);
  using late = await SocketClient.open(p.project.url);
  clock.move(5_000);
  await waiting.fails('missing_authorization_header', 'watch');
  await late.ok('auth', { token: Browser.of(p.project, 'a', 'g').token });
  // The server checks once a second.
  clock.move(1_000);
  await waiting.closes(4408);
  clock.move(10_000);
  await late.ok('watch');
});

describe('with ROLLCALL_PRESENCE_TTL_SECONDS=1', () => {
  const shortClock = new MovedClock(Date.now());
  const short = oneServer({
    clock: shortClock,
    settings: { presenceTtlSeconds: 1, socketTimeoutSeconds: 300 },
  });

  test('presence that a socket holds never departs while the socket is open', async () => {
    const p = await Presence.inNewProject(short);
    using watcher = await watcherOf(p);
    using socket = await SocketClient.of(p.project, 'a', 'g');
    await socket.ok('present', { location: AT });
    await watcher.event('arrived');
    for (let step = 0; step < 50; step += 1) {
      shortClock.move(100);
      assert.deepEqual(await p.locationsOf('a'), [AT]);
    }
    socket.ws.close();
    assert.equal((await watcher.event('departed')).data.reason, 'absent');
  });
});

describe('with ROLLCALL_SOCKET_TIMEOUT_SECONDS=2', () => {
  const ownClock = new MovedClock(Date.now());
  const quick = oneServer({ clock: ownClock, settings: { socketTimeoutSeconds: 2 } });

  test('a connectionID whose client answers no ping has lost its holds when the timeout has passed', async () => {
    const p = await Presence.inNewProject(quick);
    using socket = await SocketClient.of(p.project, 'a', 'g', PAGE);
    await socket.ok('present', { location: AT });
    socket.ws.pause();
    await until('the server to end the socket', async () => {
      ownClock.move(1_000);
      return (await openSockets(p.project)) === 0;
    });
    // The clock stands still, so nothing that ends 2 s later has ended.
    await until('its user to be absent', async () => (await p.locationsOf('a')).length === 0);
  });
});
