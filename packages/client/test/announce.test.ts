import assert from 'node:assert/strict';
import { before, beforeEach, describe, test } from 'node:test';
import { oneServer } from '../../server/test/support/one-server.ts';
import type { Project } from '../../server/test/support/project-client.ts';
import { until } from '../../server/test/support/waiting.ts';
import { type Location, Rollcall, type RollcallError } from '../src/index.ts';
import {
  DONE,
  errorBody,
  type Received,
  respond,
  respondDone,
  type Script,
  updatesOf,
  withAnnouncer,
} from './support/scripted-server.ts';
import { uncaughtErrors } from './support/uncaught.ts';

const A = { page: 'a', part: '1' };
const B = { page: 'a', part: '2' };
const C = { page: 'c', part: '1' };

describe('an announcement on a server', () => {
  const server = oneServer();
  let project: Project;
  let rollcall: Rollcall;

  before(async () => {
    await server.started;
    project = await server.project();
    await project.seed({ users: [{ id: 'ada' }], groups: [{ id: 'g', name: 'G', members: ['ada'] }] });
  });

  beforeEach(() => {
    rollcall = new Rollcall({ url: project.url, token: project.token });
  });

  const locations = async (): Promise<Location[]> =>
    (await rollcall.presence.get('ada', 'g')).ephemeral.locations;
  const isAt = (...expected: Location[]) =>
    until(`ada is at ${JSON.stringify(expected)}`, async () => {
      const found = await locations();
      return JSON.stringify(found) === JSON.stringify(expected);
    });

  test('an announcement sets the user present, moves them, and sets them absent on leave()', async () => {
    const announcement = rollcall.presence.announce({ userID: 'ada', groupID: 'g', location: A });
    await isAt(A);
    announcement.move(B);
    await isAt(B);
    assert.deepEqual(announcement.location, B);
    await announcement.leave();
    assert.deepEqual(await locations(), []);
    assert.equal(await announcement.ended, null);
    announcement.move(A);
    await announcement.leave();
    assert.deepEqual(await locations(), []);
    await rollcall.close();
  });

  test('an announcement moves within an exclusive region and from one region to another', async () => {
    const page = (location: Location) => ({ exclusiveWithin: { page: location.page as string } });
    const announcement = rollcall.presence.announce({ userID: 'ada', groupID: 'g', location: A, ...page(A) });
    await isAt(A);
    announcement.move(B);
    await isAt(B);
    announcement.move(C, page(C));
    await isAt(C);
    await rollcall.close();
    assert.equal(await announcement.ended, null);
    rollcall = new Rollcall({ url: project.url, token: project.token });
    assert.deepEqual(await locations(), []);
  });

  test('leave() ends the location of the announcement and no other', async () => {
    await rollcall.presence.put('ada', { groupID: 'g', location: C });
    const announcement = rollcall.presence.announce({ userID: 'ada', groupID: 'g', location: A });
    await isAt(A, C);
    await announcement.leave();
    assert.deepEqual(await locations(), [C]);
    await rollcall.presence.put('ada', { groupID: 'g', location: C, absent: true });
  });

  test('an announcement ends with an error that is not retryable', async () => {
    const errors: RollcallError[] = [];
    const onError = (error: RollcallError) => errors.push(error);
    const announcement = rollcall.presence.announce({ userID: 'eve', groupID: 'g', location: A, onError });
    const error = await announcement.ended;
    assert.equal(error?.code, 'user_not_found');
    assert.deepEqual(errors, [error]);
    await announcement.leave();
  });
});

const announcing = (script: Script, use: Parameters<typeof withAnnouncer>[2]) =>
  withAnnouncer(script, { location: A }, use);

