import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { clockedServer } from '../support/clocked-server.ts';
import { expectDone } from '../support/expect.ts';
import { send } from '../support/http-client.ts';
import type { Project } from '../support/project-client.ts';
import { RawConnection, requestHead, statuses } from '../support/raw-connection.ts';
import { until } from '../support/waiting.ts';

const server = clockedServer();
let project: Project;

before(async () => {
  project = await server.project();
  expectDone(await project.put('/v1/groups/g', { name: 'G' }));
});

const head = (line: string, ...headers: string[]) => requestHead(project.token, line, ...headers);

const open = (options = {}) => new RawConnection(server.raw.url, options);
const alive = async () => assert.equal((await project.get('/v1/groups/g')).status, 200, 'the server lives');

describe('connections that break off', () => {
  test('an upload that ends before its Content-Length changes nothing', async () => {
    const connection = open();
    connection.write(
      `${head('PUT /v1/groups/g', 'Content-Type: application/json', 'Content-Length: 1000')}{"name":"Cut"}`,
    );
    connection.end();
    const text = await connection.closed();
    assert.ok(
      statuses(text).every((status) => status >= 400 && status < 500),
      text,
    );
    assert.equal((await project.group('g')).name, 'G');
  });

  test('an upload whose sender vanishes changes nothing', async () => {
    for (let count = 0; count < 20; count += 1) {
      const connection = open();
      connection.write(
        `${head('POST /v1/batch', 'Content-Type: application/json', 'Transfer-Encoding: chunked')}5\r\n{"use\r\n`,
      );
      connection.destroy();
    }
    await alive();
    assert.deepEqual(await project.users(), []);
  });

  test('a client that disconnects before the answer does not disturb other requests', async () => {
    for (let count = 0; count < 50; count += 1) {
      const connection = open();
      connection.write(head('GET /v1/groups'));
      connection.destroy();
    }
    await alive();
  });

  test('an upload that arrives byte by byte is accepted, and delays no other request', async () => {
    const connection = open();
    const body = '{"name":"Slow"}';
    connection.write(
      head('PUT /v1/groups/slow', 'Content-Type: application/json', `Content-Length: ${body.length}`),
    );
    for (const byte of body.slice(0, -1)) {
      connection.write(byte);
      await alive();
    }
    connection.write(body.slice(-1));
    const text = await connection.received((sofar) => sofar.includes('}'));
    assert.deepEqual(statuses(text), [200]);
    connection.destroy();
    assert.equal((await project.group('slow')).name, 'Slow');
  });
});

/** Also a write that was under way: the store applies writes in their order. */
async function isNotWritten(group: string): Promise<void> {
  expectDone(await project.put('/v1/groups/later', { name: 'Later' }));
  assert.notEqual((await project.get(`/v1/groups/${group}`)).status, 200);
}

