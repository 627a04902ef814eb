/** Requests of the client: what is sent, errors, retries, timeouts and aborts. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, test } from 'node:test';
import { ERRORS } from '@rollcall/protocol';
import { Rollcall, type RollcallError } from '../src/index.ts';
import { failure, isOf } from './support/failure.ts';
import {
  DONE,
  errorBody,
  type Received,
  respond,
  respondDone,
  type Script,
  withScriptedClient as withClient,
  withScriptedServer,
} from './support/scripted-server.ts';

/** Fails the first requests. */
const failsFirst =
  (times: number, fail: (request: Received) => void): Script =>
  (request, index) =>
    index < times ? fail(request) : respond(request, 200, DONE);

describe('a request', () => {
  test('a request has the token, a JSON body, and percent-encoded IDs', async () => {
    await withClient(respondDone, async (rollcall, { received }) => {
      await rollcall.users.put('a/b?c#d é🙂%', { name: 'A' });
      const [sent] = received;
      assert.equal(sent?.url, '/v1/users/a%2Fb%3Fc%23d%20%C3%A9%F0%9F%99%82%25');
      assert.equal(sent?.headers.authorization, 'Bearer t');
      assert.equal(sent?.headers['content-type'], 'application/json');
      assert.equal(sent?.body, '{"name":"A"}');
    });
  });

  test('a request goes to the path of the URL, with or without a trailing slash', async () => {
    for (const path of ['/rollcall', '/rollcall/', '/a/b//']) {
      await withScriptedServer(
        (request) => respond(request, 200, []),
        async ({ url, received }) => {
          await new Rollcall({ url: url + path, token: 't' }).projects.list();
          assert.equal(received[0]?.url, `${path.replace(/\/+$/, '')}/v1/projects`);
        },
      );
    }
  });

  test('an ID that cannot be part of a URL is rejected with invalid_field before anything is sent', async () => {
    await withClient(respondDone, async (rollcall, { received }) => {
      for (const id of ['.', '..', '', 'half a \ud800 pair']) {
        const attempts = [
          rollcall.users.delete(id),
          rollcall.groups.members(id).toArray(),
          rollcall.presence.put(id, { groupID: 'g', location: { a: 'b' } }),
          rollcall.presence.watch({ groupID: id }).next(),
        ];
        for (const attempt of attempts) isOf(await failure(attempt), { code: 'invalid_field', status: 0 });
        const announced = rollcall.presence.announce({ userID: id, groupID: 'g', location: { a: 'b' } });
        isOf((await announced.ended) as RollcallError, { code: 'invalid_field' });
      }
      assert.equal(received.length, 0);
    });
  });
});

