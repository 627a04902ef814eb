/** What ends a watch of presence: errors, a rejected token, `break` and a signal. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { until } from '../../server/test/support/waiting.ts';
import { type PresenceWatch, RollcallError } from '../src/index.ts';
import { errorBody, respond, type Script } from './support/scripted-server.ts';
import { errorEvent, SOON, stream } from './support/scripted-streams.ts';
import { uncaughtErrors } from './support/uncaught.ts';
import { arrived, SNAPSHOT, settling, take, type Watching, watching } from './support/watching.ts';

describe('the end of a watch', () => {
  const rejects = (watch: PresenceWatch, expected: Partial<RollcallError>) =>
    assert.rejects(
      async () => {
        for await (const _ of watch);
      },
      (error) => {
        assert.ok(error instanceof RollcallError);
        for (const [name, value] of Object.entries(expected)) {
          assert.equal(error[name as keyof RollcallError], value, name);
        }
        return true;
      },
    );

  test('a response with an error that is not retryable ends it', async () => {
    const script: Script = (request) => respond(request, 401, errorBody('group_not_found', 'no group g'));
    await watching(script, async ({ watch, server }) => {
      await rejects(watch, { code: 'group_not_found', status: 401, message: 'no group g' });
      assert.equal(server.received.length, 1);
      assert.deepEqual(await watch.next(), { done: true, value: undefined });
    });
  });

  test('an error event that is not retryable ends it', async () => {
    const script: Script = (request) =>
      stream(request, SNAPSHOT, errorEvent('user_not_found', 'ada is deleted'));
    await watching(script, async ({ watch, server }) => {
      await rejects(watch, { code: 'user_not_found', message: 'ada is deleted', retryable: false });
      assert.equal(server.received.length, 1);
      await until('the connection is closed', () => server.received[0]?.response.closed === true);
    });
  });

  test('an error event that is retryable does not end it', async () => {
    const script: Script = (request, index) =>
      index === 0 ? stream(request, SOON, errorEvent('error')) : stream(request, SNAPSHOT);
    await watching(script, async ({ watch }) => assert.deepEqual(await take(watch, 1), ['snapshot']));
  });

  test('a response that is not an event stream ends it with invalid_request', async () => {
    await watching(
      (request) => respond(request, 200, { users: [], pagination: { token: null } }),
      async ({ watch }) => rejects(watch, { code: 'invalid_request', status: 200 }),
    );
  });

  test('a rejected token is replaced once: when connecting, and after an error event', async () => {
    let tokens = 0;
    const token = () => `a.b.${++tokens}`;
    const within = errorEvent('expired_access_token');
    const script: Script = (request, index) => {
      const { authorization } = request.headers;
      if (index === 0)
        return respond(request, 401, errorBody('invalid_project_token'), { 'www-authenticate': 'Bearer' });
      if (index === 1) return stream(request, SNAPSHOT, within);
      if (index === 2) assert.equal(authorization, 'Bearer a.b.3');
      return index === 2 ? stream(request, arrived('e:1', 'ada'), within) : stream(request, within);
    };
    await watching(
      script,
      async ({ watch }) => {
        assert.deepEqual(await take(watch, 2), ['snapshot', 'arrived ada']);
        await rejects(watch, { code: 'expired_access_token' });
        assert.equal(tokens, 4);
      },
      { token },
    );
  });

  test('a token that ends again and again is replaced each time, also where nothing happens in between', async (context) => {
    const settle = settling(context);
    let tokens = 0;
    let opened = 0;
    const script: Script = (request, index) =>
      stream(request, index === 0 ? SNAPSHOT : index === 4 ? arrived('e:1', 'ada') : ': beat\n\n');
    await watching(
      script,
      async ({ watch, server }) => {
        const taken = take(watch, 2);
        for (const index of [0, 1, 2, 3]) {
          await until('the stream is open', () => opened > index);
          settle();
          server.received[index]?.response.write(errorEvent('invalid_project_token'));
        }
        assert.deepEqual(await taken, ['snapshot', 'arrived ada']);
        assert.equal(tokens, 5);
      },
      { token: () => `a.b.${++tokens}`, onOpen: () => (opened += 1) },
    );
  });

  test('an onOpen that throws does not end the watch', async (context) => {
    const thrown = uncaughtErrors(context);
    const broken = new Error('thrown by onOpen');
    const onOpen = () => {
      throw broken;
    };
    await watching(
      (request) => stream(request, SNAPSHOT),
      async ({ watch, server }) => {
        assert.deepEqual(await take(watch, 1), ['snapshot']);
        assert.deepEqual(thrown, [broken]);
        assert.equal(server.received.length, 1);
      },
      { onOpen },
    );
  });

  test('break in the loop closes the connection', async () => {
    await watching(
      (request) => stream(request, SNAPSHOT),
      async ({ watch, server }) => {
        for await (const _ of watch) break;
        await until('the connection is closed', () => server.received[0]?.response.closed === true);
        assert.deepEqual(await watch.next(), { done: true, value: undefined });
      },
    );
  });

  for (const [name, stop] of Object.entries({
    'return()': async ({ watch }: Watching): Promise<unknown> => watch.return(),
    'close()': async ({ rollcall }: Watching): Promise<unknown> => rollcall.close(),
  })) {
    test(`${name} ends a pending next() without an error`, async () => {
      await watching(
        (request) => stream(request, SNAPSHOT),
        async (parts) => {
          await take(parts.watch, 1);
          const next = parts.watch.next();
          await stop(parts);
          assert.deepEqual(await next, { done: true, value: undefined });
          await until('the connection is closed', () => parts.server.received[0]?.response.closed === true);
        },
      );
    });
  }

  test('a signal ends it without an error: while connected, while connecting, and between attempts', async () => {
    const scripts: Script[] = [
      (request) => stream(request, SNAPSHOT),
      () => {},
      (request) => respond(request, 503, errorBody('error'), { 'retry-after': '20' }),
    ];
    for (const script of scripts) {
      const controller = new AbortController();
      await watching(
        script,
        async ({ watch, server }) => {
          const ended = (async () => {
            for await (const _ of watch);
          })();
          await server.arrived(1);
          setImmediate(() => controller.abort());
          await ended;
        },
        { signal: controller.signal },
      );
    }
  });

  test('a signal ends it also where more events have been received', async () => {
    const controller = new AbortController();
    await watching(
      (request) => stream(request, SNAPSHOT + arrived('e:1', 'ada')),
      async ({ watch }) => {
        await take(watch, 1);
        controller.abort();
        assert.deepEqual(await watch.next(), { done: true, value: undefined });
      },
      { signal: controller.signal },
    );
  });
});
