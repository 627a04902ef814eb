/** Connections that send anything and end at any moment: the process goes on, and its log has no error. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { Random } from '../sim/random.ts';
import { RawConnection, requestHead } from '../support/raw-connection.ts';
import { type TestServer, withServer } from '../support/server.ts';

const CONNECTIONS = 600;
const AT_ONCE = 12;
const SEEDS = [1, 2];

const METHODS = ['GET', 'PUT', 'POST', 'DELETE', 'HEAD', 'OPTIONS', 'CONNECT', 'TRACE', 'FOO', 'get'];
const PATHS = [
  '/',
  '/openapi.json',
  '/metrics',
  '/v1/batch',
  '/v1/groups/g',
  '/v1/client/socket',
  '*',
  'a.example:443',
];
const HEADERS = [
  ...[
    'Host: x',
    'Host: a b',
    'Connection: close',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Upgrade: h2c',
  ],
  ...[
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
    'Sec-WebSocket-Protocol: rollcall.v1',
  ],
  ...[
    'Expect: 100-continue',
    'Expect: x',
    'Content-Length: 5',
    'Content-Length: 5, 6',
    'Transfer-Encoding: chunked',
  ],
  ...[
    'Transfer-Encoding: x',
    'Accept: text/event-stream',
    'Authorization: Bearer x',
    'No Header',
    `X: ${'y'.repeat(70_000)}`,
  ],
];
const BODIES = ['', 'hello', '{}', '5\r\nhello\r\n0\r\n\r\n', 'z\r\n', 'x'.repeat(100_000)];
const UPGRADE = HEADERS.filter((header) => /^(Host: x|.*Upgrade$|.*websocket$|Sec-)/.test(header));
/** Frames of a socket: one that is not masked, a close, a ping that is too long, text that is cut off, a message of 2 GB. */
const FRAMES = [
  '\x81\x01x',
  '\x88\x80\0\0\0\0',
  '\x89\xfe\x01\0',
  '\x81\x85\0\0\0\0hel',
  '\x81\xff\0\0\0\0\x80\0\0\0',
];

function message(random: Random, { projectToken }: TestServer): string {
  if (random.chance(0.2))
    return requestHead(projectToken, 'GET /v1/groups/g/presence', 'Accept: text/event-stream');
  if (random.chance(0.2)) {
    const head = ['GET /v1/client/socket HTTP/1.1', ...UPGRADE, '', ''].join('\r\n');
    return head + random.some(FRAMES, 3).join('');
  }
  const line = `${random.pick(METHODS)} ${random.pick(PATHS)} HTTP/${random.pick(['1.1', '1.1', '1.0', '9'])}`;
  return [line, ...random.some(HEADERS, 5), '', random.pick(BODIES)].join('\r\n');
}

async function attack(random: Random, server: TestServer): Promise<void> {
  const connection = new RawConnection(server.url, { allowHalfOpen: random.chance(0.5) });
  for (let count = 1 + random.below(3); count > 0; count -= 1) {
    const text = message(random, server);
    connection.write(
      Buffer.from(random.chance(0.2) ? text.slice(0, random.below(text.length)) : text, 'latin1'),
    );
  }
  // Whatever is left without an answer is ended with a readable request.
  if (random.chance(0.5)) {
    connection.end();
    await connection.received((text) => text.length > 0);
  }
  if (random.chance(0.6)) connection.reset();
  else connection.destroy();
}

for (const seed of SEEDS)
  test(`a server answers after ${CONNECTIONS} hostile connections, and logs no error (seed ${seed})`, async () => {
    const lines: string[] = [];
    const log = pino({ level: 'error' }, { write: (line) => void lines.push(line) });
    await withServer({ log }, async (server) => {
      const group = { id: 'g', name: 'G', members: [] };
      await server.request('PUT', '/v1/groups/g', { body: group });
      const random = new Random(seed);
      let left = CONNECTIONS;
      const attackAll = async () => {
        for (; left > 0; left -= 1) await attack(random, server);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, attackAll));
      assert.equal((await server.request('GET', '/readyz', { token: null })).status, 200);
    });
    assert.deepEqual(lines, []);
  });
