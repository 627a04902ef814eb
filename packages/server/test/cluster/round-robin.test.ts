import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { type RoundRobin, startRoundRobin } from '../../../../cluster/round-robin.ts';
import { send } from '../support/http-client.ts';

type Answerer = (incoming: IncomingMessage, outgoing: ServerResponse, name: string) => void;

interface Balanced {
  readonly balancer: RoundRobin;
  readonly servers: readonly Server[];
}

const MEBIBYTE = 1_024 ** 2;

/** Servers that answer alike, named 0, 1, …, behind a balancer. */
async function withBalanced(
  count: number,
  answer: Answerer,
  use: (balanced: Balanced) => Promise<void>,
): Promise<void> {
  const servers = Array.from({ length: count }, (_, index) =>
    createServer((incoming, outgoing) => answer(incoming, outgoing, `${index}`)).listen(0, '127.0.0.1'),
  );
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const balancer = await startRoundRobin(servers.map(urlOf), 0);
  try {
    await use({ balancer, servers });
  } finally {
    await balancer.close();
    await Promise.all(servers.map(stopped));
  }
}

const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

async function stopped(server: Server): Promise<void> {
  server.closeAllConnections();
  if (!server.listening) return;
  server.close();
  await once(server, 'close');
}

const answerName: Answerer = (_, outgoing, name) => void outgoing.end(name);

describe('the balancer', () => {
  test('the balancer sends the requests of one connection to the servers in turn', () =>
    withBalanced(3, answerName, async ({ balancer }) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const met: string[] = [];
      for (let index = 0; index < 6; index += 1) {
        met.push((await send(balancer.url, 'GET', '/', { agent })).text);
      }
      agent.destroy();
      assert.equal(met.join(''), '012012');
    }));

  test('the balancer skips a server that is gone, also for a request with a body', () =>
    withBalanced(3, answerName, async ({ balancer, servers }) => {
      await stopped(servers[1] as Server);
      const met: string[] = [];
      for (let index = 0; index < 4; index += 1) {
        met.push((await send(balancer.url, 'PUT', '/', { body: 'x' })).text);
      }
      assert.equal(met.join(''), '0220');
    }));

  test('the balancer answers 502 when all servers are gone', () =>
    withBalanced(2, answerName, async ({ balancer, servers }) => {
      await Promise.all(servers.map(stopped));
      const answer = await send(balancer.url, 'GET', '/');
      assert.equal(answer.status, 502);
      assert.equal(answer.json<{ error: string }>().error, 'error');
    }));

  test('the balancer repeats a read whose server dies, and no write', () =>
    withBalanced(
      2,
      (incoming, outgoing, name) => {
        if (name === '0') incoming.socket.destroy();
        else outgoing.end(name);
      },
      async ({ balancer }) => {
        assert.equal((await send(balancer.url, 'GET', '/')).text, '1');
        assert.equal((await send(balancer.url, 'GET', '/')).text, '1');
        assert.equal((await send(balancer.url, 'PUT', '/', { body: 'x' })).status, 502);
        assert.equal((await send(balancer.url, 'PUT', '/', { body: 'x' })).text, '1');
      },
    ));

  test('the balancer forwards path, headers and body unchanged, and adds the address of the client', () =>
    withBalanced(
      1,
      async (incoming, outgoing) => {
        const { url, rawHeaders, headers } = incoming;
        const body = await buffer(incoming);
        const seen = { url, via: headers['x-forwarded-for'], host: headers.host, length: body.length };
        outgoing.writeHead(201, 'Made', { 'x-seen': JSON.stringify(seen), etag: '"1"' });
        outgoing.end(JSON.stringify(rawHeaders));
      },
      async ({ balancer }) => {
        const headers = { 'X-Forwarded-For': '203.0.113.9', 'If-Match': '"1"' };
        const body = Buffer.alloc(5 * MEBIBYTE, 'x');
        const answer = await send(balancer.url, 'PUT', '/v1/groups/%2E%2E%2Fa%20b?x=%20', { headers, body });
        assert.equal(answer.status, 201);
        assert.equal(answer.headers.etag, '"1"');
        assert.deepEqual(JSON.parse(String(answer.headers['x-seen'])), {
          url: '/v1/groups/%2E%2E%2Fa%20b?x=%20',
          via: '203.0.113.9, 127.0.0.1',
          host: new URL(balancer.url).host,
          length: 5 * MEBIBYTE,
        });
        assert.ok(answer.json<string[]>().includes('If-Match'));
      },
    ));

  test('the balancer forwards a body of unknown length', () =>
    withBalanced(
      1,
      async (incoming, outgoing) => void outgoing.end((await buffer(incoming)).toString()),
      async ({ balancer }) => {
        const outgoing = request(balancer.url, {
          method: 'DELETE',
          headers: { 'transfer-encoding': 'chunked' },
        });
        outgoing.write('one ');
        outgoing.end('two');
        const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
        assert.equal((await buffer(answer)).toString(), 'one two');
      },
    ));

  test('the balancer forwards the events of a stream at once, and closes it when the client leaves', async () => {
    const left = Promise.withResolvers<void>();
    const events = Promise.withResolvers<ServerResponse>();
    await withBalanced(
      1,
      (_, outgoing) => {
        outgoing.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        outgoing.once('close', left.resolve);
        events.resolve(outgoing);
      },
      async ({ balancer }) => {
        const outgoing = request(balancer.url);
        outgoing.end();
        const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
        const server = await events.promise;
        for (const event of ['data: 1\n\n', 'data: 2\n\n']) {
          server.write(event);
          const [chunk] = await once(answer, 'data');
          assert.equal(String(chunk), event);
        }
        answer.destroy();
        await left.promise;
      },
    );
  });

  test('the balancer breaks an answer off when its server dies in the middle', async () => {
    await withBalanced(
      1,
      (incoming, outgoing) => {
        outgoing.write('half', () => incoming.socket.destroy());
      },
      async ({ balancer }) => {
        await assert.rejects(send(balancer.url, 'GET', '/'), { code: 'ECONNRESET' });
      },
    );
  });
});