describe('pipelined requests', () => {
  test('pipelined requests are answered in order', async () => {
    const connection = open();
    const put = (name: string) => {
      const body = JSON.stringify({ name });
      return `${head('PUT /v1/groups/piped', 'Content-Type: application/json', `Content-Length: ${body.length}`)}${body}`;
    };
    const names = Array.from({ length: 10 }, (_, index) => `N${index}`);
    connection.write(names.map((name) => put(name) + head('GET /v1/nowhere')).join(''));
    const text = await connection.received((sofar) => statuses(sofar).length === 20 && sofar.endsWith('}\n'));
    connection.destroy();
    assert.deepEqual(
      statuses(text),
      names.flatMap(() => [200, 404]),
    );
  });

  test('pipelined requests whose answers are not read are handled a few at a time', async () => {
    const docs = async () => {
      const { text } = await send(server.raw.url, 'GET', '/metrics');
      return Number(/duration_seconds_count\{[^}]*"\/docs"[^}]*\} (\d+)/.exec(text)?.[1] ?? 0);
    };
    const connection = open();
    connection.pause();
    connection.write(head('GET /docs').repeat(200));
    await until('some are handled', async () => (await docs()) >= 16);
    const before = await docs();
    for (let count = 0; count < 20; count += 1) await alive();
    assert.equal(await docs(), before);
    assert.ok(before < 100, `${before}`);
    connection.destroy();
  });

  test('a connection with more than a thousand unanswered requests is cut off', async () => {
    const connection = open();
    connection.pause();
    connection.write('GET /docs HTTP/1.1\r\n\r\n'.repeat(2_700));
    const isClosed = connection.closed().then(() => true);
    connection.resume();
    assert.ok(await isClosed);
    await alive();
  });

  test('more pipelined requests than are handled at once are all answered, in order', async () => {
    const connection = open();
    const paths = Array.from({ length: 300 }, (_, index) => (index % 3 === 0 ? '/v1/nowhere' : '/healthz'));
    connection.write(paths.map((path) => head(`GET ${path}`)).join(''));
    const text = await connection.received((sofar) => statuses(sofar).length === 300);
    assert.deepEqual(
      statuses(text),
      paths.map((path) => (path === '/healthz' ? 200 : 404)),
    );
    connection.destroy();
  });

  test('a request behind an answer that closes the connection is not applied', async () => {
    const connection = open();
    const body = '{"name":"Behind"}';
    const put = head(
      'PUT /v1/groups/behind',
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    );
    const unread = `${head('POST /v1/nowhere', 'Transfer-Encoding: chunked')}2\r\n{}\r\n0\r\n\r\n`;
    connection.write(unread + put + body);
    assert.deepEqual(statuses(await connection.closed()), [404]);
    await isNotWritten('behind');
  });

  test('a request behind one of HTTP/1.0 with a transfer coding is not applied', async () => {
    const connection = open();
    const type = 'Content-Type: application/json';
    const older = head('PUT /v1/groups/g', type, 'Transfer-Encoding: chunked', 'Connection: keep-alive');
    const put = head('PUT /v1/groups/behind', type, 'Content-Length: 17');
    const chunked = 'c\r\n{"name":"G"}\r\n0\r\n\r\n';
    connection.write(`${older.replace('HTTP/1.1', 'HTTP/1.0')}${chunked}${put}{"name":"Behind"}`);
    assert.deepEqual(statuses(await connection.closed()), [200]);
    await isNotWritten('behind');
  });

  test('a request behind a stream is not applied, and a reader who ends their side leaves the stream', async () => {
    const connection = open({ allowHalfOpen: true });
    connection.write(head('GET /v1/groups/g/presence', 'Accept: text/event-stream'));
    await connection.received((sofar) => sofar.includes('snapshot'));
    const body = '{"name":"Behind"}';
    const type = 'Content-Type: application/json';
    connection.write(head('PUT /v1/groups/behind', type, `Content-Length: ${body.length}`) + body);
    connection.end();
    assert.deepEqual(statuses(await connection.closed()), [200]);
    await isNotWritten('behind');
  });

  test('a write that cannot be stored fails alone, not those that reach the store in the same moment', async () => {
    const put = (id: string, metadata: string) => {
      const body = `{"name":"G","metadata":${metadata}}`;
      const type = 'Content-Type: application/json';
      return head(`PUT /v1/groups/${id}`, type, `Content-Length: ${body.length}`) + body;
    };
    const deep = `{"a":${'['.repeat(8_000)}${']'.repeat(8_000)}}`;
    const connections = Array.from({ length: 8 }, () => open());
    for (const connection of connections) {
      connection.write(Array.from({ length: 5 }, () => put('deep', deep) + put('flat', '{}')).join(''));
    }
    const answers = await Promise.all(
      connections.map((connection) => connection.received((sofar) => statuses(sofar).length === 10)),
    );
    for (const connection of connections) connection.destroy();
    const ofFlat = answers.flatMap((text) => statuses(text).filter((_, index) => index % 2 === 1));
    assert.deepEqual(new Set(ofFlat), new Set([200]));
  });

  test('pipelined requests after a rejected body that is not read are not read out of that body', async () => {
    const connection = open();
    const smuggled = head('DELETE /v1/groups/g');
    const rejected = head(
      'PUT /v1/groups/g',
      'Content-Type: text/plain',
      `Content-Length: ${smuggled.length}`,
    );
    connection.write(rejected + smuggled + head('GET /v1/groups/g', 'Connection: close'));
    const text = await connection.closed();
    connection.destroy();
    assert.ok(!text.includes('deleted group'), text);
    assert.equal(statuses(text)[0], 400);
    await alive();
  });
});

