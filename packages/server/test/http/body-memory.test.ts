/** The bound on the memory of request bodies that are being received, or applied. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '@rollcall/protocol';
import { BodyMemory } from '../../src/http/bodies/body-memory.ts';
import { ReceivedBody } from '../../src/http/bodies/received-body.ts';
import { expectError } from '../support/expect.ts';
import { RawConnection, statuses } from '../support/raw-connection.ts';
import { type TestServer, withServer } from '../support/server.ts';

const KIB = 1_024;
const MIB = KIB * KIB;

describe('the account of body memory', () => {
  test('the account of body memory counts the bytes that arrived, and releases them with the body, once', () => {
    const memory = new BodyMemory(MIB);
    const body = new ReceivedBody(memory);
    assert.ok(body.add(Buffer.alloc(10)) && body.add(Buffer.alloc(5_000)));
    assert.equal(memory.bytes, 5_010);
    body.release();
    body.release();
    assert.equal(memory.bytes, 0);
  });

  test('the account of body memory rejects a body that would exceed it, at once and as a whole', () => {
    const memory = new BodyMemory(MIB);
    const other = new ReceivedBody(memory);
    for (let count = 0; count < 3; count += 1) assert.ok(other.add(Buffer.alloc(256 * KIB)));
    const body = new ReceivedBody(memory);
    assert.ok(body.add(Buffer.alloc(200 * KIB)));
    assert.ok(!body.add(Buffer.alloc(100 * KIB)), 'it would be a large one then, of which there are enough');
    assert.equal(memory.bytes, 768 * KIB);
  });

  test('the account of body memory reserves a quarter for bodies of at most 256 KiB', () => {
    const memory = new BodyMemory(4 * MIB);
    const large = new ReceivedBody(memory);
    assert.ok(large.add(Buffer.alloc(3 * MIB)));
    assert.ok(!new ReceivedBody(memory).add(Buffer.alloc(limits.SMALL_BODY_LIMIT_BYTES + 1)));
    const small = Array.from({ length: 4 }, () => new ReceivedBody(memory));
    for (const body of small) assert.ok(body.add(Buffer.alloc(limits.SMALL_BODY_LIMIT_BYTES)));
    assert.ok(!new ReceivedBody(memory).add(Buffer.alloc(1)));
    large.release();
    assert.ok(new ReceivedBody(memory).add(Buffer.alloc(1)));
  });

  test('the account of body memory lets bodies without a token have a quarter', () => {
    const memory = new BodyMemory(4 * MIB);
    const anonymous = Array.from({ length: 4 }, () => new ReceivedBody(memory, true));
    for (const body of anonymous) assert.ok(body.add(Buffer.alloc(256 * KIB)));
    assert.ok(!new ReceivedBody(memory, true).add(Buffer.alloc(1)));
    assert.ok(new ReceivedBody(memory).add(Buffer.alloc(3 * MIB)));
    anonymous[0]?.release();
    assert.ok(new ReceivedBody(memory, true).add(Buffer.alloc(256 * KIB)));
  });

  test('a body of many small chunks is stored in few buffers, and read as it was sent', () => {
    const memory = new BodyMemory(MIB);
    const text = Array.from({ length: 30_000 }, (_, index) => String(index)).join(',');
    const sizes = [1, 1, 3, 1, 5_000, 1, 1, 4_096, 4_095, 7, 10_000];
    const chunksOf = () => {
      const chunks: Uint8Array[] = [];
      for (let from = 0; from < text.length; ) {
        const size = sizes[chunks.length] ?? 1;
        // Node passes each chunk in a buffer of its own.
        chunks.push(new TextEncoder().encode(text.slice(from, from + size)));
        from += size;
      }
      return chunks;
    };
    for (const read of [
      (body: ReceivedBody) => Buffer.from(body.bytes()),
      (body: ReceivedBody) => Buffer.concat(body.takeParts()),
    ]) {
      const body = new ReceivedBody(memory);
      for (const chunk of chunksOf()) assert.ok(body.add(chunk));
      assert.equal(body.length, text.length);
      assert.equal(read(body).toString(), text);
    }
    const body = new ReceivedBody(memory);
    for (const chunk of chunksOf()) body.add(chunk);
    const parts = body.takeParts();
    assert.ok(parts.length < 60, `${parts.length} parts`);
    const capacity = parts.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
    assert.ok(capacity <= text.length + 10 * 4_096, `${capacity} bytes for ${text.length}`);
  });
});

/** An upload that has begun. */
function upload(
  { url, projectToken }: TestServer,
  line: string,
  announced: number,
  sent: number,
): RawConnection {
  const connection = new RawConnection(url);
  const head = [
    `${line} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${projectToken}`,
    'Content-Type: application/json',
    `Content-Length: ${announced}`,
  ];
  connection.write(`${head.join('\r\n')}\r\n\r\n{"name":"G"}${' '.repeat(sent - '{"name":"G"}'.length)}`);
  return connection;
}

