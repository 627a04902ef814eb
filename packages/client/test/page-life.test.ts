import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { Rollcall } from '../src/index.ts';
import { answer, DONE, type Received, type StandIn, until, withStandIn } from './support/stand-in.ts';

/** This process as a page: what a browser tells of its life is told here. (In Chromium: facepile.test.ts.) */
const page = globalThis as unknown as Record<string, unknown>;
let events: EventTarget;
let listeners = 0;
const document = { visibilityState: 'visible' };

beforeEach(() => {
  events = new EventTarget();
  document.visibilityState = 'visible';
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
  assert.equal(listeners, 0, 'somebody still listens');
  for (const name of ['document', 'addEventListener', 'removeEventListener']) delete page[name];
});

const happens = (type: string) => events.dispatchEvent(new Event(type));

function becomes(visibilityState: 'visible' | 'hidden'): void {
  document.visibilityState = visibilityState;
  happens('visibilitychange');
}

const announcing = (
  script: (request: Received, index: number) => void,
  use: (standIn: StandIn, rollcall: Rollcall) => Promise<void>,
) =>
  withStandIn(script, async (standIn) => {
    const rollcall = new Rollcall({ url: standIn.url, token: () => 't' });
    try {
      await use(standIn, rollcall);
    } finally {
      await rollcall.close();
    }
  });

const A = { userID: 'ada', groupID: 'g', location: { page: 'a' } };
const ok = (request: Received) => answer(request, 200, DONE);
const absences = ({ received }: StandIn) => received.map(({ body }) => JSON.parse(body).absent === true);
const turn = () => new Promise((resolve) => setTimeout(resolve, 15));

describe('a page that is hidden, gone, or back', () => {
  test('leaves with the page, without waiting, and comes back with it', async () => {
    await announcing(ok, async (standIn, rollcall) => {
      rollcall.presence.announce(A);
      await standIn.arrived(1);
      await turn();
      happens('pagehide');
      await standIn.arrived(2);
      assert.deepEqual(absences(standIn), [false, true]);
      assert.equal(standIn.received[1]?.headers.authorization, 'Bearer t');
      happens('pageshow');
      await standIn.arrived(3);
      assert.deepEqual(absences(standIn), [false, true, false]);
    });
  });

  test('also when an update is under way, which is given up', async () => {
    const script = (request: Received, index: number) => (index === 0 ? undefined : ok(request));
    await announcing(script, async (standIn, rollcall) => {
      const errors: unknown[] = [];
      rollcall.presence.announce({ ...A, onError: (error) => errors.push(error) });
      await standIn.arrived(1);
      happens('pagehide');
      await standIn.arrived(2);
      await until(() => standIn.received[0]?.response.closed === true, 'it is given up');
      assert.deepEqual(absences(standIn), [false, true]);
      assert.deepEqual(errors, []);
    });
  });

  test('is present for as long as its timers keep their time, and gone when they do not', async (context) => {
    await announcing(ok, async (standIn, rollcall) => {
      // On this clock nothing is late, however busy the machine is.
      context.mock.timers.enable({ apis: ['Date'], now: Date.now() });
      rollcall.presence.announce({ ...A, everyMs: 40 });
      await standIn.arrived(1);
      becomes('hidden');
      await standIn.arrived(3);
      await until(() => {
        context.mock.timers.setTime(Date.now() + 60_000);
        return absences(standIn).at(-1) === true;
      }, 'it leaves');
      const count = standIn.received.length;
      await new Promise((resolve) => setTimeout(resolve, 100));
      assert.equal(standIn.received.length, count, 'it says nothing while it is away');
      becomes('visible');
      await standIn.arrived(count + 1);
      assert.deepEqual(absences(standIn).slice(-2), [true, false]);
    });
  });

  test('that is looked at after a sleep sends what it owes at once, and otherwise nothing', async (context) => {
    await announcing(ok, async (standIn, rollcall) => {
      rollcall.presence.announce(A);
      await standIn.arrived(1);
      await turn();
      becomes('visible');
      happens('pageshow');
      await turn();
      assert.equal(standIn.received.length, 1);
      const { now } = Date;
      context.mock.method(Date, 'now', () => now() + 60_000);
      becomes('visible');
      await standIn.arrived(2);
      assert.deepEqual(absences(standIn), [false, false]);
    });
  });

  test('is not listened to any more once the announcement is over', async () => {
    await announcing(ok, async (standIn, rollcall) => {
      const announcement = rollcall.presence.announce(A);
      await standIn.arrived(1);
      await announcement.leave();
      for (const type of ['pagehide', 'pageshow', 'visibilitychange']) happens(type);
      await turn();
      assert.deepEqual(absences(standIn), [false, true]);
    });
  });

  test('announces a location again at once when another client of the origin has left it', async () => {
    await announcing(ok, async (standIn, rollcall) => {
      const other = new Rollcall({ url: standIn.url, token: () => 't' });
      const everyMs = 600_000;
      const region = { ...A, everyMs, exclusiveWithin: { page: 'a' } };
      rollcall.presence.announce(region);
      await standIn.arrived(1);
      const first = other.presence.announce({ ...A, everyMs });
      await standIn.arrived(2);
      await first.leave();
      await standIn.arrived(4);
      assert.deepEqual(absences(standIn), [false, false, true, false]);
      const newest = other.presence.announce({ ...region, location: { page: 'a', part: '2' } });
      await standIn.arrived(5);
      await newest.leave();
      await until(
        () => absences(standIn).lastIndexOf(true) < standIn.received.length - 1,
        'it is sent again',
      );
      const { location } = JSON.parse(standIn.received.at(-1)?.body ?? '');
      assert.deepEqual(location, A.location, 'the region has the one location that is left');
      await other.close();
    });
  });

  test('does not react to the absence of another user, group, server or location', async () => {
    await announcing(ok, async (standIn, rollcall) => {
      const everyMs = 600_000;
      rollcall.presence.announce({ ...A, everyMs });
      await standIn.arrived(1);
      await withStandIn(ok, async (elsewhere) => {
        const others = [standIn.url, elsewhere.url].map((url) => new Rollcall({ url, token: 't' }));
        const [other, foreign] = others as [Rollcall, Rollcall];
        const announcements = [
          other.presence.announce({ ...A, userID: 'bob', everyMs }),
          other.presence.announce({ ...A, groupID: 'h', everyMs }),
          other.presence.announce({ ...A, location: { page: 'b' }, everyMs }),
          foreign.presence.announce({ ...A, everyMs }),
        ];
        await Promise.all([standIn.arrived(4), elsewhere.arrived(1)]);
        await Promise.all(announcements.map((announcement) => announcement.leave()));
        await turn();
        assert.equal(absences(standIn).length, 7);
        assert.equal(absences(standIn).filter((isAbsent) => !isAbsent).length, 4);
        for (const each of others) await each.close();
      });
    });
  });

  test('that is on the network again does not wait for the next try of a stream', async () => {
    const script = ({ response }: Received, index: number) => {
      if (index === 0) return response.writeHead(503, { 'retry-after': '25' }).end();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return response.write('event: snapshot\nid: e-1\ndata: {"users":[]}\n\n');
    };
    await announcing(script, async (_standIn, rollcall) => {
      const onRetry = () => setImmediate(happens, 'online');
      const { value } = await rollcall.presence.watch({ groupID: 'g', onRetry }).next();
      assert.equal(value?.type, 'snapshot');
    });
  });
});