describe('a transfer coding besides chunked', () => {
  const chunked = '10\r\n{"name":"Coded"}\r\n0\r\n\r\n';

  test('a body with a transfer coding besides chunked is invalid_request, and nothing is written', async () => {
    for (const coding of ['gzip, chunked', 'GZIP,chunked', 'deflate , chunked', 'chunked, chunked']) {
      const connection = open();
      const type = 'Content-Type: application/json';
      connection.write(
        head('PUT /v1/groups/g', type, `Transfer-Encoding: ${coding}`, 'Connection: close') + chunked,
      );
      const text = await connection.closed();
      assert.deepEqual(statuses(text), [400], coding);
      assert.ok(text.includes('"invalid_request"'), text);
    }
    assert.notEqual((await project.group('g')).name, 'Coded');
  });

  test('an HTTP/1.0 request with a transfer coding is answered, and its connection closed', async () => {
    const connection = open();
    const lines = ['Content-Type: application/json', 'Transfer-Encoding: chunked', 'Connection: keep-alive'];
    const old = head('PUT /v1/groups/old', ...lines).replace('HTTP/1.1', 'HTTP/1.0');
    connection.write(`${old}c\r\n{"name":"O"}\r\n0\r\n\r\n`);
    const text = await connection.closed();
    assert.deepEqual(statuses(text), [200]);
    assert.match(text, /\r\nConnection: close\r\n/i);
  });

  test('a Content-Length of zero in any spelling is no body', async () => {
    const connection = open();
    connection.write(head('POST /v1/webhooks/nowhere/test', 'Content-Length: 00', 'Connection: close'));
    assert.deepEqual(statuses(await connection.closed()), [404]);
  });

  test('the transfer coding chunked is accepted in any case', async () => {
    const connection = open();
    const type = 'Content-Type: application/json';
    connection.write(
      head('PUT /v1/groups/chunked', type, 'Transfer-Encoding: Chunked', 'Connection: close') + chunked,
    );
    assert.deepEqual(statuses(await connection.closed()), [200]);
  });
});

describe('a client that continues to send after an answer that closes the connection', () => {
  test('a client that continues to send after an answer that closes the connection gets that answer whole, and no reset', async () => {
    const connection = open({ allowHalfOpen: true });
    connection.write(
      `${head('POST /v1/batch', 'Content-Type: application/json', 'Transfer-Encoding: chunked')}x\r\n`,
    );
    connection.write('y'.repeat(1_000_000));
    const answer = await connection.ended();
    assert.deepEqual([statuses(answer), connection.error], [[400], null]);
    connection.destroy();
  });
});

describe('bytes that cannot be read behind a request', () => {
  test('bytes that cannot be read behind a request do not change the answer of that request', async () => {
    const connection = open();
    const body = JSON.stringify({
      users: Array.from({ length: 2_000 }, (_, index) => ({ id: `u${index}` })),
    });
    const type = 'Content-Type: application/json';
    connection.write(`${head('POST /v1/batch?dry_run=true', type, `Content-Length: ${body.length}`)}${body}`);
    connection.write('HELLO\r\n\r\n');
    const text = await connection.closed();
    assert.deepEqual(statuses(text), [200], text);
    assert.match(text, /"success":true/);
    assert.equal(connection.error, null);
  });
});

