/** The upgrade of a socket, its limits, and hostile frames. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { limits } from '@rollcall/protocol';
import { Browser } from '../support/browser.ts';
import { threadPath } from '../support/conversation.ts';
import { expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { withServer } from '../support/server.ts';
import { openPresenceStreams, openSockets, SocketClient } from '../support/socket-client.ts';
import { until } from '../support/waiting.ts';

const WAITING = 3;
const server = oneServer({
  settings: { corsOrigins: 'https://app.example.com', socketsWaiting: WAITING, socketTimeoutSeconds: 1 },
});

const seeded = () => server.projectWithGroup('g', 'a');

const UPGRADE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-protocol': 'rollcall.v1',
};

const PROTOCOLS_REJECTED = [
  ...['chat', 'Rollcall.V1', 'rollcall.v1, rollcall.v1', 'rollcall.v1,,chat'],
  ...['rollcall.v1, a chat', 'rollcall.v1, "chat"', 'rollcall.v1\u00a0'],
];

/** The head of the answer to a request with these headers. */
function headOf(
  url: string,
  headers: Record<string, string>,
  path = '/v1/client/socket',
  method = 'GET',
  version = '1.1',
): Promise<string> {
  const { hostname, port, host } = new URL(url);
  const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}`);
  const socket = connect(Number(port), hostname);
  socket.write(`${method} ${path} HTTP/${version}\r\n${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.once('data', (data) => {
      socket.destroy();
      resolve(String(data));
    });
  });
}

