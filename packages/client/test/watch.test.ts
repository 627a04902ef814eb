import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type PresenceEvent,
  type PresenceWatch,
  Rollcall,
  RollcallError,
  type WatchOptions,
} from '../src/index.ts';
import {
  answer,
  type Received,
  refusal,
  type Script,
  type StandIn,
  until,
  withStandIn,
} from './support/stand-in.ts';

/** A stream's event as it is written. */
const written = (id: string, type: string, data: unknown) =>
  `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
const arrived = (id: string, user: string) => written(id, 'arrived', { id: user, location: { page: 'a' } });
const SNAPSHOT = written('e:0', 'snapshot', { users: [] });

/** Opens a stream and writes this; it stays open. */
function stream({ response }: Received, ...texts: (string | Uint8Array)[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  for (const text of texts) response.write(text);
}

/** The same, and then the connection is cut. */
function cutStream(request: Received, text: string): void {
  request.response.writeHead(200, { 'content-type': 'text/event-stream' });
  request.response.write(text, () => request.response.socket?.resetAndDestroy());
}

interface Watching {
  readonly watch: PresenceWatch;
  readonly standIn: StandIn;
  readonly rollcall: Rollcall;
  /** What was tried again, and why. */
  readonly retries: { readonly error: RollcallError; readonly delayMs: number }[];
}

const watching = <Result>(
  script: Script,
  use: (watching: Watching) => Promise<Result>,
  options: Partial<WatchOptions> & { token?: () => string } = {},
) =>
  withStandIn(script, async (standIn) => {
    const { token = 't', ...watchOptions } = options;
    const rollcall = new Rollcall({ url: standIn.url, token });
    const retries: Watching['retries'] = [];
    const onRetry = (error: RollcallError, delayMs: number) => retries.push({ error, delayMs });
    const watch = rollcall.presence.watch({ groupID: 'g', onRetry, ...watchOptions });
    try {
      return await use({ watch, standIn, rollcall, retries });
    } finally {
      await rollcall.close();
    }
  });

/** The next events, shortened: `arrived ada`. */
async function take(watch: PresenceWatch, count: number): Promise<string[]> {
  const taken: string[] = [];
  while (taken.length < count) {
    const { done, value } = await watch.next();
    assert.ok(!done, `the stream ended after ${taken.join(', ')}`);
    taken.push(short(value as PresenceEvent));
  }
  return taken;
}

const short = (event: PresenceEvent) =>
  event.type === 'snapshot' ? event.type : `${event.type} ${event.id}`;

/** Quick reconnects: half of this to all of it. */
const SOON = 'retry: 4\n\n';

describe('watching presence', () => {
  test('asks for the stream with the token and the filter, and gives typed events', async () => {
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
      async ({ watch, standIn }) => {
        const got: PresenceEvent[] = [];
        for await (const event of watch) if (got.push(event) === 4) break;
        assert.deepEqual(got, [
          { type: 'snapshot', users: [{ id: 'bob', ephemeral: { locations: [] } }] },
          { type: 'arrived', id: 'ada', location: { page: 'a' }, from: { page: 'b' } },
          { type: 'departed', id: 'ada', location: { page: 'a' }, reason: 'expired' },
          { type: 'durable', id: 'ada', location: { page: 'a' }, timestamp: '2026-01-15T12:00:00.000Z' },
        ]);
        const [request] = standIn.received;
        assert.equal(request?.headers.accept, 'text/event-stream');
        assert.equal(request?.headers.authorization, 'Bearer t');
        assert.equal(request?.headers['last-event-id'], undefined);
        const query = new URL(request?.url ?? '', standIn.url).searchParams;
        assert.deepEqual(Object.fromEntries(query), {
          location: '{"page":"a"}',
          partial_match: 'true',
          exclude_durable: 'true',
        });
      },
      filter,
    );
  });

  test('connects with the first turn of the loop and not before', async () => {
    await watching(
      (request) => stream(request, SNAPSHOT),
      async ({ watch, standIn, rollcall }) => {
        await rollcall.health.alive({ timeoutMs: 5 }).catch(() => {});
        assert.equal(standIn.received.filter(({ url }) => url.includes('presence')).length, 0);
        await take(watch, 1);
      },
    );
  });

  test('passes over events of a kind that it does not know', async () => {
    await watching(
      (request) => stream(request, SNAPSHOT, written('e:1', 'renamed', {}), arrived('e:2', 'ada')),
      async ({ watch }) => assert.deepEqual(await take(watch, 2), ['snapshot', 'arrived ada']),
    );
  });

  test('reads events that are cut anywhere', async () => {
    const bytes = new TextEncoder().encode(`${SNAPSHOT}${arrived('e:1', 'zoë 🙂')}`.replaceAll('\n', '\r\n'));
    const oneByOne = async (request: Received) => {
      request.response.socket?.setNoDelay(true);
      stream(request);
      for (const byte of bytes) {
        request.response.write(Uint8Array.of(byte));
        await new Promise(setImmediate);
      }
    };
    await watching(oneByOne, async ({ watch }) =>
      assert.deepEqual(await take(watch, 2), ['snapshot', 'arrived zoë 🙂']),
    );
  });
});

describe('coming back', () => {
  test('goes on after the last event that was seen whole', async () => {
    const script: Script = (request, index) => {
      if (index === 0)
        return cutStream(request, `${SOON}${SNAPSHOT}${arrived('e:1', 'ada')}id: e:2\ndata: {"id"`);
      return stream(request, arrived('e:2', 'bob'));
    };
    await watching(script, async ({ watch, standIn, retries }) => {
      assert.deepEqual(await take(watch, 3), ['snapshot', 'arrived ada', 'arrived bob']);
      assert.equal(standIn.received[1]?.headers['last-event-id'], 'e:1');
      assert.equal(retries[0]?.error.code, 'network');
    });
  });

  test('or after a heartbeat that says how far the stream has come', async () => {
    const script: Script = (request, index) =>
      index === 0
        ? cutStream(request, `${SOON}${SNAPSHOT}:\nid: e:9\n\n`)
        : stream(request, arrived('e:10', 'ada'));
    await watching(script, async ({ watch, standIn }) => {
      assert.deepEqual(await take(watch, 2), ['snapshot', 'arrived ada']);
      assert.equal(standIn.received[1]?.headers['last-event-id'], 'e:9');
    });
  });

  test('also after an end that was not a cut, and after answers that a later one can better', async () => {
    const script: Script = (request, index) => {
      if (index === 0) return stream(request, SOON, SNAPSHOT) ?? request.response.end();
      if (index === 1) return request.response.destroy();
      if (index === 2) return answer(request, 500, refusal('error'));
      if (index === 3) return answer(request, 503, refusal('error'), { 'retry-after': '0' });
      return stream(request, arrived('e:1', 'ada'));
    };
    await watching(script, async ({ watch, standIn, retries }) => {
      assert.deepEqual(await take(watch, 2), ['snapshot', 'arrived ada']);
      assert.equal(standIn.received.length, 5);
      assert.deepEqual(
        retries.map(({ error }) => error.status),
        [0, 0, 500, 503],
      );
    });
  });

  test('waits longer each time, never less than the server asks, and short again once it works', async () => {
    const script: Script = (request, index) => {
      if (index === 0) return cutStream(request, `retry: 8\n\n${SNAPSHOT}`);
      if (index <= 4) return request.response.destroy();
      if (index === 5) return answer(request, 429, refusal('invalid_request'), { 'retry-after': '1' });
      if (index === 6) return cutStream(request, arrived('e:1', 'ada'));
      return stream(request, arrived('e:2', 'bob'));
    };
    await watching(script, async ({ watch, retries }) => {
      await take(watch, 3);
      const bounds = [8, 16, 32, 64, 128, 1_000, 8];
      assert.equal(retries.length, bounds.length);
      for (const [index, { delayMs }] of retries.entries()) {
        const most = bounds[index] as number;
        const least = index === 5 ? 1_000 : most / 2;
        assert.ok(delayMs >= least && delayMs <= most, `${index}: ${delayMs} of ${most} ms`);
      }
    });
  });

  test('after silence: heartbeats keep a connection, and without them it is dead', async () => {
    let beat: NodeJS.Timeout | undefined;
    const script: Script = (request, index) => {
      if (index > 0) return stream(request, arrived('e:1', 'ada'));
      stream(request, SOON, SNAPSHOT);
      let beats = 0;
      beat = setInterval(() => {
        beats += 1;
        if (beats <= 10) request.response.write(': beat\n\n');
      }, 20);
    };
    const opened: number[] = [];
    const onOpen = () => opened.push(performance.now());
    try {
      await watching(
        script,
        async ({ watch, retries }) => {
          assert.deepEqual(await take(watch, 2), ['snapshot', 'arrived ada']);
          const [first, second] = opened as [number, number];
          assert.ok(second - first > 200, `given up after ${second - first} ms in spite of heartbeats`);
          assert.equal(retries[0]?.error.code, 'timeout');
        },
        { deadAfterMs: 100, onOpen },
      );
    } finally {
      clearInterval(beat);
    }
  });

  test('after sleep: the time of day tells that nothing was heard for long', async (context) => {
    const script: Script = (request, index) =>
      index === 0 ? stream(request, SOON, SNAPSHOT) : stream(request, arrived('e:1', 'ada'));
    // No timer of Node's own is one of these.
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

  test('a reader who takes long for an event does not make the connection dead', async () => {
    await watching(
      (request) => stream(request, SNAPSHOT),
      async ({ watch, standIn }) => {
        await take(watch, 1);
        await new Promise((resolve) => setTimeout(resolve, 150));
        standIn.received[0]?.response.write(arrived('e:1', 'ada'));
        assert.deepEqual(await take(watch, 1), ['arrived ada']);
        assert.equal(standIn.received.length, 1);
      },
      { deadAfterMs: 100 },
    );
  });

  test('after what came in the same piece as the failure', async () => {
    const failing = `event: error\ndata: ${JSON.stringify(refusal('error'))}\n\n`;
    const script: Script = (request, index) =>
      index === 0
        ? stream(request, `${SOON}${SNAPSHOT}${arrived('e:1', 'ada')}${failing}`)
        : stream(request, arrived('e:2', 'bob'));
    await watching(script, async ({ watch, standIn }) => {
      await take(watch, 3);
      assert.equal(standIn.received[1]?.headers['last-event-id'], 'e:1');
    });
  });
});

describe('the end of a stream', () => {
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

  test('a refusal that trying again cannot help', async () => {
    const script: Script = (request) => answer(request, 401, refusal('group_not_found', 'no group g'));
    await watching(script, async ({ watch, standIn }) => {
      await rejects(watch, { code: 'group_not_found', status: 401, message: 'no group g' });
      assert.equal(standIn.received.length, 1);
      assert.deepEqual(await watch.next(), { done: true, value: undefined });
    });
  });

  test('an error within the stream', async () => {
    const script: Script = (request) =>
      stream(
        request,
        SNAPSHOT,
        `event: error\ndata: ${JSON.stringify(refusal('user_not_found', 'ada is deleted'))}\n\n`,
      );
    await watching(script, async ({ watch, standIn }) => {
      await rejects(watch, { code: 'user_not_found', message: 'ada is deleted', retryable: false });
      assert.equal(standIn.received.length, 1);
      await until(() => standIn.received[0]?.response.closed === true, 'the connection is closed');
    });
  });

  test('an error within the stream that passes is none', async () => {
    const script: Script = (request, index) =>
      index === 0
        ? stream(request, SOON, `event: error\ndata: ${JSON.stringify(refusal('error'))}\n\n`)
        : stream(request, SNAPSHOT);
    await watching(script, async ({ watch }) => assert.deepEqual(await take(watch, 1), ['snapshot']));
  });

  test('a server that answers with something else', async () => {
    await watching(
      (request) => answer(request, 200, { users: [], pagination: { token: null } }),
      async ({ watch }) => rejects(watch, { code: 'invalid_request', status: 200 }),
    );
  });

  test('a token that is refused is replaced once: when connecting, and within the stream', async () => {
    let tokens = 0;
    const token = () => `t${++tokens}`;
    const within = `event: error\ndata: ${JSON.stringify(refusal('expired_access_token'))}\n\n`;
    const script: Script = (request, index) => {
      const { authorization } = request.headers;
      if (index === 0)
        return answer(request, 401, refusal('invalid_project_token'), { 'www-authenticate': 'Bearer' });
      if (index === 1) return stream(request, SNAPSHOT, within);
      if (index === 2) assert.equal(authorization, 'Bearer t3');
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

  test('break closes the connection', async () => {
    await watching(
      (request) => stream(request, SNAPSHOT),
      async ({ watch, standIn }) => {
        for await (const _ of watch) break;
        await until(() => standIn.received[0]?.response.closed === true, 'the connection is closed');
        assert.deepEqual(await watch.next(), { done: true, value: undefined });
      },
    );
  });

  for (const [name, stop] of Object.entries({
    'return()': async ({ watch }: Watching): Promise<unknown> => watch.return(),
    'close()': async ({ rollcall }: Watching): Promise<unknown> => rollcall.close(),
  })) {
    test(`${name} ends the loop while it waits, without an error`, async () => {
      await watching(
        (request) => stream(request, SNAPSHOT),
        async (parts) => {
          await take(parts.watch, 1);
          const next = parts.watch.next();
          await stop(parts);
          assert.deepEqual(await next, { done: true, value: undefined });
          await until(() => parts.standIn.received[0]?.response.closed === true, 'the connection is closed');
        },
      );
    });
  }

  test('a signal does too: while it is connected, while it connects, and between the two', async () => {
    const scripts: Script[] = [
      (request) => stream(request, SNAPSHOT),
      () => {},
      (request) => answer(request, 503, refusal('error'), { 'retry-after': '20' }),
    ];
    for (const script of scripts) {
      const controller = new AbortController();
      await watching(
        script,
        async ({ watch, standIn }) => {
          const ended = (async () => {
            for await (const _ of watch);
          })();
          await standIn.arrived(1);
          setImmediate(() => controller.abort());
          await ended;
        },
        { signal: controller.signal },
      );
    }
  });
});
