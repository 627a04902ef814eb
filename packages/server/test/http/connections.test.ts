/** How connections end. The time limit for a request is short here; everything else is as in the server. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { HttpConnections } from '../../src/http/connections.ts';
import { RawConnection, statuses } from '../support/raw-connection.ts';

const CLIENTS = 20;

async function withListening(use: (server: Server, url: string) => Promise<void>): Promise<void> {
  const connections = new HttpConnections({ requestTimeoutMs: 100, timeoutCheckMs: 20 });
  const server = connections.createServer((request, response) => {
    request.resume().once('end', () => response.end());
  });
  connections.guard(server);
  server.on('clientError', (error, socket) => connections.clientError(error, socket as never));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await use(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    await connections.drain(0);
  }
}

const count = (server: Server) =>
  new Promise<number>((resolve, reject) => {
    server.getConnections((error, found) => (error === null ? resolve(found) : reject(error)));
  });

/** What a client sends before it waits, and the answer that closes the connection. */
const SENT: readonly [string, string, number][] = [
  ['nothing', '', 408],
  ['a part of the headers', 'GET / HTTP/1.1\r\nHost', 408],
  ['a part of the body', 'PUT / HTTP/1.1\r\nContent-Length: 10\r\n\r\n123', 408],
  ['what cannot be read', 'GET / HTTP/9.9\r\n\r\n', 400],
  ['headers that are too large', `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
  ['a malformed chunk', 'PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n', 400],
  ['a last request', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n', 200],
  ['an unknown expectation', 'GET / HTTP/1.1\r\nExpect: tea\r\nConnection: close\r\n\r\n', 417],
];

test(
  'a connection that the server closes with its answer is destroyed, though the client keeps its side open',
  { timeout: 30_000 },
  () =>
    withListening(async (server, url) => {
      const clients = SENT.flatMap(([sent, text, status]) =>
        Array.from({ length: CLIENTS }, async () => {
          const connection = new RawConnection(url, { allowHalfOpen: true });
          connection.write(text);
          const answer = await connection.ended();
          assert.deepEqual(statuses(answer), [status], sent);
          assert.match(answer, /\r\nConnection: close\r\n/i, sent);
          return connection;
        }),
      );
      const connections = await Promise.all(clients);
      while ((await count(server)) > 0) await setTimeout(50);
      for (const connection of connections) {
        assert.equal(connection.error, null);
        connection.destroy();
      }
    }),
);