describe('the upgrade to a socket', () => {
  test('the upgrade needs the headers of RFC 6455, the subprotocol and an allowed origin', async () => {
    const { url } = await seeded();
    const cases: [RegExp, Record<string, string>][] = [
      [/^HTTP\/1.1 101 /, UPGRADE],
      [/^HTTP\/1.1 101 /, { ...UPGRADE, origin: 'https://app.example.com' }],
      [/^HTTP\/1.1 101 /, { ...UPGRADE, origin: url }],
      [/^HTTP\/1.1 403 [\s\S]*invalid_request/, { ...UPGRADE, origin: 'https://other.example.com' }],
      [/^HTTP\/1.1 426 [\s\S]*upgrade: websocket/i, {}],
      [/^HTTP\/1.1 426 [\s\S]*sec-websocket-version: 13/i, { ...UPGRADE, 'sec-websocket-version': '12' }],
      [/^HTTP\/1.1 400 [\s\S]*Sec-WebSocket-Key/, { ...UPGRADE, 'sec-websocket-key': 'x' }],
      [/^HTTP\/1.1 400 [\s\S]*no body/, { ...UPGRADE, 'content-length': '2' }],
      [/^HTTP\/1.1 400 [\s\S]*no body/, { ...UPGRADE, 'transfer-encoding': 'chunked' }],
      [/^HTTP\/1.1 101 /, { ...UPGRADE, 'content-length': '0' }],
      ...PROTOCOLS_REJECTED.map((protocol): [RegExp, Record<string, string>] => [
        /^HTTP\/1.1 400 [\s\S]*invalid_request[\s\S]*rollcall.v1/,
        { ...UPGRADE, 'sec-websocket-protocol': protocol },
      ]),
    ];
    for (const [expected, headers] of cases) {
      const head = await headOf(url, headers);
      assert.match(head, expected);
      assert.match(head, /x-request-id: /i);
    }
    assert.match(await headOf(url, UPGRADE, '/v1/client/socket', 'HEAD'), /^HTTP\/1.1 426 /);
    assert.match(await headOf(url, UPGRADE, '/v1/client/socket', 'GET', '1.0'), /^HTTP\/1.1 426 /);
    // Another protocol is ignored, as RFC 9110 allows.
    assert.match(await headOf(url, { connection: 'Upgrade', upgrade: 'h2c' }, '/healthz'), /^HTTP\/1.1 200 /);
    assert.match(await headOf(url, UPGRADE, '/healthz'), /^HTTP\/1.1 200 /);
  });

  test('a request target that is no path of the API is 404, with the headers of an upgrade as without them', async () => {
    const { url } = await seeded();
    for (const target of ['http://h:99999/x', 'http://h/x#y', 'http:///x', 'http://', '/x%', '*'])
      for (const headers of [UPGRADE, {}])
        assert.match(await headOf(url, headers, target), /^HTTP\/1.1 404 [\s\S]*invalid_request/, target);
    assert.match(await headOf(url, UPGRADE, 'http://h:99999/v1/client/socket'), /^HTTP\/1.1 101 /);
  });

  test('a query parameter is unexpected_field, with the headers of an upgrade as without them', async () => {
    const { url } = await seeded();
    for (const headers of [UPGRADE, {}])
      assert.match(
        await headOf(url, headers, '/v1/client/socket?x=1'),
        /^HTTP\/1.1 400 [\s\S]*unexpected_field/,
      );
    assert.match(await headOf(url, UPGRADE, '/v1/client/socket?'), /^HTTP\/1.1 101 /);
  });

  test('an upgrade behind a request that is not answered yet is 503, and the next one on a new connection succeeds', async () => {
    const { url } = await seeded();
    const lines = Object.entries({ host: 'h', ...UPGRADE }).map(([name, value]) => `${name}: ${value}`);
    const upgrade = `GET /v1/client/socket HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
    const connection = new RawConnection(url);
    connection.write(`GET /readyz HTTP/1.1\r\nhost: h\r\n\r\n${upgrade}`);
    const text = await connection.received((received) => received.split('HTTP/1.1').length > 2);
    connection.destroy();
    assert.match(text, /^HTTP\/1.1 200 [\s\S]*HTTP\/1.1 503 [\s\S]*retry-after: 1/i);
    assert.match(await headOf(url, UPGRADE), /^HTTP\/1.1 101 /);
  });

  test('sockets that have not logged in are bounded: one more is 503 at the upgrade, and each is closed with 4408', async () => {
    const { url } = await seeded();
    using sockets = new DisposableStack();
    const waiting: SocketClient[] = [];
    await until('the sockets before to be gone', async () => {
      const socket = new SocketClient(url);
      await socket.until('open or rejected', () => socket.ws.readyState !== 0);
      if (socket.ws.readyState === 1) waiting.push(sockets.use(socket));
      return waiting.length === WAITING;
    });
    assert.match(await headOf(url, UPGRADE), /^HTTP\/1.1 503 [\s\S]*retry-after/i);
    for (const socket of waiting) await socket.closes(4408);
    assert.match(await headOf(url, UPGRADE), /^HTTP\/1.1 101 /);
  });
});

describe('hostile frames', () => {
  /** Asserts that what `attack` sends closes its socket with this code, and no other one. */
  async function closesWith(code: number, attack: (socket: SocketClient) => void): Promise<void> {
    const project = await seeded();
    using other = await SocketClient.of(project, 'a', 'g');
    using socket = await SocketClient.of(project, 'a', 'g');
    attack(socket);
    await socket.closes(code);
    await other.ok('watch');
  }

  test('a frame of more than 64 KiB closes the socket with 1009, and one of 64 KiB is answered', async () => {
    await closesWith(1009, ({ ws }) => ws.send('x'.repeat(limits.SOCKET_FRAME_MAX_BYTES + 1)));
    await closesWith(1009, ({ ws }) => {
      for (let part = 0; part < 3; part += 1) ws.send('x'.repeat(30_000), { fin: part === 2 });
    });
    const project = await seeded();
    using socket = await SocketClient.of(project, 'a', 'g');
    socket.send('['.repeat(limits.SOCKET_FRAME_MAX_BYTES));
    assert.equal((await socket.answer(null)).error, 'invalid_request');
  });

  test('a binary frame closes the socket with 1003, and invalid UTF-8 with 1007', async () => {
    await closesWith(1003, ({ ws }) => ws.send(Buffer.from('{}')));
    await closesWith(1007, ({ ws }) => ws.send(Buffer.from([0x22, 0xff, 0x22]), { binary: false }));
  });

  test('a message of very many fragments closes the socket with 1008', () =>
    closesWith(1008, ({ ws }) => {
      for (let part = 0; part < 1_000; part += 1) ws.send('', { fin: false });
    }));

  test('a watch that opens while its socket is closed for a hostile frame ends with the socket', async () => {
    const project = await seeded();
    expectOk(await project.put(threadPath('t'), { groupID: 'g', name: 'T' }));
    const watches = [{ op: 'watch' }, { op: 'watch_threads' }, { op: 'watch_messages', threadID: 't' }];
    using other = await SocketClient.of(project, 'a', 'g');
    for (const watch of watches) {
      using socket = await SocketClient.of(project, 'a', 'g');
      const { tcp } = socket;
      // Both frames arrive together, so the watch is still opening when the other one is read.
      tcp.cork();
      socket.send({ ...watch, ref: 100 });
      socket.send(Buffer.from('{}'));
      tcp.uncork();
      await socket.closes(1003);
    }
    // By their answers, what was read before has been opened.
    for (const { op, ...fields } of watches) await other.ok(op, fields);
    await until('their streams to end', async () => (await openPresenceStreams(project)) === watches.length);
  });

  test('200 frames at once are answered', async () => {
    const { url } = await seeded();
    using socket = await SocketClient.open(url);
    for (let count = 0; count < limits.SOCKET_FRAMES_BURST; count += 1) socket.send('{}');
    await socket.until('the answers', () => socket.frames.length === limits.SOCKET_FRAMES_BURST);
    assert.ok(socket.frames.every(({ error }) => error === 'missing_authorization_header'));
    assert.equal(socket.close, null);
  });

  test('more than 200 frames at once close the socket with 4429, pings too', async () => {
    await closesWith(4429, (socket) => {
      for (let count = 0; count < limits.SOCKET_FRAMES_BURST + 50; count += 1) socket.send('{}');
    });
    await closesWith(4429, ({ ws }) => {
      for (let count = 0; count < limits.SOCKET_FRAMES_BURST + 50; count += 1) ws.ping();
    });
  });

  test('a client that answers no ping is cut off after the timeout', async () => {
    const project = await seeded();
    using socket = await SocketClient.of(project, 'a', 'g');
    await socket.ok('present', { location: { page: '1' } });
    socket.ws.pause();
    await until('the server to close it', async () => (await openSockets(project)) === 0);
    await until('its user to be absent', async () => {
      const { users } = expectOk(await project.get('/v1/groups/g/presence')) as { users: object[] };
      return users.length === 0;
    });
  });
});

describe('the limits of sockets', () => {
  test('a socket has 100 watches; one more is invalid_request', async () => {
    const project = await seeded();
    using socket = await SocketClient.of(project, 'a', 'g');
    for (let count = 0; count < limits.SOCKET_WATCHES_MAX; count += 1)
      await socket.ok('watch', { location: { page: `${count % 3}` } });
    await socket.fails('invalid_request', 'watch', {}, '100');
  });

  test('a user has 100 sockets and streams: the next auth is answered with an error and closed with 4429', async () => {
    const project = await seeded();
    using sockets = new DisposableStack();
    for (let count = 0; count < limits.USER_STREAMS_MAX; count += 1)
      sockets.use(await SocketClient.of(project, 'a', 'g'));
    using socket = await SocketClient.open(project.url);
    await socket.fails('invalid_request', 'auth', { token: Browser.of(project, 'a').token }, '100');
    await socket.closes(4429);
    const answer = await Browser.of(project, 'a').get('/v1/client/presence?groupID=g', {
      accept: 'text/event-stream',
    });
    assert.equal(answer.status, 429);
  });

  test('a login that is rejected with user_not_found does not count among the 100 sockets and streams of its user', async () => {
    const project = await seeded();
    const { token } = Browser.of(project, 'a', 'g');
    using socket = await SocketClient.open(project.url);
    expectOk(await project.put('/v1/users/a', { status: 'deleted' }));
    for (let ref = 1; ref <= limits.USER_STREAMS_MAX; ref += 1) socket.send({ op: 'auth', ref: -ref, token });
    await socket.until('the answers', () => socket.frames.length === limits.USER_STREAMS_MAX);
    assert.ok(socket.frames.every(({ error }) => error === 'user_not_found'));
    expectOk(await project.put('/v1/users/a', { status: 'active' }));
    await socket.ok('auth', { token });
  });

  test('a login whose socket is closed meanwhile does not count among the 100 sockets and streams of its user', async () => {
    const project = await seeded();
    const { token } = Browser.of(project, 'a', 'g');
    for (let count = 0; count < limits.USER_STREAMS_MAX; count += 1) {
      using socket = await SocketClient.open(project.url);
      // Both frames arrive together, so the token is still verified when the other one is read.
      socket.tcp.cork();
      socket.send({ op: 'auth', ref: 1, token });
      socket.send(Buffer.from('{}'));
      socket.tcp.uncork();
      await socket.closes(1003);
    }
    using socket = await SocketClient.open(project.url);
    await socket.ok('auth', { token });
  });

  test('a server that stops closes its sockets with 4409', async () => {
    using sockets = new DisposableStack();
    let socket: SocketClient | undefined;
    await withServer({}, async ({ url }) => {
      socket = sockets.use(await SocketClient.open(url));
    });
    await socket?.closes(4409);
  });
});
