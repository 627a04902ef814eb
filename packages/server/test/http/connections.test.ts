/** How connections end that the server closes with its answer. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type ConnectionOptions, HttpConnections } from '../../src/http/connections/connections.ts';
import { RawConnection, statuses } from '../support/raw-connection.ts';
import { until } from '../support/waiting.ts';

const CLIENTS = 20;

const answerAll: RequestListener = (request, response) => {
  request.resume().once('end', () => response.end());
};

async function withListening(
  options: ConnectionOptions,
  use: (server: Server, url: string, connections: HttpConnections) => Promise<void>,
  listener = answerAll,
): Promise<void> {
  const connections = new HttpConnections(options);
  const server = connections.createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await use(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`, connections);
  } finally {
    await connections.drain(0);
  }
}

const count = (server: Server) =>
  new Promise<number>((resolve, reject) => {
    server.getConnections((error, found) => (error === null ? resolve(found) : reject(error)));
  });

type Sent = readonly [what: string, text: string, status: number];

/** Sends each text on several connections, and waits until the server has no connection any more. */
const expectClosed = (options: ConnectionOptions, texts: readonly Sent[]) =>
  withListening(options, async (server, url) => {
    const clients = texts.flatMap(([what, text, status]) =>
      Array.from({ length: CLIENTS }, async () => {
        const connection = new RawConnection(url, { allowHalfOpen: true });
        connection.write(text);
        const answer = await connection.ended();
        assert.deepEqual(statuses(answer), [status], what);
        assert.match(answer, /\r\nConnection: close\r\n/i, what);
        return connection;
      }),
    );
    const connections = await Promise.all(clients);
    await until('the end of all connections', async () => (await count(server)) === 0);
    for (const connection of connections) {
      assert.equal(connection.error, null);
      connection.destroy();
    }
  });