describe('errors', () => {
  test('an error is retryable where the error table has it as retryable', async () => {
    for (const [code, { status, retryable }] of Object.entries(ERRORS)) {
      await withClient(
        (request) => respond(request, status, errorBody(code, 'why')),
        async (rollcall) => {
          const error = await failure(rollcall.users.get('ada', { retries: 0 }));
          isOf(error, {
            code: code as RollcallError['code'],
            status,
            retryable,
            message: 'why',
            requestId: 'req-1',
          });
        },
      );
    }
  });

  test('a response of a gateway, and one that is not JSON, are errors', async () => {
    const html = ({ response }: Received) => response.writeHead(502).end('<h1>Bad gateway</h1>');
    await withClient(html, async (rollcall) => {
      const error = await failure(rollcall.users.get('ada', { retries: 0 }));
      isOf(error, { code: 'error', status: 502, retryable: true, requestId: null });
    });
    await withClient(
      ({ response }) => response.end('<h1>Welcome to the hotel</h1>'),
      async (rollcall) => isOf(await failure(rollcall.users.get('ada')), { code: 'network' }),
    );
  });

  test('a 404 without an error code is of a gateway that knows no server now, and is retryable', async () => {
    const texts = ['404 page not found\n', '', '{"message":"no Route matched with those values"}'];
    for (const text of texts)
      await withClient(
        ({ response }) => response.writeHead(404).end(text),
        async (rollcall) => {
          const error = await failure(rollcall.users.get('ada', { retries: 0 }));
          isOf(error, { code: 'error', status: 404, retryable: true, requestId: null });
        },
      );
    const own = errorBody('invalid_request', 'there is no /v2 in this API');
    await withClient(
      (request) => respond(request, 404, own),
      async (rollcall) =>
        isOf(await failure(rollcall.users.get('ada')), { code: 'invalid_request', retryable: false }),
    );
  });

  test('an error that is not one of the server is of a gateway, and is retryable, but not where the request is too large', async () => {
    const texts = [
      '<h1>Forbidden</h1>',
      '{"message":"Forbidden"}',
      // As those of Spring, of an OAuth proxy, and of a server that has no codes.
      '{"status":403,"error":"Forbidden","message":"Access Denied"}',
      '{"error":"invalid_token","error_description":"The token was not accepted"}',
      '{"error":true,"message":"Forbidden"}',
    ];
    for (const status of [400, 401, 403, 413, 414, 431])
      for (const text of texts)
        await withClient(
          ({ response }) => response.writeHead(status).end(text),
          async (rollcall) => {
            const error = await failure(rollcall.users.get('ada', { retries: 0 }));
            const isPassing = status < 410;
            isOf(error, { code: isPassing ? 'error' : 'invalid_request', status, retryable: isPassing });
          },
        );
  });

  test('ifMatch is sent as the server made it, also where a proxy that compresses has made the ETag weak', async () => {
    const script = (request: Received) =>
      respond(request, 200, { id: 'g' }, request.method === 'GET' ? { etag: 'W/"1-a"' } : {});
    await withClient(script, async (rollcall, { received }) => {
      const { etag } = await rollcall.groups.getTagged('g');
      await rollcall.groups.getIfChanged('g', etag);
      await rollcall.groups.put('g', { name: 'G' }, { ifMatch: etag });
      await rollcall.groups.delete('g', { ifMatch: '*' });
      const [, read, write, removal] = received;
      assert.equal(read?.headers['if-none-match'], 'W/"1-a"');
      assert.equal(write?.headers['if-match'], '"1-a"');
      assert.equal(removal?.headers['if-match'], '*');
    });
  });

  test('an incomplete response and a closed port have the code network', async () => {
    const cut = ({ response }: Received) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"id"');
      setImmediate(() => response.destroy());
    };
    await withClient(cut, async (rollcall) => {
      const error = await failure(rollcall.users.get('ada', { retries: 0 }));
      isOf(error, { code: 'network', status: 0, retryable: true });
    });
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    await new Promise((resolve) => taken.close(resolve));
    const rollcall = new Rollcall({ url: `http://127.0.0.1:${port}`, token: 't' });
    const error = await failure(rollcall.users.get('ada', { retries: 0 }));
    isOf(error, { code: 'network', retryable: true });
    assert.match(error.message, /ECONNREFUSED/);
  });

  test('an invalid URL throws a TypeError at once', () => {
    assert.throws(() => new Rollcall({ url: 'localhost', token: 't' }), TypeError);
  });
});

describe('retries', () => {
  const cut = ({ response }: Received) => response.destroy();
  const failing = (request: Received) => respond(request, 500, errorBody('error'));

  for (const [name, fail] of Object.entries({ cut, failing })) {
    test(`a repeatable request is retried when it is ${name}`, async () => {
      const calls: ((rollcall: Rollcall) => Promise<unknown>)[] = [
        (rollcall) => rollcall.groups.get('g'),
        (rollcall) => rollcall.groups.put('g', { name: 'G' }),
        (rollcall) => rollcall.groups.delete('g'),
        (rollcall) => rollcall.groups.changeMembers('g', { add: ['ada'] }),
        (rollcall) => rollcall.batch({ users: [{ id: 'ada' }] }),
        (rollcall) => rollcall.users.getIfChanged('ada', '"1"'),
      ];
      for (const call of calls) {
        await withClient(failsFirst(1, fail), async (rollcall, { received }) => {
          await call(rollcall);
          assert.equal(received.length, 2);
          assert.equal(received[0]?.body, received[1]?.body);
        });
      }
    });

    test(`a request that creates or has a precondition is not retried when it is ${name}`, async () => {
      const calls: ((rollcall: Rollcall) => Promise<unknown>)[] = [
        (rollcall) => rollcall.groups.create({ id: 'g', name: 'G' }),
        (rollcall) => rollcall.users.create({ id: 'ada' }),
        (rollcall) => rollcall.projects.create({ name: 'P' }),
        (rollcall) => rollcall.projects.rotateSecret('p'),
        (rollcall) => rollcall.tokens.authorize('a.b.c'),
        (rollcall) => rollcall.groups.put('g', { name: 'G' }, { ifMatch: '"1"' }),
        (rollcall) => rollcall.users.put('ada', {}, { ifNoneMatch: '*' }),
        (rollcall) => rollcall.users.delete('ada', { ifMatch: '"1"' }),
        (rollcall) => rollcall.groups.changeMembers('g', {}, { ifMatch: '"1"' }),
        (rollcall) => rollcall.health.ready(),
      ];
      for (const call of calls) {
        await withClient(failsFirst(1, fail), async (rollcall, { received }) => {
          isOf(await failure(call(rollcall)), { retryable: true });
          assert.equal(received.length, 1);
        });
      }
    });
  }

  test('a request is retried twice, or as many times as the option retries', async () => {
    for (const [retries, attempts] of [
      [undefined, 3],
      [0, 1],
      [1, 2],
    ]) {
      await withClient(failing, async (rollcall, { received }) => {
        await failure(rollcall.users.get('ada', { retries }));
        assert.equal(received.length, attempts);
      });
    }
  });

  test('a request is not retried after an error that is not retryable', async () => {
    await withClient(
      (request) => respond(request, 401, errorBody('user_not_found')),
      async (rollcall, { received }) => {
        await failure(rollcall.users.get('ada'));
        assert.equal(received.length, 1);
      },
    );
  });

  test('a retry waits for Retry-After; a too long one rejects with retryAfterMs', async () => {
    const busy = (seconds: string) => (request: Received) =>
      respond(request, 429, errorBody('invalid_request'), { 'retry-after': seconds });
    await withClient(failsFirst(1, busy('1')), async (rollcall, { received }) => {
      await rollcall.users.get('ada');
      const [first, second] = received as [Received, Received];
      assert.ok(second.at - first.at >= 990, `${second.at - first.at} ms`);
    });
    await withClient(busy('3600'), async (rollcall, { received }) => {
      const error = await failure(rollcall.users.get('ada'));
      isOf(error, { code: 'invalid_request', status: 429, retryable: true, retryAfterMs: 3_600_000 });
      assert.equal(received.length, 1);
    });
  });
});

