import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, test } from 'node:test';
import { ERRORS } from '@rollcall/protocol';
import { Rollcall, RollcallError } from '../src/index.ts';
import {
  answer,
  DONE,
  type Received,
  refusal,
  type Script,
  type StandIn,
  withStandIn,
} from './support/stand-in.ts';

/** A client of the stand-in, closed afterwards. */
const withClient = <Result>(
  script: Script,
  use: (rollcall: Rollcall, standIn: StandIn) => Promise<Result>,
  options: Partial<ConstructorParameters<typeof Rollcall>[0]> = {},
) =>
  withStandIn(script, async (standIn) => {
    const rollcall = new Rollcall({ url: standIn.url, token: 't', ...options });
    try {
      return await use(rollcall, standIn);
    } finally {
      await rollcall.close();
    }
  });

const failure = async (promise: Promise<unknown>): Promise<RollcallError> => {
  const error = await promise.then(
    () => assert.fail('it succeeded'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof RollcallError, String(error));
  return error;
};

/** Fails so often, then answers. */
const failsFirst =
  (times: number, fail: (request: Received) => void): Script =>
  (request, index) =>
    index < times ? fail(request) : answer(request, 200, DONE);

const isOf = (error: RollcallError, expected: Partial<RollcallError>) => {
  for (const [name, value] of Object.entries(expected)) {
    assert.deepEqual(error[name as keyof RollcallError], value, name);
  }
};

describe('what is sent', () => {
  test('a token, JSON, and IDs that hold anything', async () => {
    await withClient(
      (request) => answer(request, 200, DONE),
      async (rollcall, { received }) => {
        await rollcall.users.put('a/b?c#d é🙂%', { name: 'A' });
        const [sent] = received;
        assert.equal(sent?.url, '/v1/users/a%2Fb%3Fc%23d%20%C3%A9%F0%9F%99%82%25');
        assert.equal(sent?.headers.authorization, 'Bearer t');
        assert.equal(sent?.headers['content-type'], 'application/json');
        assert.equal(sent?.body, '{"name":"A"}');
      },
    );
  });

  test('below the path of the URL, with or without a slash at its end', async () => {
    for (const path of ['/rollcall', '/rollcall/', '/a/b//']) {
      await withStandIn(
        (request) => answer(request, 200, []),
        async ({ url, received }) => {
          await new Rollcall({ url: url + path, token: 't' }).projects.list();
          assert.equal(received[0]?.url, `${path.replace(/\/+$/, '')}/v1/projects`);
        },
      );
    }
  });

  test('nothing for an ID that every fetch would take for another path', async () => {
    await withClient(
      (request) => answer(request, 200, DONE),
      async (rollcall, { received }) => {
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
      },
    );
  });
});

describe('errors', () => {
  test('retryable is what the table of the protocol says', async () => {
    for (const [code, { status, retryable }] of Object.entries(ERRORS)) {
      await withClient(
        (request) => answer(request, status, refusal(code, 'why')),
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

  test('what a gateway answers is an error too', async () => {
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

  test('an answer that is cut off, and a server that is not there, are "network"', async () => {
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

  test('a URL that is none is told at once', () => {
    assert.throws(() => new Rollcall({ url: 'localhost', token: 't' }), TypeError);
  });
});

describe('second attempts', () => {
  const cut = ({ response }: Received) => response.destroy();
  const failing = (request: Received) => answer(request, 500, refusal('error'));

  for (const [name, fail] of Object.entries({ cut, failing })) {
    test(`what may be repeated is, when it is ${name}`, async () => {
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

    test(`what may not is not, when it is ${name}`, async () => {
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

  test('there are two of them, or as many as are asked for', async () => {
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

  test('a refusal is not sent again', async () => {
    await withClient(
      (request) => answer(request, 401, refusal('user_not_found')),
      async (rollcall, { received }) => {
        await failure(rollcall.users.get('ada'));
        assert.equal(received.length, 1);
      },
    );
  });

  test('Retry-After is waited for; one that asks for too much is told', async () => {
    const busy = (seconds: string) => (request: Received) =>
      answer(request, 429, refusal('invalid_request'), { 'retry-after': seconds });
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

describe('timeouts and aborts', () => {
  const silent = () => {};
  const slowBody = ({ response }: Received) => void response.writeHead(200).write('{"id":');

  test('silence ends in "timeout", also in the middle of a body', async () => {
    for (const script of [silent, slowBody]) {
      await withClient(script, async (rollcall) => {
        const error = await failure(rollcall.users.get('ada', { timeoutMs: 50, retries: 0 }));
        isOf(error, { code: 'timeout', status: 0, retryable: true });
      });
    }
  });

  test('a signal ends it with "aborted": before, during, and while it waits for the next attempt', async () => {
    const reason = new Error('enough');
    await withClient(silent, async (rollcall, standIn) => {
      isOf(await failure(rollcall.users.get('ada', { signal: AbortSignal.abort(reason) })), {
        code: 'aborted',
        retryable: false,
        cause: reason,
      });
      assert.equal(standIn.received.length, 0);
      const controller = new AbortController();
      const pending = failure(rollcall.users.get('ada', { signal: controller.signal }));
      await standIn.arrived(1);
      controller.abort(reason);
      isOf(await pending, { code: 'aborted', cause: reason });
    });
    const busy = (request: Received) => answer(request, 503, refusal('error'), { 'retry-after': '20' });
    await withClient(busy, async (rollcall, standIn) => {
      const controller = new AbortController();
      const pending = failure(rollcall.users.get('ada', { signal: controller.signal }));
      await standIn.arrived(1);
      setImmediate(() => controller.abort());
      isOf(await pending, { code: 'aborted' });
    });
  });

  test('one signal for many requests is not held on to', async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    signal.addEventListener = () => {
      listeners += 1;
    };
    signal.removeEventListener = () => {
      listeners -= 1;
    };
    await withClient(
      (request) => answer(request, 200, DONE),
      async (rollcall) => {
        for (let count = 0; count < 5; count += 1) await rollcall.users.get('ada', { signal });
        assert.equal(listeners, 0);
      },
    );
  });

  test('close() ends what is under way', async () => {
    await withClient(silent, async (rollcall, standIn) => {
      const pending = failure(rollcall.users.get('ada'));
      await standIn.arrived(1);
      await rollcall.close();
      isOf(await pending, { code: 'aborted' });
      isOf(await failure(rollcall.users.get('ada')), { code: 'aborted' });
    });
  });
});

describe('tokens', () => {
  const CHALLENGE = { 'www-authenticate': 'Bearer' };
  /** Takes one token only. */
  const takes =
    (good: string): Script =>
    (request) =>
      request.headers.authorization === `Bearer ${good}`
        ? answer(request, 200, DONE)
        : answer(request, 401, refusal('invalid_project_token'), CHALLENGE);

  /** Gives `t1`, `t2`, … */
  const counter = () => {
    let count = 0;
    return Object.assign(async () => `t${++count}`, { asked: () => count });
  };

  test('a function is asked once for many requests', async () => {
    const token = counter();
    await withClient(
      takes('t1'),
      async (rollcall) => {
        await Promise.all([rollcall.users.get('a'), rollcall.users.get('b')]);
        await rollcall.users.get('c');
        assert.equal(token.asked(), 1);
      },
      { token },
    );
  });

  test('it is asked again, once for all who need it, when the server refuses the token', async () => {
    const token = counter();
    await withClient(
      takes('t2'),
      async (rollcall) => {
        await Promise.all(['a', 'b', 'c'].map((id) => rollcall.users.create({ id })));
        assert.equal(token.asked(), 2);
      },
      { token },
    );
  });

  test('a second refusal is told', async () => {
    const token = counter();
    await withClient(
      takes('another'),
      async (rollcall, { received }) => {
        isOf(await failure(rollcall.users.get('ada')), { code: 'invalid_project_token', status: 401 });
        assert.equal(token.asked(), 2);
        assert.equal(received.length, 2);
      },
      { token },
    );
  });

  test('not when something is not found: that 401 has no WWW-Authenticate', async () => {
    const token = counter();
    const script: Script = (request) => answer(request, 401, refusal('project_not_found'));
    await withClient(script, async (rollcall) => void (await failure(rollcall.users.get('ada'))), { token });
    assert.equal(token.asked(), 1);
  });

  test('project_not_found with WWW-Authenticate is about the token', async () => {
    const token = counter();
    const script: Script = (request) => answer(request, 401, refusal('project_not_found'), CHALLENGE);
    await withClient(script, async (rollcall) => void (await failure(rollcall.users.get('ada'))), { token });
    assert.equal(token.asked(), 2);
  });

  test('a token that is a text is refused at once', async () => {
    await withClient(takes('another'), async (rollcall, { received }) => {
      isOf(await failure(rollcall.users.get('ada')), { code: 'invalid_project_token' });
      assert.equal(received.length, 1);
    });
  });

  test('a function that fails, or never comes back, fails the request, and is asked anew by the next', async () => {
    let times = 0;
    const token = () => {
      times += 1;
      if (times === 1) throw new Error('not logged in');
      return times === 2 ? new Promise<string>(() => {}) : 't3';
    };
    await withClient(
      takes('t3'),
      async (rollcall) => {
        const error = await failure(rollcall.users.get('ada', { retries: 0 }));
        isOf(error, { code: 'network', retryable: true });
        assert.match(error.message, /not logged in/);
        isOf(await failure(rollcall.users.get('ada', { retries: 0 })), { code: 'timeout' });
        await rollcall.users.get('ada');
      },
      { token, timeoutMs: 50 },
    );
  });
});