describe('the updates of an announcement', () => {
  test('an announcement repeats its update before the presence expires', async () => {
    await announcing(respondDone, async (announce, server) => {
      const announcement = announce({ everyMs: 20, exclusiveWithin: { page: 'a' } });
      await server.arrived(4);
      await announcement.leave();
      const bodies = server.received.map(({ body }) => JSON.parse(body));
      const present = { groupID: 'g', location: A, exclusiveWithin: { page: 'a' } };
      assert.deepEqual(bodies.slice(0, 3), [present, present, present]);
      assert.deepEqual(bodies.at(-1), { groupID: 'g', location: A, absent: true });
    });
  });

  for (const status of [200, 503])
    test(`one update is in flight at a time, and of faster moves the latest is sent once, after a response of ${status}`, async () => {
      await announcing(
        () => {},
        async (announce, server, rollcall) => {
          const announcement = announce({ exclusiveWithin: { page: 'a' } });
          await server.arrived(1);
          for (const part of ['2', '3', '4', '5']) announcement.move({ page: 'a', part });
          await new Promise((resolve) => setTimeout(resolve, 20));
          assert.deepEqual(updatesOf(server), ['a1']);
          respond(server.received[0] as Received, status, status === 200 ? DONE : errorBody('error'));
          await server.arrived(2);
          server.release(1);
          await until('the user is present', () => rollcall.status.get().state === 'open');
          const left = announcement.leave();
          await server.arrived(3);
          server.release(2);
          await left;
          assert.deepEqual(updatesOf(server), ['a1', 'a5', '-a5']);
        },
      );
    });

  test('a move without a region sends the presence before the absence, so that the user stays present', async () => {
    await announcing(respondDone, async (announce, server) => {
      const announcement = announce();
      await server.arrived(1);
      announcement.move(B);
      await server.arrived(3);
      await announcement.leave();
      assert.deepEqual(updatesOf(server), ['a1', 'a2', '-a1', '-a2']);
    });
  });

  test('a failed update is retried soon, with the location of that moment', async () => {
    const errors: string[] = [];
    const script: Script = (request, index) => {
      if (index === 0) return request.response.destroy();
      if (index === 1) return respond(request, 503, errorBody('error'), { 'retry-after': '0' });
      return respond(request, 200, DONE);
    };
    await announcing(script, async (announce, server) => {
      const announcement = announce({ everyMs: 100, onError: ({ code }) => errors.push(code) });
      await server.arrived(1);
      announcement.move(B);
      await server.arrived(4);
      assert.deepEqual(
        updatesOf(server).slice(0, 4),
        ['a1', 'a2', 'a2', '-a1'],
        'the first update may have been applied: its response was lost',
      );
      assert.deepEqual(errors, ['network', 'error']);
      await announcement.leave();
    });
  });

  test('the status is reconnecting after an error that is retried, and not after a rejection', async () => {
    const script: Script = (request, index) => {
      if (index === 0) return respond(request, 503, errorBody('error'), { 'retry-after': '0' });
      if (index === 1) return respond(request, 200, DONE);
      return respond(request, 400, errorBody('invalid_field'));
    };
    await announcing(script, async (announce, _server, { status }) => {
      const states: string[] = [];
      status.subscribe(() => states.push(status.get().state));
      const announcement = announce({ everyMs: 100 });
      assert.equal((await announcement.ended)?.code, 'invalid_field');
      assert.deepEqual(states, ['reconnecting', 'open', 'connecting']);
    });
  });

  test('a Retry-After of years does not make an announcement repeat its update at once', async () => {
    const script: Script = (request) =>
      respond(request, 503, errorBody('error'), { 'retry-after': '99999999' });
    await announcing(script, async (announce, server) => {
      const errors: (number | undefined)[] = [];
      announce({ onError: ({ retryAfterMs }) => errors.push(retryAfterMs) });
      await server.arrived(1);
      await new Promise((resolve) => setTimeout(resolve, 20));
      assert.equal(server.received.length, 1);
      assert.deepEqual(errors, [86_400_000]);
    });
  });

  test('an announcement whose everyMs is longer than any timer does not repeat its update at once', async () => {
    for (const everyMs of [2 ** 32, Number.POSITIVE_INFINITY])
      await announcing(respondDone, async (announce, server) => {
        const announcement = announce({ everyMs });
        await server.arrived(1);
        await new Promise((resolve) => setTimeout(resolve, 20));
        assert.deepEqual(updatesOf(server), ['a1']);
        await announcement.leave();
      });
  });

  test('an announcement sends nothing after leave(), also when the server rejects the absence', async () => {
    await announcing(
      (request, index) =>
        index === 0 ? respond(request, 200, DONE) : respond(request, 401, errorBody('user_not_found')),
      async (announce, server) => {
        const announcement = announce({ everyMs: 5_000 });
        await server.arrived(1);
        await announcement.leave();
        assert.equal(await announcement.ended, null);
        assert.deepEqual(updatesOf(server), ['a1', '-a1']);
      },
    );
  });

  test('an announcement leaves when its signal aborts', async () => {
    await announcing(respondDone, async (announce, server) => {
      const controller = new AbortController();
      const announcement = announce({ signal: controller.signal });
      await server.arrived(1);
      controller.abort();
      assert.equal(await announcement.ended, null);
      assert.deepEqual(updatesOf(server), ['a1', '-a1']);
      assert.equal(await announce({ signal: controller.signal }).ended, null);
      assert.equal(server.received.length, 2, 'an aborted signal sends nothing');
    });
  });

  test('an onError that throws does not stop the updates', async (context) => {
    const thrown = uncaughtErrors(context);
    const script: Script = (request, index) =>
      index === 0 ? request.response.destroy() : respond(request, 200, DONE);
    await announcing(script, async (announce, server) => {
      const broken = new Error('thrown by onError');
      announce({
        everyMs: 40,
        onError: () => {
          throw broken;
        },
      });
      await server.arrived(3);
      assert.deepEqual(thrown, [broken]);
    });
  });

  test('close() ends although the server does not respond', async () => {
    await announcing(
      () => {},
      async (announce, server, rollcall) => {
        const announcement = announce();
        await server.arrived(1);
        await rollcall.close();
        await announcement.ended;
      },
    );
  });
});