describe('a connection whose client does not close its side', () => {
  test('a connection whose client does not close its side is destroyed after 408, when a request does not arrive in time', () =>
    expectClosed({ requestTimeoutMs: 100, timeoutCheckMs: 20 }, [
      ['nothing', '', 408],
      ['a part of the headers', 'GET / HTTP/1.1\r\nHost', 408],
      ['a part of the body', 'PUT / HTTP/1.1\r\nContent-Length: 10\r\n\r\n123', 408],
    ]));

  test('a connection whose client does not close its side is destroyed after any other answer that closes it', () =>
    expectClosed({}, [
      ['what cannot be read', 'GET / HTTP/9.9\r\n\r\n', 400],
      ['headers that are too large', `GET / HTTP/1.1\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`, 431],
      ['a malformed chunk', 'PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n', 400],
      ['a last request', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n', 200],
      ['an expectation', 'GET / HTTP/1.1\r\nExpect: tea\r\nConnection: close\r\n\r\n', 200],
    ]));
});

describe('a connection that its client resets after an answer that closes it', () => {
  for (const [what, text] of [
    ['what cannot be read', 'GET / HTTP/9.9\r\n\r\n'],
    ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n'],
    ['a last request', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'],
  ] as const)
    test(`the answer to ${what} can be followed by a reset, and the process goes on`, () =>
      withListening({}, async (server, url) => {
        const connection = new RawConnection(url, { allowHalfOpen: true });
        connection.write(text);
        assert.notEqual(await connection.ended(), '');
        connection.reset();
        await until('the end of the connection', async () => (await count(server)) === 0);
      }));
});

describe('a connection whose client does not read its answer', () => {
  /** More than the buffers of the system take. */
  const LARGE = 'x'.repeat(32 * 1_024 * 1_024);
  const answerLarge: RequestListener = (_request, response) => void response.end(LARGE);
  const answerInPieces: RequestListener = (_request, response) => void response.write(LARGE);

  for (const [what, listener, text] of [
    ['a whole answer', answerLarge, 'GET / HTTP/1.1\r\n\r\n'],
    ['an answer in pieces', answerInPieces, 'GET / HTTP/1.1\r\n\r\n'],
    ['the first of two answers', answerLarge, 'GET / HTTP/1.1\r\n\r\n'.repeat(2)],
  ] as const)
    test(`a connection whose reader takes nothing of ${what} is destroyed`, () =>
      withListening(
        { unreadTimeoutMs: 100, timeoutCheckMs: 20 },
        async (server, url) => {
          const reader = new RawConnection(url);
          reader.pause();
          reader.write(text);
          await once(server, 'request');
          await until('the end of the connection', async () => (await count(server)) === 0);
          reader.destroy();
        },
        listener,
      ));

  test('a connection whose reader takes a little from time to time is not destroyed', () =>
    withListening(
      { unreadTimeoutMs: 2_000, timeoutCheckMs: 10 },
      async (_server, url) => {
        const [answer] = await once(get(url, { agent: false }), 'response');
        let [bytes, taken] = [0, 0];
        for await (const chunk of answer) {
          bytes += chunk.length;
          // The system lets the server write on when much of its buffers is free, not after each read.
          taken += chunk.length;
          if (taken < LARGE.length / 8) continue;
          taken = 0;
          await pause(600);
        }
        assert.equal(bytes, LARGE.length);
      },
      answerLarge,
    ));

  test('a request that is handled for longer than answers wait for their readers is answered', () => {
    const unreadTimeoutMs = 1_000;
    let socket: Socket | undefined;
    return withListening(
      { unreadTimeoutMs, timeoutCheckMs: 10 },
      async (_server, url) => {
        const reader = new RawConnection(url);
        reader.pause();
        reader.write('GET /large HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nConnection: close\r\n\r\n');
        await until('the timeout is set', async () => socket?.timeout === unreadTimeoutMs);
        reader.resume();
        assert.deepEqual(statuses(await reader.ended()), [200, 200]);
      },
      (request, response) => {
        socket = request.socket;
        if (request.url === '/large') answerLarge(request, response);
        else socket.once('timeout', () => response.end());
      },
    );
  });
});

describe('an idle connection', () => {
  const answered = async (url: string) => {
    const connection = new RawConnection(url);
    connection.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await connection.received((sofar) => statuses(sofar).length === 1);
    return connection;
  };

  test('an idle connection is closed without a reset when its time has passed', () =>
    withListening({}, async (server, url) => {
      server.keepAliveTimeout = 1;
      const connection = await answered(url);
      await connection.closed();
      assert.equal(connection.error, null);
    }));

  test('an idle connection is closed while the server drains, and a request that is handled for longer is answered', () => {
    const arrived = Promise.withResolvers<void>();
    const handled = Promise.withResolvers<void>();
    return withListening(
      {},
      async (_server, url, connections) => {
        const slow = new RawConnection(url);
        slow.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n');
        await arrived.promise;
        const idle = await answered(url);
        const drained = connections.drain(3_600_000);
        await idle.closed();
        assert.equal(idle.error, null);
        handled.resolve();
        assert.deepEqual(statuses(await slow.closed()), [200]);
        await drained;
      },
      (request, response) => {
        if (request.url !== '/slow') return answerAll(request, response);
        arrived.resolve();
        void handled.promise.then(() => response.end());
      },
    );
  });
});

test('what a client sends behind a request for a stream is read and dropped: no further requests are made of it', () => {
  const head = 'GET / HTTP/1.1\r\n\r\n';
  let requests = 0;
  let socket: Socket | undefined;
  return withListening(
    {},
    async (server, url) => {
      server.on('request', () => {
        requests += 1;
      });
      const connection = new RawConnection(url);
      const send = async (text: string) => {
        const before = socket?.bytesRead ?? 0;
        connection.write(text);
        await until('the server has read it', async () => socket?.bytesRead === before + text.length);
      };
      await send(head);
      await send(head);
      assert.equal(requests, 2);
      await send(head.repeat(1_000));
      assert.equal(requests, 2);
      connection.end();
      await until('the end of the connection', async () => (await count(server)) === 0);
    },
    (request, response) => {
      socket = request.socket;
      response.shouldKeepAlive = false;
      response.flushHeaders();
    },
  );
});

test('a second HTTP server of the same application answers, and drains, like the first', () =>
  withListening({}, async (server, url, connections) => {
    const twin = connections.createServer(answerAll).listen(0, '127.0.0.1');
    await once(twin, 'listening');
    const twinUrl = `http://127.0.0.1:${(twin.address() as AddressInfo).port}`;
    for (const [text, status] of [
      ['GET / HTTP/1.1\r\nConnection: close\r\n\r\n', 200],
      ['GET / HTTP/9.9\r\n\r\n', 400],
      ['GET / HTTP/1.1\r\nExpect: tea\r\nConnection: close\r\n\r\n', 200],
    ] as const) {
      const connection = new RawConnection(twinUrl);
      connection.write(text);
      assert.deepEqual(statuses(await connection.closed()), [status]);
    }
    const clients = [url, twinUrl].map((each) => new RawConnection(each));
    for (const client of clients) {
      client.write('GET / HTTP/1.1\r\n\r\n');
      await client.received((text) => statuses(text).length === 1);
    }
    const drained = connections.drain(60_000);
    for (const client of clients) {
      client.write('GET / HTTP/1.1\r\n\r\n');
      const [first, last] = (await client.closed()).split(/(?=HTTP\/1\.1 )/);
      assert.match(first ?? '', /\r\nConnection: keep-alive\r\n/);
      assert.match(last ?? '', /^HTTP\/1\.1 200 [\s\S]*\r\nConnection: close\r\n/);
      assert.equal(client.error, null);
    }
    await drained;
    assert.deepEqual([server.listening, twin.listening], [false, false]);
  }));
