/** SIGTERM on a server under load, in a process of its own. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { headersOfProject, KNOWN, type ServeProcess, withServe } from '../cli/cli-process.ts';
import { engineSettings } from '../support/engine.ts';
import { send } from '../support/http-client.ts';
import { type ConnectionEnd, sendUntilClosed } from '../support/keep-alive-client.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { withDataDir } from '../support/server.ts';

const CONNECTIONS = 64;
const ANSWERS_BEFORE = 1_000;
const headers = headersOfProject();

/** A request as it goes over the wire. */
function wire(method: string, path: string, body?: unknown): string {
  const text = body === undefined ? '' : JSON.stringify(body);
  const type =
    body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${headers.authorization}\r\n${type}\r\n${text}`;
}

/** Writes to the store, presence updates, reads, and requests that no route matches. */
const REQUESTS = [
  wire('PUT', '/v1/groups/docs', { name: 'Docs' }),
  wire('PUT', '/v1/users/ada/presence', { groupID: 'docs', location: { page: 'one' } }),
  wire('GET', '/v1/groups/docs'),
  wire('PATCH', '/v1/groups/docs'),
];
const STATUSES = [200, 200, 200, 405];

const withServer = (args: string[], use: (server: ServeProcess) => Promise<void>) =>
  withDataDir(async (dataDir) => {
    const { databaseUrl, redisUrl } = await engineSettings(dataDir);
    const engine = [
      ...(databaseUrl == null ? [] : ['--database-url', databaseUrl]),
      ...(redisUrl == null ? [] : ['--redis-url', redisUrl]),
    ];
    await withServe(dataDir, [...KNOWN, ...engine, ...args], async (server) => {
      const body = JSON.stringify({
        users: [{ id: 'ada' }],
        groups: [{ id: 'docs', name: 'Docs', members: ['ada'] }],
      });
      assert.equal((await send(server.url, 'POST', '/v1/batch', { headers, body })).status, 200);
      await use(server);
    });
  });

/** Loads the server on all connections, stops it meanwhile, and returns how each connection ended. */
async function stopUnderLoad(
  { url, process: server }: ServeProcess,
  depth: number,
): Promise<ConnectionEnd[]> {
  let left = ANSWERS_BEFORE;
  const onAnswer = () => {
    left -= 1;
    if (left === 0) server.signal('SIGTERM');
  };
  const clients = Array.from({ length: CONNECTIONS }, () =>
    sendUntilClosed(url, { next: (index) => REQUESTS[index % REQUESTS.length] as string, depth, onAnswer }),
  );
  return Promise.all(clients);
}

describe('a server that is stopped under load', () => {
  for (const [title, depth, delay] of [
    ['with requests one by one and no stop delay', 1, '0'],
    ['with requests one by one', 1, '1'],
    ['with pipelined requests', REQUESTS.length, '0'],
  ] as const) {
    test(`a server that is stopped under load answers every request and resets no connection, ${title}`, () =>
      withServer(['--stop-delay-seconds', delay], async (server) => {
        const ends = await stopUnderLoad(server, depth);
        for (const { sent, answered, statuses, closing, error } of ends) {
          assert.equal(error, null, `${sent} sent, ${answered} answered`);
          assert.equal(answered, sent, 'a request was not answered');
          assert.deepEqual(
            statuses,
            statuses.map((_, index) => STATUSES[index % STATUSES.length]),
          );
          assert.deepEqual(
            closing,
            [answered - 1],
            'the last answer, and no other, carries Connection: close',
          );
        }
        const { code, stdout } = await server.process.ended;
        assert.equal(code, 0);
        assert.doesNotMatch(stdout, /"level":(50|60)/);
      }));
  }
});

describe('a server that is stopped', () => {
  test('a server that is stopped answers 503 on /readyz before it accepts no more connections', () =>
    withServer(['--stop-delay-seconds', '3'], async ({ url, process: server }) => {
      const ready = await send(url, 'GET', '/readyz');
      assert.equal(ready.status, 200);
      server.signal('SIGTERM');
      await server.output(/"msg":"stopping"/);
      const answer = await send(url, 'GET', '/readyz');
      assert.equal(answer.status, 503);
      assert.equal(answer.json<{ error: string }>().error, 'error');
      assert.equal(answer.headers['retry-after'], '1');
      // Requests that still arrive are served.
      assert.equal((await send(url, 'GET', '/v1/groups/docs', { headers })).status, 200);
      assert.equal((await server.ended).code, 0);
      await assert.rejects(send(url, 'GET', '/readyz'), { code: 'ECONNREFUSED' });
    }));

  test('a server that is stopped ends an idle connection without a reset, and answers a request that arrives before that', () =>
    withServer(['--stop-delay-seconds', '0'], async ({ url, process: server }) => {
      const [idle, silent, late] = [new RawConnection(url), new RawConnection(url), new RawConnection(url)];
      for (const connection of [idle, late]) {
        connection.write(wire('GET', '/healthz'));
        await connection.received((text) => text.endsWith('{"status":"ok"}\n'));
      }
      server.signal('SIGTERM');
      await server.output(/"msg":"stopping"/);
      late.write(wire('GET', '/readyz'));
      assert.match(await late.closed(), /HTTP\/1\.1 503 [\s\S]*\r\nConnection: close\r\n/i);
      await Promise.all([idle.closed(), silent.closed()]);
      for (const connection of [idle, silent, late]) assert.equal(connection.error, null);
      assert.equal((await server.ended).code, 0);
    }));
});
