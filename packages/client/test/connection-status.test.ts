/** The status of a client through every transition, with its reason. */
import assert from 'node:assert/strict';
import type { OutgoingHttpHeaders, RequestListener } from 'node:http';
import type { Duplex } from 'node:stream';
import { describe, type TestContext, test } from 'node:test';
import { until } from '../../server/test/support/waiting.ts';
import type { RollcallClient } from '../src/index.ts';
import { errorBody } from './support/scripted-server.ts';
import { accept, type SocketScript, withScriptedSocket } from './support/scripted-socket.ts';
import { errorEvent, written } from './support/scripted-streams.ts';
import { uncaughtErrors } from './support/uncaught.ts';

/** The status, body and headers of a response; a successful one is a stream that stays open. */
type Answer = readonly [status: number, body: string, headers: OutgoingHttpHeaders];

const IDLE_MS = 1_000;
const ANSWER_TIMEOUT_MS = 10_000;
/** Where no socket can be opened, HTTP is used for so long before the next attempt. */
const HTTP_MS = 300_000;
const LOCATION = { page: 'a' };
const short = ({ status }: RollcallClient) => {
  const { state, reason } = status.get();
  return reason === null ? state : `${state} ${reason.code}`;
};

/** All states from now on, each once in a row. */
function statesOf(client: RollcallClient): string[] {
  const states = [short(client)];
  client.status.subscribe(() => {
    if (states.at(-1) !== short(client)) states.push(short(client));
  });
  return states;
}

/** Makes this process a page until the test ends: dispatch its events here. */
function pageEvents(context: TestContext): EventTarget {
  const page = globalThis as unknown as Record<string, unknown>;
  const events = new EventTarget();
  page.addEventListener = events.addEventListener.bind(events);
  page.removeEventListener = events.removeEventListener.bind(events);
  context.after(() => {
    delete page.addEventListener;
    delete page.removeEventListener;
  });
  return events;
}

/** Closes the first socket once it has a watch. */
const closing =
  (code: number, reason = ''): SocketScript =>
  (frame, index) => {
    if (frame.op !== 'watch' || index > 0) return true;
    accept(frame);
    frame.ws.close(code, reason);
    return false;
  };