test('retryAfterMs of an error is that of the seconds of Retry-After, a fraction included, or the time from Date to Retry-After', async () => {
  const date = 'Thu, 01 Jan 2026 10:00:00 GMT';
  for (const [retryAfter, retryAfterMs] of [
    ['0', 0],
    ['2', 2_000],
    ['1.5', 1_500],
    ['99999999999999999999', 86_400_000],
    ['soon', undefined],
    ['Thu, 01 Jan 2026 10:00:07 GMT', 7_000],
  ] as const) {
    const busy: Script = (request) =>
      respond(request, 429, errorBody('invalid_request'), { date, 'retry-after': retryAfter });
    await withClient(busy, async (rollcall) => {
      isOf(await failure(rollcall.users.get('ada', { retries: 0 })), { status: 429, retryAfterMs });
    });
  }
});

describe('timeouts and aborts', () => {
  const silent = () => {};
  const slowBody = ({ response }: Received) => void response.writeHead(200).write('{"id":');

  test('a request without a response rejects with timeout, also in the middle of a body', async () => {
    for (const script of [silent, slowBody]) {
      await withClient(script, async (rollcall) => {
        const error = await failure(rollcall.users.get('ada', { timeoutMs: 50, retries: 0 }));
        isOf(error, { code: 'timeout', status: 0, retryable: true });
      });
    }
  });

  test('a timeoutMs that is longer than any timer is no limit, as Infinity is none', async () => {
    const delayed: Script = (request) => void setTimeout(() => respond(request, 200, DONE), 20);
    for (const timeoutMs of [2 ** 31, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY])
      await withClient(delayed, (rollcall) => rollcall.users.get('ada', { timeoutMs, retries: 0 }));
  });

  test('a signal rejects with aborted: before, during, and between attempts', async () => {
    const reason = new Error('enough');
    await withClient(silent, async (rollcall, server) => {
      isOf(await failure(rollcall.users.get('ada', { signal: AbortSignal.abort(reason) })), {
        code: 'aborted',
        retryable: false,
        cause: reason,
      });
      assert.equal(server.received.length, 0);
      const controller = new AbortController();
      const pending = failure(rollcall.users.get('ada', { signal: controller.signal }));
      await server.arrived(1);
      controller.abort(reason);
      isOf(await pending, { code: 'aborted', cause: reason });
    });
    const busy = (request: Received) => respond(request, 503, errorBody('error'), { 'retry-after': '20' });
    await withClient(busy, async (rollcall, server) => {
      const controller = new AbortController();
      const pending = failure(rollcall.users.get('ada', { signal: controller.signal }));
      await server.arrived(1);
      setImmediate(() => controller.abort());
      isOf(await pending, { code: 'aborted' });
    });
  });

  test('a finished request leaves no listener on its signal', async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    signal.addEventListener = () => {
      listeners += 1;
    };
    signal.removeEventListener = () => {
      listeners -= 1;
    };
    await withClient(respondDone, async (rollcall) => {
      for (let count = 0; count < 5; count += 1) await rollcall.users.get('ada', { signal });
      assert.equal(listeners, 0);
    });
  });

  test('close() rejects pending requests with aborted', async () => {
    await withClient(silent, async (rollcall, server) => {
      const pending = failure(rollcall.users.get('ada'));
      await server.arrived(1);
      await rollcall.close();
      isOf(await pending, { code: 'aborted' });
      isOf(await failure(rollcall.users.get('ada')), { code: 'aborted' });
    });
  });
});