describe('what is not HTTP', () => {
  const NONSENSE: readonly [string, string][] = [
    ['a greeting', 'HELLO\r\n\r\n'],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['no version', 'GET /v1/groups\r\n\r\n'],
    ['another version', 'GET /v1/groups HTTP/9.9\r\nHost: x\r\n\r\n'],
    ['an HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a negative length', 'PUT /v1/groups/g HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n'],
    [
      'two lengths',
      'PUT /v1/groups/g HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}',
    ],
    [
      'length and chunks',
      'PUT /v1/groups/g HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'a chunk of no length',
      'PUT /v1/groups/g HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n',
    ],
    ['a line break in a header', 'GET /healthz HTTP/1.1\r\nHost: x\r\nX: a\nb\x00c\r\n\r\n'],
    ['spaces in the path', 'GET /v1/groups/a b HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a path of control bytes', 'GET /\x01\x02 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['nothing but line breaks', '\r\n\r\n\r\n\r\n'],
  ];
  for (const [title, text] of NONSENSE) {
    test(`${title} is rejected, and the server answers the next request`, async () => {
      const connection = open();
      connection.write(Buffer.from(text, 'latin1'));
      connection.end();
      const answers = statuses(await connection.closed());
      assert.ok(
        answers.every((status) => status >= 400 && status < 506 && status !== 500),
        `${answers}`,
      );
      connection.destroy();
      await alive();
    });
  }

  test('a request that is not HTTP is rejected with the error body', async () => {
    const connection = open();
    connection.write('GET /v1/groups HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n');
    const text = await connection.closed();
    const body = JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)) as { error: string };
    assert.deepEqual(Object.keys(body).sort(), ['error', 'message']);
    assert.equal(body.error, 'invalid_request');
    assert.match(text, /^HTTP\/1\.1 400 /);
    assert.match(text, /\r\nx-request-id: \S+\r\n/i);
  });

  test('CONNECT is rejected with the error body, also behind another request', async () => {
    const connect = head('CONNECT example.com:443');
    for (const [before, expected] of [
      ['', [400]],
      [head('GET /healthz'), [200, 400]],
    ] as const) {
      const connection = open();
      connection.write(before);
      if (before !== '') await connection.received((text) => text.includes('"ok"'));
      connection.write(connect);
      const text = await connection.closed();
      assert.deepEqual(statuses(text), expected);
      assert.match(text, /"error":"invalid_request"/);
    }
    await alive();
  });

  test('a request for an absolute URL, as proxies get it, is answered and does not fail', async () => {
    const connection = open();
    connection.write(head('GET http://elsewhere.example/v1/groups/g', 'Connection: close'));
    const [status = 0] = statuses(await connection.closed());
    assert.ok(status === 200 || (status >= 400 && status < 500), String(status));
  });

  test('an absolute URL has its path also where no route matches it', async () => {
    for (const [line, expected] of [
      ['PATCH http://elsewhere.example/v1/groups/g', 405],
      ['GET http://elsewhere.example/v1/nowhere', 404],
      ['GET http://elsewhere.example/v1/groups/%zz', 400],
    ] as const) {
      const connection = open();
      connection.write(head(line, 'Connection: close'));
      assert.deepEqual(statuses(await connection.closed()), [expected], line);
    }
  });

  test('a request that no route matches is answered before its body has arrived', async () => {
    for (const [line, expected] of [
      ['POST /v1/nowhere', 404],
      ['POST /v1/groups/g', 405],
    ] as const) {
      const connection = open();
      connection.write(head(line, 'Content-Type: application/json', 'Content-Length: 30000000'));
      const text = await connection.received((sofar) => sofar.includes('\r\n\r\n'));
      assert.deepEqual(statuses(text), [expected], line);
      connection.end();
    }
  });
});