describe('the status of a client', () => {
  for (const [when, idleMs] of [
    ['at once', 0],
    ['later', IDLE_MS],
  ] as const) {
    test(`a client that is not let in is closed with the reason until it is used again ${when}`, async (context) => {
      await withScriptedSocket(closing(4403, 'user_not_found'), async ({ client }) => {
        context.mock.timers.enable({ apis: ['setTimeout'] });
        const states = statesOf(client);
        const watch = client.presence.watch();
        await watch.next();
        await until('it is closed', () => short(client) === 'closed user_not_found');
        await watch.return();
        context.mock.timers.tick(idleMs);
        assert.equal(short(client), 'closed user_not_found');
        assert.equal((await client.presence.watch().next()).value?.type, 'snapshot');
        assert.deepEqual(states, ['connecting', 'open', 'closed user_not_found', 'connecting', 'open']);
      });
    });
  }

  test('a client that is closed by close() has no reason, also when it was not let in before', async () => {
    await withScriptedSocket(closing(4403, 'group_not_found'), async ({ client }) => {
      const states = statesOf(client);
      await client.presence.watch().next();
      await until('it is closed', () => short(client) === 'closed group_not_found');
      await client.close();
      assert.deepEqual(client.status.get(), { state: 'closed', reason: null });
      assert.deepEqual(states.slice(-2), ['closed group_not_found', 'closed']);
    });
  });

  test('a client without a socket stays open while it tries again, after five minutes, whether there is one', async (context) => {
    const { now } = performance;
    let aheadMs = 0;
    context.mock.method(performance, 'now', () => now.call(performance) + aheadMs);
    let attempts = 0;
    let updates = 0;
    const onUpgrade = (_: () => void, socket: Duplex) => {
      attempts += 1;
      socket.end('HTTP/1.1 426 Upgrade Required\r\n\r\n');
    };
    const onRequest: RequestListener = ({ method, url = '' }, response) => {
      const isStream = method === 'GET' && url.includes('presence');
      if (isStream) {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(written('e-0', 'snapshot', { users: [] }));
        return;
      }
      if (method === 'PUT') updates += 1;
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    };
    const use = async ({ client }: { readonly client: RollcallClient }) => {
      const watch = client.presence.watch();
      await watch.next();
      const announcement = client.presence.announce({ location: LOCATION });
      await until('the user is present', () => updates === 1 && short(client) === 'open');
      const states = statesOf(client);
      aheadMs = HTTP_MS;
      announcement.move({ page: 'b' });
      await until('the user has moved', () => updates === 3);
      assert.equal(attempts, 2);
      assert.deepEqual(states, ['open']);
    };
    await withScriptedSocket(() => true, use, { onUpgrade, onRequest });
  });

  describe('without a socket', () => {
    const without = (answers: readonly Answer[], use: (client: RollcallClient) => Promise<void>) => {
      let requests = 0;
      const onRequest: RequestListener = (_, response) => {
        const [status, body, headers] = answers[Math.min(requests, answers.length - 1)] as Answer;
        requests += 1;
        response.writeHead(status, headers).write(body);
        if (status !== 200) response.end();
      };
      const options = { socket: false, token: 't', onRequest };
      return withScriptedSocket(
        () => true,
        ({ client }) => use(client),
        options,
      );
    };
    const rejected = (status: number, error: string, headers = {}): Answer => [
      status,
      JSON.stringify(errorBody(error)),
      headers,
    ];
    const streamed = (...events: string[]): Answer => [
      200,
      events.join(''),
      { 'content-type': 'text/event-stream' },
    ];
    const snapshot = written('e-0', 'snapshot', { users: [] });
    const challenge = { 'www-authenticate': 'Bearer' };

    for (const answer of [
      rejected(401, 'invalid_project_token', challenge),
      rejected(401, 'user_not_found'),
      rejected(401, 'group_not_found'),
      rejected(403, 'invalid_request'),
    ]) {
      const { error } = JSON.parse(answer[1]);
      test(`a watch that is rejected with ${answer[0]} ${error} closes the client with the reason until it is used again`, async () => {
        await without([answer, streamed(snapshot)], async (client) => {
          const states = statesOf(client);
          await assert.rejects(client.presence.watch().next(), { code: error, status: answer[0] });
          assert.equal(short(client), `closed ${error}`);
          await client.presence.watch().next();
          assert.deepEqual(states, ['connecting', `closed ${error}`, 'connecting', 'open']);
        });
      });
    }

    test('a stream that ends with user_not_found closes the client with the reason', async () => {
      await without([streamed(snapshot, errorEvent('user_not_found'))], async (client) => {
        const watch = client.presence.watch();
        await watch.next();
        await assert.rejects(watch.next(), { code: 'user_not_found' });
        assert.equal(short(client), 'closed user_not_found');
      });
    });

    test('an announcement that is rejected with user_not_found closes the client with the reason', async () => {
      await without([rejected(401, 'user_not_found')], async (client) => {
        const announcement = client.presence.announce({ groupID: 'g', location: LOCATION });
        assert.equal((await announcement.ended)?.code, 'user_not_found');
        assert.equal(short(client), 'closed user_not_found');
      });
    });

    test('a group that is named and cannot be watched does not close the client', async () => {
      await without([rejected(401, 'group_not_found')], async (client) => {
        await assert.rejects(client.presence.watch({ groupID: 'g' }).next(), { code: 'group_not_found' });
        assert.equal(short(client), 'connecting');
      });
    });
  });

  for (const code of [1001, 1006, 4409, 4429] as const) {
    test(`a client whose socket ends with ${code} is reconnecting and then open`, async (context) => {
      const end: SocketScript = (frame, index) => {
        if (frame.op !== 'watch' || index > 0) return true;
        accept(frame);
        if (code === 1006) frame.ws.terminate();
        else frame.ws.close(code);
        return false;
      };
      await withScriptedSocket(end, async ({ client, of }) => {
        context.mock.timers.enable({ apis: ['setTimeout'] });
        const states = statesOf(client);
        const watch = client.presence.watch();
        await watch.next();
        const again = watch.next();
        const announcement = client.presence.announce({ location: LOCATION });
        await until('it is reconnecting', () => short(client) === 'reconnecting network');
        // It waits for no more than half a second where the server stops, and for at least five where it was too fast.
        if (code !== 4429) context.mock.timers.tick(500);
        let passedMs = 0;
        await until('it is open again', () => {
          if (code === 4429) context.mock.timers.tick(100);
          passedMs += 100;
          return short(client) === 'open';
        });
        if (code === 4429) assert.ok(passedMs >= 5_000, `${passedMs} ms`);
        await again;
        assert.deepEqual(states, ['connecting', 'open', 'reconnecting network', 'open']);
        assert.equal(of('auth').length, 2);
        await until('its user is present', () => {
          context.mock.timers.tick(100);
          return of('present').some(({ ws }) => ws === of('auth')[1]?.ws);
        });
        assert.equal(await Promise.race([announcement.ended, 'goes on']), 'goes on');
        context.mock.timers.reset();
      });
    });
  }

  test('a page that goes offline is checked at once, and is reconnecting when the server does not answer', async (context) => {
    const events = pageEvents(context);
    const script: SocketScript = ({ op }) => op !== 'unwatch';
    await withScriptedSocket(script, async ({ client, of }) => {
      context.mock.timers.enable({ apis: ['setTimeout'] });
      const states = statesOf(client);
      const watch = client.presence.watch();
      await watch.next();
      const again = watch.next();
      events.dispatchEvent(new Event('offline'));
      await until('it is checked', () => of('unwatch').length === 1);
      context.mock.timers.tick(ANSWER_TIMEOUT_MS);
      await until('it is reconnecting', () => short(client) === 'reconnecting network');
      events.dispatchEvent(new Event('online'));
      await again;
      assert.deepEqual(states, ['connecting', 'open', 'reconnecting network', 'open']);
      context.mock.timers.reset();
    });
  });

  test('a page that comes back from the back/forward cache is reconnecting until it is connected again', async (context) => {
    const events = pageEvents(context);
    const dispatch = (type: string) =>
      events.dispatchEvent(Object.assign(new Event(type), { persisted: true }));
    await withScriptedSocket(
      () => true,
      async ({ client, opened }) => {
        const states = statesOf(client);
        const watch = client.presence.watch();
        await watch.next();
        const again = watch.next();
        dispatch('pagehide');
        assert.equal(short(client), 'reconnecting network');
        dispatch('pageshow');
        await again;
        assert.equal(opened(), 2);
        assert.deepEqual(states, ['connecting', 'open', 'reconnecting network', 'open']);
      },
    );
  });

  test('a page whose client became idle in the back/forward cache is connected when it watches again', async (context) => {
    const events = pageEvents(context);
    const dispatch = (type: string) =>
      events.dispatchEvent(Object.assign(new Event(type), { persisted: true }));
    await withScriptedSocket(
      () => true,
      async ({ client }) => {
        context.mock.timers.enable({ apis: ['setTimeout'] });
        const watch = client.presence.watch();
        await watch.next();
        await watch.return();
        dispatch('pagehide');
        context.mock.timers.tick(IDLE_MS);
        dispatch('pageshow');
        context.mock.timers.reset();
        void client.presence.watch().next();
        await until('it is open', () => short(client) === 'open', 15_000);
      },
    );
  });

  test('a watch that failed for a while makes the status reconnecting, and open when it has begun again', async () => {
    const script: SocketScript = (frame, index) => {
      if (frame.op !== 'watch' || index > 0) return true;
      frame.send({ ref: frame.ref, error: 'error', message: 'the store cannot be reached' });
      return false;
    };
    await withScriptedSocket(script, async ({ client }) => {
      const states = statesOf(client);
      assert.equal((await client.presence.watch().next()).value?.type, 'snapshot');
      assert.deepEqual(states, ['connecting', 'open', 'reconnecting error', 'open']);
    });
  });

  test('a subscriber that throws breaks neither the connection nor other subscribers', async (context) => {
    const thrown = uncaughtErrors(context);
    await withScriptedSocket(
      () => true,
      async ({ client, opened }) => {
        const broken = new Error('thrown by a subscriber');
        const unsubscribe = client.status.subscribe(() => {
          throw broken;
        });
        const states = statesOf(client);
        assert.equal((await client.presence.watch().next()).value?.type, 'snapshot');
        unsubscribe();
        assert.deepEqual(states, ['connecting', 'open']);
        assert.equal(opened(), 1);
        await until('the errors are reported', () => thrown.length > 0);
        assert.deepEqual(new Set(thrown), new Set([broken]));
      },
    );
  });

  test('a subscriber is not called after it is unsubscribed, also by another one in the same change', async () => {
    await withScriptedSocket(
      () => true,
      async ({ client }) => {
        const calls: string[] = [];
        const first = client.status.subscribe(() => {
          calls.push('first');
          first();
          second();
        });
        const second = client.status.subscribe(() => calls.push('second'));
        await client.presence.watch().next();
        assert.deepEqual(calls, ['first']);
      },
    );
  });
});
