import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { until } from '../../server/test/support/waiting.ts';
import type { Rollcall } from '../src/index.ts';
import {
  type Received,
  respondDone,
  type Script,
  type ScriptedServer,
  withScriptedClient,
} from './support/scripted-server.ts';
import { withScriptedSocket } from './support/scripted-socket.ts';

/** Makes this process a page: dispatches the lifecycle events of a browser. */
const page = globalThis as unknown as Record<string, unknown>;
let events: EventTarget;
let listeners = 0;
const document = { visibilityState: 'visible', prerendering: false };

beforeEach(() => {
  events = new EventTarget();
  Object.assign(document, { visibilityState: 'visible', prerendering: false });
  page.document = document;
  page.addEventListener = (type: string, listener: () => void) => {
    listeners += 1;
    events.addEventListener(type, listener);
  };
  page.removeEventListener = (type: string, listener: () => void) => {
    listeners -= 1;
    events.removeEventListener(type, listener);
  };
});

afterEach(() => {
  assert.equal(listeners, 0, 'a listener was left');
  for (const name of ['document', 'addEventListener', 'removeEventListener']) delete page[name];
});

const dispatch = (type: string) => events.dispatchEvent(new Event(type));

function setVisibility(visibilityState: 'visible' | 'hidden'): void {
  document.visibilityState = visibilityState;
  dispatch('visibilitychange');
}

const A = { userID: 'ada', groupID: 'g', location: { page: 'a' } };
const absences = ({ received }: ScriptedServer) =>
  received.map(({ body }) => JSON.parse(body).absent === true);
/** Long enough for a request that must not be sent to arrive. */
const aWhile = () => new Promise((resolve) => setTimeout(resolve, 15));
/** The token is a function, as in a browser. */
const withPage = (
  script: Script,
  use: (rollcall: Rollcall, server: ScriptedServer) => Promise<void>,
): Promise<void> => withScriptedClient(script, use, { token: () => 'a.b.c' });

describe('an announcement of a page', () => {
  test('an announcement sends the absence on pagehide without waiting, and the presence on pageshow', async () => {
    await withPage(respondDone, async (rollcall, server) => {
      rollcall.presence.announce(A);
      await server.arrived(1);
      await aWhile();
      dispatch('pagehide');
      await server.arrived(2);
      assert.deepEqual(absences(server), [false, true]);
      assert.equal(server.received[1]?.headers.authorization, 'Bearer a.b.c');
      // Browsers hide a page after its pagehide.
      setVisibility('hidden');
      await aWhile();
      assert.equal(server.received.length, 2);
      document.visibilityState = 'visible';
      dispatch('pageshow');
      await server.arrived(3);
      assert.deepEqual(absences(server), [false, true, false]);
    });
  });

  test('an announcement aborts the update in flight on pagehide', async () => {
    const script = (request: Received, index: number) =>
      index === 0 ? undefined : respondDone(request, index);
    await withPage(script, async (rollcall, server) => {
      const errors: unknown[] = [];
      rollcall.presence.announce({ ...A, onError: (error) => errors.push(error) });
      await server.arrived(1);
      dispatch('pagehide');
      await server.arrived(2);
      await until('the request is aborted', () => server.received[0]?.response.closed === true);
      assert.deepEqual(absences(server), [false, true]);
      assert.deepEqual(errors, []);
    });
  });

  test('an announcement leaves while the page is hidden and its timers are throttled, and arrives when the page is shown', async (context) => {
    await withPage(respondDone, async (rollcall, server) => {
      // With a mocked time of day no timer is late, however busy the machine is.
      context.mock.timers.enable({ apis: ['Date'], now: Date.now() });
      rollcall.presence.announce({ ...A, everyMs: 40 });
      await server.arrived(1);
      setVisibility('hidden');
      await server.arrived(3);
      await until('it leaves', () => {
        context.mock.timers.setTime(Date.now() + 60_000);
        return absences(server).at(-1) === true;
      });
      const count = server.received.length;
      await new Promise((resolve) => setTimeout(resolve, 100));
      assert.equal(server.received.length, count, 'it sends nothing while it is away');
      setVisibility('visible');
      await server.arrived(count + 1);
      assert.deepEqual(absences(server).slice(-2), [true, false]);
    });
  });

  test('an announcement sends an overdue update when the page is shown after a sleep, and otherwise nothing', async (context) => {
    await withPage(respondDone, async (rollcall, server) => {
      rollcall.presence.announce(A);
      await server.arrived(1);
      await aWhile();
      setVisibility('visible');
      dispatch('pageshow');
      await aWhile();
      assert.equal(server.received.length, 1);
      const { now } = Date;
      context.mock.method(Date, 'now', () => now() + 60_000);
      setVisibility('visible');
      await server.arrived(2);
      assert.deepEqual(absences(server), [false, false]);
    });
  });

  test('an announcement of a page that is rendered before the user opens it begins when the page is shown', async () => {
    await withPage(respondDone, async (rollcall, server) => {
      Object.assign(document, { visibilityState: 'hidden', prerendering: true });
      rollcall.presence.announce(A);
      dispatch('pageshow');
      // Both announcements share one queue, which is empty by then.
      const other = rollcall.presence.announce({ ...A, location: { page: 'b' } });
      await new Promise(setImmediate);
      await other.leave();
      assert.equal(server.received.length, 0);
      // As in Chromium, where `prerendering` ends after the event.
      setVisibility('visible');
      await server.arrived(1);
      assert.deepEqual(absences(server), [false]);
    });
  });

  test('a page that is rendered before the user opens it opens its socket when it is shown', async () => {
    await withScriptedSocket(
      () => true,
      async ({ client, of, opened }) => {
        Object.assign(document, { visibilityState: 'hidden', prerendering: true });
        const watching = client.presence.watch().next();
        client.presence.announce({ location: A.location });
        dispatch('pageshow');
        await aWhile();
        assert.equal(opened(), 0);
        setVisibility('visible');
        assert.equal((await watching).value?.type, 'snapshot');
        await until('the user is present', () => of('present').length === 1);
        assert.equal(opened(), 1);
      },
    );
  });

  test('an announcement ignores the events of the page after leave()', async () => {
    await withPage(respondDone, async (rollcall, server) => {
      const announcement = rollcall.presence.announce(A);
      await server.arrived(1);
      await announcement.leave();
      for (const type of ['pagehide', 'pageshow', 'visibilitychange']) dispatch(type);
      await aWhile();
      assert.deepEqual(absences(server), [false, true]);
    });
  });

  test('a watch reconnects at once when the page is online again', async () => {
    const script = ({ response }: Received, index: number) => {
      if (index === 0) return response.writeHead(503, { 'retry-after': '25' }).end();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return response.write('event: snapshot\nid: e-1\ndata: {"users":[]}\n\n');
    };
    await withPage(script, async (rollcall) => {
      const onRetry = () => setImmediate(dispatch, 'online');
      const { value } = await rollcall.presence.watch({ groupID: 'g', onRetry }).next();
      assert.equal(value?.type, 'snapshot');
    });
  });
});
