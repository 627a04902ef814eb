import assert from 'node:assert/strict';
import { before, beforeEach, describe, test } from 'node:test';
import { closing } from '../../server/test/support/closing.ts';
import { oneServer } from '../../server/test/support/one-server.ts';
import type { Project } from '../../server/test/support/project-client.ts';
import { until } from '../../server/test/support/waiting.ts';
import { type Location, Rollcall, type RollcallError } from '../src/index.ts';
import {
  errorBody,
  respond,
  respondDone,
  type Script,
  updatesOf,
  withAnnouncer,
} from './support/scripted-server.ts';

const A = { page: 'a', part: '1' };
const B = { page: 'a', part: '2' };
const REGION = { page: 'a' };
/** Longer than a test, so that no update is a refresh. */
const everyMs = 600_000;

describe('several announcements of one client, on a server', () => {
  const server = oneServer();
  let project: Project;

  before(async () => {
    await server.started;
    project = await server.project();
    await project.seed({ users: [{ id: 'ada' }], groups: [{ id: 'g', name: 'G', members: ['ada'] }] });
  });

  const withClient = async (use: (rollcall: Rollcall) => Promise<void>) => {
    await using rollcall = closing(new Rollcall({ url: project.url, token: project.token }));
    await use(rollcall);
  };
  const locations = async (rollcall: Rollcall): Promise<Location[]> =>
    (await rollcall.presence.get('ada', 'g')).ephemeral.locations;
  const isPresent = (rollcall: Rollcall) =>
    until('ada is present', async () => (await locations(rollcall)).length === 1);

  for (const region of [{}, { exclusiveWithin: REGION }]) {
    const where = 'exclusiveWithin' in region ? 'in an exclusive region' : 'without a region';
    const options = { userID: 'ada', groupID: 'g', location: A, everyMs, ...region };

    test(`announce, leave and announce in one tick, as React's StrictMode does, leave the user present, ${where}`, () =>
      withClient(async (rollcall) => {
        const effect = () => {
          const announcement = rollcall.presence.announce(options);
          return () => announcement.leave();
        };
        const cleanup = effect();
        const left = cleanup();
        const cleanupAgain = effect();
        await left;
        await isPresent(rollcall);
        await cleanupAgain();
        assert.deepEqual(await locations(rollcall), []);
      }));

    test(`a user whose page shows another route in StrictMode is never absent in between, ${where}`, () =>
      withClient(async (rollcall) => {
        const first = rollcall.presence.announce(options);
        await isPresent(rollcall);
        const events = rollcall.presence.watch({ groupID: 'g' });
        await events.next();
        const left = first.leave();
        void rollcall.presence.announce({ ...options, location: B }).leave();
        const second = rollcall.presence.announce({ ...options, location: B });
        await left;
        const { value: event } = await events.next();
        assert.deepEqual(event, {
          ...{ type: 'arrived', id: 'ada', location: B },
          ...('exclusiveWithin' in region && { from: A }),
        });
        assert.deepEqual(await locations(rollcall), [B]);
        await second.leave();
      }));

    test(`a user is present until the last of two announcements of a location has left, ${where}`, () =>
      withClient(async (rollcall) => {
        const first = rollcall.presence.announce(options);
        const second = rollcall.presence.announce(options);
        await isPresent(rollcall);
        await first.leave();
        assert.deepEqual(await locations(rollcall), [A]);
        await second.leave();
        assert.deepEqual(await locations(rollcall), []);
      }));

    test(`a move of one announcement does not end the location of the other, ${where}`, () =>
      withClient(async (rollcall) => {
        const first = rollcall.presence.announce(options);
        const second = rollcall.presence.announce({ ...options, exclusiveWithin: undefined });
        await isPresent(rollcall);
        first.move(B);
        await until('ada is at both', async () => (await locations(rollcall)).length === 2);
        await first.leave();
        assert.deepEqual(await locations(rollcall), [A]);
        await second.leave();
      }));
  }

  test('when the newest announcement of a region leaves, the user is at the location of the other', () =>
    withClient(async (rollcall) => {
      const options = { userID: 'ada', groupID: 'g', exclusiveWithin: REGION, everyMs };
      rollcall.presence.announce({ ...options, location: A });
      await isPresent(rollcall);
      const second = rollcall.presence.announce({ ...options, location: B });
      await until('ada is at the second', async () => (await locations(rollcall))[0]?.part === '2');
      await second.leave();
      await until('ada is at the first again', async () => (await locations(rollcall))[0]?.part === '1');
    }));
});

const announcing = (script: Script, use: Parameters<typeof withAnnouncer>[2]) =>
  withAnnouncer(script, { location: A, everyMs }, use);

/** Long enough for a request that should not be sent to arrive. */
const aWhile = () => new Promise((resolve) => setTimeout(resolve, 30));

