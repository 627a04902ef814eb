/** A watch of presence: its events, and its connection that is lost and resumed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { until } from '../../server/test/support/waiting.ts';
import type { PresenceEvent } from '../src/index.ts';
import { errorBody, type Received, respond, type Script } from './support/scripted-server.ts';
import { cutStream, errorEvent, SOON, stream, written } from './support/scripted-streams.ts';
import { arrived, SNAPSHOT, settling, take, watching } from './support/watching.ts';

describe('watching presence', () => {
  test('a watch requests the stream with its token and filter, and yields typed events', async () => {
    const events = [
      written('e:0', 'snapshot', { users: [{ id: 'bob', ephemeral: { locations: [] } }] }),
      written('e:1', 'arrived', { id: 'ada', location: { page: 'a' }, from: { page: 'b' } }),
      written('e:2', 'departed', { id: 'ada', location: { page: 'a' }, reason: 'expired' }),
      written('e:3', 'durable', {
        id: 'ada',
        location: { page: 'a' },
        timestamp: '2026-01-15T12:00:00.000Z',
      }),
    ];
    const filter = { location: { page: 'a' }, partialMatch: true, excludeDurable: true };
    await watching(
      (request) => stream(request, ...events),
      async ({ watch, server }) => {
        const got: PresenceEvent[] = [];
        for await (const event of watch) if (got.push(event) === 4) break;
        assert.deepEqual(got, [
          { type: 'snapshot', users: [{ id: 'bob', ephemeral: { locations: [] } }] },
          { type: 'arrived', id: 'ada', location: { page: 'a' }, from: { page: 'b' } },
          { type: 'departed', id: 'ada', location: { page: 'a' }, reason: 'expired' },
          { type: 'durable', id: 'ada', location: { page: 'a' }, timestamp: '2026-01-15T12:00:00.000Z' },
        ]);
        const [request] = server.received;
        assert.equal(request?.headers.accept, 'text/event-stream');
        assert.equal(request?.headers.authorization, 'Bearer a.b.c');
        assert.equal(request?.headers['last-event-id'], undefined);
        const query = new URL(request?.url ?? '', server.url).searchParams;
        assert.deepEqual(Object.fromEntries(query), {
          location: '{"page":"a"}',
          partial_match: 'true',
          exclude_durable: 'true',
        });
      },
      filter,
    );
  });

  test('a watch connects with its first next() and not before', async () => {
    await watching(
      (request) => stream(request, SNAPSHOT),
      async ({ watch, server, rollcall }) => {
        await rollcall.health.alive({ timeoutMs: 5 }).catch(() => {});
        assert.equal(server.received.filter(({ url }) => url.includes('presence')).length, 0);
        await take(watch, 1);
      },
    );
  });

  for (const status of [200, 400, 401, 403, 404]) {
    test(`a page of a proxy with status ${status} is a lost connection, and the watch connects again`, async () => {
      const html: Script = ({ response }) =>
        response.writeHead(status, { 'content-type': 'text/html' }).end('<p>');
      await watching(
        (request, index) => (index === 0 ? html(request, index) : stream(request, SNAPSHOT)),
        async ({ watch, rollcall, retries }) => {
          const states: string[] = [];
          rollcall.status.subscribe(() => states.push(rollcall.status.get().state));
          assert.deepEqual(await take(watch, 1), ['snapshot']);
          assert.deepEqual(states.slice(0, 2), ['reconnecting', 'open']);
          assert.equal(retries[0]?.error.code, status === 200 ? 'network' : 'error');
        },
      );
    });
  }

  test('events of an unknown type are ignored', async () => {
    await watching(
      (request) => stream(request, SNAPSHOT, written('e:1', 'renamed', {}), arrived('e:2', 'ada')),
      async ({ watch }) => assert.deepEqual(await take(watch, 2), ['snapshot', 'arrived ada']),
    );
  });

  test('events are read from chunks that end anywhere', async () => {
    const bytes = new TextEncoder().encode(`${SNAPSHOT}${arrived('e:1', 'zoë 🙂')}`.replaceAll('\n', '\r\n'));
    const byteByByte = async (request: Received) => {
      request.response.socket?.setNoDelay(true);
      stream(request);
      for (const byte of bytes) {
        request.response.write(Uint8Array.of(byte));
        await new Promise(setImmediate);
      }
    };
    await watching(byteByByte, async ({ watch }) =>
      assert.deepEqual(await take(watch, 2), ['snapshot', 'arrived zoë 🙂']),
    );
  });
});

describe('a watch that lost its connection', () => {
  test('a watch resumes after the last complete event, with Last-Event-ID', async () => {
    const script: Script = (request, index) => {
      if (index === 0)
        return cutStream(request, `${SOON}${SNAPSHOT}${arrived('e:1', 'ada')}id: e:2\ndata: {"id"`);
      return stream(request, arrived('e:2', 'bob'));
    };
    await watching(script, async ({ watch, server, retries }) => {
      assert.deepEqual(await take(watch, 3), ['snapshot', 'arrived ada', 'arrived bob']);
      assert.equal(server.received[1]?.headers['last-event-id'], 'e:1');
      assert.equal(retries[0]?.error.code, 'network');
    });
  });

  test('a watch resumes after the ID of a heartbeat', async () => {
    const script: Script = (request, index) =>
      index === 0
        ? cutStream(request, `${SOON}${SNAPSHOT}:\nid: e:9\n\n`)
        : stream(request, arrived('e:10', 'ada'));
    await watching(script, async ({ watch, server }) => {
      assert.deepEqual(await take(watch, 2), ['snapshot', 'arrived ada']);
      assert.equal(server.received[1]?.headers['last-event-id'], 'e:9');
    });
  });

  test('a watch reconnects after the end of the response, after network errors and after retryable statuses', async () => {
    const script: Script = (request, index) => {
      if (index === 0) return stream(request, SOON, SNAPSHOT) ?? request.response.end();
      if (index === 1) return request.response.destroy();
      if (index === 2) return respond(request, 500, errorBody('error'));
      if (index === 3) return respond(request, 503, errorBody('error'), { 'retry-after': '0' });
      if (index === 4) return respond(request, 404, null);
      return stream(request, arrived('e:1', 'ada'));
    };
    await watching(script, async ({ watch, server, retries }) => {
      assert.deepEqual(await take(watch, 2), ['snapshot', 'arrived ada']);
      assert.equal(server.received.length, 6);
      assert.deepEqual(
        retries.map(({ error }) => error.status),
        [0, 0, 500, 503, 404],
      );
    });
  });

  test('a watch waits longer after each failure, never less than Retry-After, and briefly again after an event', async () => {
    const script: Script = (request, index) => {
      if (index === 0) return cutStream(request, `retry: 8\n\n${SNAPSHOT}`);
      if (index <= 4) return request.response.destroy();
      if (index === 5) return respond(request, 429, errorBody('invalid_request'), { 'retry-after': '1' });
      if (index === 6) return cutStream(request, arrived('e:1', 'ada'));
      return stream(request, arrived('e:2', 'bob'));
    };
    await watching(script, async ({ watch, retries }) => {
      await take(watch, 3);
      const bounds = [8, 16, 32, 64, 128, 1_000, 8];
      assert.equal(retries.length, bounds.length);
      for (const [index, { delayMs }] of retries.entries()) {
        const max = bounds[index] as number;
        const min = index === 5 ? 1_000 : max / 2;
        assert.ok(delayMs >= min && delayMs <= max, `${index}: ${delayMs} of ${max} ms`);
      }
    });
  });

  test('a watch whose connection was open for a while waits briefly, also where nothing happens for several of them', async (context) => {
    const settle = settling(context);
    let opened = 0;
    const script: Script = (request, index) =>
      stream(
        request,
        'retry: 8\n\n',
        index === 0 ? SNAPSHOT : index === 5 ? arrived('e:1', 'ada') : ': beat\n\n',
      );
    await watching(
      script,
      async ({ watch, server, retries }) => {
        const taken = take(watch, 2);
        for (const index of [0, 1, 2, 3, 4]) {
          await until('the stream is open', () => opened > index);
          settle();
          server.received[index]?.response.destroy();
        }
        await taken;
        assert.equal(retries.length, 5);
        for (const { delayMs } of retries) assert.ok(delayMs <= 8, `${delayMs} ms`);
      },
      { onOpen: () => (opened += 1) },
    );
  });

  test('a watch stays connected while heartbeats arrive, and reconnects when none arrives for deadAfterMs', async (context) => {
    let streams = 0;
    const script: Script = (request) => {
      if (!request.url.includes('presence')) return respond(request, 200, { status: 'ok' });
      streams += 1;
      return streams === 1 ? stream(request, SOON, SNAPSHOT) : stream(request, arrived('e:1', 'ada'));
    };
    // Node itself uses neither of the two.
    context.mock.timers.enable({ apis: ['setInterval', 'Date'] });
    await watching(script, async ({ watch, server, rollcall, retries }) => {
      await take(watch, 1);
      const next = take(watch, 1);
      for (let beats = 0; beats < 5; beats += 1) {
        await new Promise(setImmediate);
        context.mock.timers.tick(30_000);
        server.received[0]?.response.write(': beat\n\n');
        // The heartbeat is read before the answers to later requests.
        for (let count = 0; count < 2; count += 1) await rollcall.health.alive();
      }
      assert.equal(retries.length, 0);
      context.mock.timers.tick(60_000);
      assert.deepEqual(await next, ['arrived ada']);
      assert.equal(retries[0]?.error.code, 'timeout');
    });
  });

  test('a watch reconnects after the machine slept, by the time of day', async (context) => {
    const script: Script = (request, index) =>
      index === 0 ? stream(request, SOON, SNAPSHOT) : stream(request, arrived('e:1', 'ada'));
    // Node itself uses neither of the two.
    context.mock.timers.enable({ apis: ['setInterval', 'Date'] });
    await watching(script, async ({ watch, retries }) => {
      await take(watch, 1);
      const next = take(watch, 1);
      await new Promise(setImmediate);
      context.mock.timers.tick(40_000);
      assert.equal(retries.length, 0);
      context.mock.timers.setTime(Date.now() + 3_600_000);
      context.mock.timers.tick(5_000);
      assert.deepEqual(await next, ['arrived ada']);
      assert.equal(retries[0]?.error.code, 'timeout');
    });
  });

  test('a watch stays connected while the consumer handles an event for longer than deadAfterMs', async (context) => {
    context.mock.timers.enable({ apis: ['setInterval', 'Date'] });
    await watching(
      (request) => stream(request, SNAPSHOT),
      async ({ watch, server }) => {
        await take(watch, 1);
        context.mock.timers.tick(3_600_000);
        server.received[0]?.response.write(arrived('e:1', 'ada'));
        assert.deepEqual(await take(watch, 1), ['arrived ada']);
        assert.equal(server.received.length, 1);
      },
    );
  });

  test('a watch yields the events before an error in the same chunk, and resumes after them', async () => {
    const script: Script = (request, index) =>
      index === 0
        ? stream(request, `${SOON}${SNAPSHOT}${arrived('e:1', 'ada')}${errorEvent('error')}`)
        : stream(request, arrived('e:2', 'bob'));
    await watching(script, async ({ watch, server }) => {
      await take(watch, 3);
      assert.equal(server.received[1]?.headers['last-event-id'], 'e:1');
    });
  });
});