/** Waits until the server accounts for so many bytes of bodies. */
async function untilAccounted(server: TestServer, bytes: number): Promise<void> {
  let accounted = -1;
  for (let tries = 0; tries < 2_000 && accounted !== bytes; tries += 1) {
    const { text } = await server.request('GET', '/metrics', { token: null });
    accounted = Number(/^rollcall_request_body_bytes (\d+)$/m.exec(text)?.[1]);
  }
  assert.equal(accounted, bytes);
}

const UNAVAILABLE = /^HTTP\/1\.1 503 .*\r\nretry-after: 1\r\n.*"error":"error"/is;

describe('a server with 1 MiB of memory for bodies', () => {
  const settings = { bodiesMemoryBytes: MIB };

  /** Begins an upload of 700 KiB, of which all but the last byte arrives; there is no memory for a second one. */
  async function withUnfinishedUpload(
    use: (server: TestServer, unfinished: RawConnection) => Promise<void>,
  ): Promise<void> {
    await withServer({ settings }, async (server) => {
      const unfinished = upload(server, 'PUT /v1/groups/unfinished', 700 * KIB, 700 * KIB - 1);
      try {
        await untilAccounted(server, 700 * KIB - 1);
        await use(server, unfinished);
      } finally {
        unfinished.destroy();
      }
    });
  }

  test('a server with 1 MiB of memory for bodies answers 503 with Retry-After to a body that exceeds it, and continues with those that it has', () =>
    withUnfinishedUpload(async (server, unfinished) => {
      const other = upload(server, 'PUT /v1/groups/other', 700 * KIB, 700 * KIB - 1);
      assert.match(await other.received((text) => text.endsWith('}\n')), UNAVAILABLE);
      other.destroy();
      unfinished.write(' ');
      assert.deepEqual(statuses(await unfinished.received((text) => text.endsWith('}\n'))), [200]);
    }));

  test('a server with 1 MiB of memory for bodies accepts small bodies while large ones use their share', () =>
    withUnfinishedUpload(async (server) => {
      for (const path of ['/v1/groups/small', '/v1/users/small']) {
        const answer = await server.request('PUT', path, { body: '{"name":"S"}'.padEnd(200 * KIB) });
        assert.equal(answer.status, 200, answer.text);
      }
      const batch = await server.request('POST', '/v1/batch', { body: '{}'.padEnd(300 * KIB) });
      expectError(batch, 503, 'error', 'memory');
      assert.equal(batch.headers['retry-after'], '1');
    }));

  test('a server answers 503 to a presence update while the memory for bodies is used up', () =>
    withServer({ settings }, async (server) => {
      const update = { body: '{"groupID":"g","location":{"p":"1"}}' };
      const put = () => server.request('PUT', '/v1/users/ann/presence', update);
      expectError(await put(), 401, 'user_not_found');
      const unfinished = Array.from({ length: 4 }, () =>
        upload(server, 'PUT /v1/users/u', 256 * KIB, 256 * KIB - 4),
      );
      await untilAccounted(server, MIB - 16);
      const answer = await put();
      expectError(answer, 503, 'error', 'memory');
      assert.equal(answer.headers['retry-after'], '1');
      for (const connection of unfinished) connection.destroy();
      await untilAccounted(server, 0);
      expectError(await put(), 401, 'user_not_found');
    }));

  test('bodies without a token that do not end leave memory to requests with one', () =>
    withServer({ settings }, async (server) => {
      const unfinished = Array.from({ length: 5 }, () =>
        upload(server, 'POST /v1/authorize', 250 * KIB, 250 * KIB - 1),
      );
      await untilAccounted(server, 250 * KIB - 1);
      const rejected = await Promise.all(
        unfinished.slice(1).map((one) => one.received((text) => text.endsWith('}\n'))),
      );
      for (const text of rejected) assert.match(text, UNAVAILABLE);
      const answer = await server.request('PUT', '/v1/groups/g', { body: '{"name":"G"}'.padEnd(700 * KIB) });
      assert.equal(answer.status, 200, answer.text);
      for (const connection of unfinished) connection.destroy();
    }));

  test('a server with 1 MiB of memory for bodies counts what has arrived, not what is announced', () =>
    withServer({ settings }, async (server) => {
      const announcing = Array.from({ length: 50 }, () =>
        upload(server, 'PUT /v1/groups/slow', 30 * MIB, 1_000),
      );
      await untilAccounted(server, 50_000);
      const answer = await server.request('PUT', '/v1/groups/g', { body: '{"name":"G"}'.padEnd(600 * KIB) });
      assert.equal(answer.status, 200, answer.text);
      for (const connection of announcing) connection.destroy();
    }));

  const ENDS: readonly (readonly [
    string,
    (server: TestServer, unfinished: RawConnection) => Promise<void>,
  ])[] = [
    ['the sender hangs up', async (_server, unfinished) => unfinished.destroy()],
    ['its end arrives and it is answered', async (_server, unfinished) => unfinished.write(' ')],
    [
      'its end arrives and its sender hangs up',
      async (_server, unfinished) => {
        unfinished.write(' ');
        unfinished.destroy();
      },
    ],
    ['it ends as no JSON', async (_server, unfinished) => unfinished.write('x')],
  ];
  for (const [title, end] of ENDS) {
    test(`a server with 1 MiB of memory for bodies releases the memory of an upload when ${title}`, () =>
      withUnfinishedUpload(async (server, unfinished) => {
        await end(server, unfinished);
        await untilAccounted(server, 0);
        const body = '{"name":"After"}'.padEnd(700 * KIB);
        assert.equal((await server.request('PUT', '/v1/groups/after', { body })).status, 200);
      }));
  }

  test('a server with 1 MiB of memory for bodies releases memory after each of many requests that succeed or fail', () =>
    withServer({ settings }, async (server) => {
      const large = (text: string) => text.padEnd(700 * KIB);
      const requests: readonly (readonly [string, string, string, number])[] = [
        ['PUT', '/v1/groups/g', large('{"name":"G"}'), 200],
        ['PUT', '/v1/groups/g', large('{"name":""}'), 400],
        ['PUT', '/v1/groups/g', large('{'), 400],
        ['POST', '/v1/groups', large('{"id":"g","name":"G"}'), 409],
        ['POST', '/v1/groups/g/members', large('{"add":["x"]}'), 401],
        ['POST', '/v1/batch', large('{}'), 200],
        ['POST', '/v1/batch', large('{'), 400],
        ['PUT', '/v1/presence', large('{"updates":[]}'), 400],
        ['PUT', '/v1/users/ann', '{}'.padEnd(256 * KIB), 200],
        ['PUT', '/v1/users/ann', '{}'.padEnd(256 * KIB + 1), 413],
        ['PUT', '/v1/users/ann/presence', '{"groupID":"g","location":{"p":"1"}}', 401],
        ['PUT', '/v1/users/ann/presence', '{"groupID":"g"}', 400],
        ['PUT', '/v1/users/ann/presence', '{"groupID":"g"}'.padEnd(200 * KIB), 400],
      ];
      for (let round = 0; round < 6; round += 1) {
        for (const [method, path, body, status] of requests) {
          const answer = await server.request(method, path, { body });
          assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
        }
      }
      await untilAccounted(server, 0);
    }));
});