describe('the updates of several announcements of one client', () => {
  test('a presence waits for the response to the absence in flight', async () => {
    await announcing(
      () => {},
      async (announce, server) => {
        const first = announce();
        await server.arrived(1);
        server.release(0);
        const left = first.leave();
        await server.arrived(2);
        const second = announce();
        await aWhile();
        assert.deepEqual(updatesOf(server), ['a1', '-a1']);
        server.release(1);
        await server.arrived(3);
        server.release(2);
        await left;
        assert.deepEqual(updatesOf(server), ['a1', '-a1', 'a1']);
        const last = second.leave();
        await server.arrived(4);
        server.release(3);
        await last;
      },
    );
  });

  test('the absence of a location is sent also when a later announcement left before its first update', async () => {
    await announcing(
      (request, index) => (index === 0 ? undefined : respondDone(request, index)),
      async (announce, server) => {
        const first = announce();
        await server.arrived(1);
        const left = [first.leave(), announce().leave()];
        server.release(0);
        await Promise.all(left);
        assert.deepEqual(updatesOf(server), ['a1', '-a1']);
      },
    );
  });

  test('a failed absence is retried until the location is announced again', async () => {
    const script: Script = (request, index) =>
      index === 1 ? respond(request, 503, errorBody('error')) : respondDone(request, index);
    await announcing(script, async (announce, server) => {
      const first = announce();
      await server.arrived(1);
      await first.leave();
      assert.deepEqual(updatesOf(server), ['a1', '-a1', '-a1']);
    });
    await announcing(script, async (announce, server) => {
      const first = announce();
      await server.arrived(1);
      const left = first.leave();
      await server.arrived(2);
      const second = announce();
      await left;
      await server.arrived(3);
      await aWhile();
      assert.deepEqual(updatesOf(server), ['a1', '-a1', 'a1']);
      await second.leave();
    });
  });

  test('an absence is sent three times at most, and not again after a long Retry-After', async () => {
    const answers: [headers: Record<string, string>, expected: string[]][] = [
      [{}, ['a1', '-a1', '-a1', '-a1']],
      [{ 'retry-after': '3600' }, ['a1', '-a1']],
    ];
    for (const [headers, expected] of answers) {
      const script: Script = (request, index) =>
        index === 0 ? respondDone(request, index) : respond(request, 503, errorBody('error'), headers);
      await announcing(script, async (announce, server) => {
        const announcement = announce();
        await server.arrived(1);
        await announcement.leave();
        assert.deepEqual(updatesOf(server), expected);
      });
    }
  });

  test('the updates of different users and groups are in flight at the same time', async () => {
    await announcing(
      (request, index) => (index === 0 ? undefined : respondDone(request, index)),
      async (announce, server) => {
        announce();
        await server.arrived(1);
        announce({ userID: 'bob' });
        announce({ groupID: 'h' });
        await server.arrived(3);
        const paths = server.received.map(({ url, body }) => `${url} ${JSON.parse(body).groupID}`);
        assert.deepEqual(paths.sort(), [
          '/v1/users/ada/presence g',
          '/v1/users/ada/presence h',
          '/v1/users/bob/presence g',
        ]);
      },
    );
  });

  test('at most a hundred locations wait for their absence while the server is away', async () => {
    let isAway = true;
    const script: Script = (request, index) =>
      isAway ? respond(request, 503, errorBody('error')) : respondDone(request, index);
    await announcing(script, async (announce, server) => {
      const announcement = announce({ everyMs: 1 });
      for (let part = 2; part <= 150; part += 1) {
        announcement.move({ page: 'a', part: `${part}` });
        await until('the move is sent', () => updatesOf(server).at(-1) === `a${part}`);
      }
      isAway = false;
      await until('the absences are sent', () => updatesOf(server).at(-1)?.startsWith('-') === true);
      await announcement.leave();
      const absences = new Set(updatesOf(server).filter((each) => each.startsWith('-')));
      assert.equal(absences.size, 100);
      assert.ok(!absences.has('-a50') && absences.has('-a51') && absences.has('-a150'));
    });
  });

  describe('a location whose absence is rejected', () => {
    const errors: RollcallError[] = [];
    const onError = (error: RollcallError) => errors.push(error);
    beforeEach(() => errors.splice(0));
    /** The location is not valid; the first update of it was lost on the way. */
    const script: Script = (request, index) => {
      const { location, absent } = JSON.parse(request.body);
      if (location.part !== A.part) return respondDone(request, index);
      return absent
        ? respond(request, 400, errorBody('invalid_field'))
        : respond(request, 503, errorBody('error'));
    };

    test('a rejected absence does not end the announcement that has moved on from its location', async () => {
      await announcing(script, async (announce, server) => {
        const announcement = announce({ onError });
        await server.arrived(1);
        announcement.move(B);
        await server.arrived(3);
        announcement.move({ page: 'b' });
        await server.arrived(5);
        assert.deepEqual(updatesOf(server), ['a1', 'a2', '-a1', 'b', '-a2']);
        assert.deepEqual(
          errors.map(({ code }) => code),
          ['error'],
        );
      });
    });

    test('a rejected absence does not end another announcement, which sends the absence of the one that left', async () => {
      const withPendingB: Script = (request, index) => (index === 1 ? undefined : script(request, index));
      await announcing(withPendingB, async (announce, server) => {
        const first = announce();
        await server.arrived(1);
        const second = announce({ location: B, onError });
        await server.arrived(2);
        const left = first.leave();
        server.release(1);
        await left;
        assert.equal(await first.ended, null);
        second.move({ page: 'b' });
        await server.arrived(5);
        assert.deepEqual(updatesOf(server), ['a1', 'a2', '-a1', 'b', '-a2']);
        assert.deepEqual(errors, []);
      });
    });
  });
});
