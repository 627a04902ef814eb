import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { oneServer } from '../../server/test/support/one-server.ts';
import type { Project } from '../../server/test/support/project-client.ts';
import { type AnnounceOptions, type Location, Rollcall } from '../src/index.ts';
import {
  answer,
  DONE,
  type Received,
  refusal,
  type Script,
  type StandIn,
  until,
  withStandIn,
} from './support/stand-in.ts';

const A = { page: 'a', part: '1' };
const B = { page: 'a', part: '2' };
const REGION = { page: 'a' };
/** So that no refresh hides what an update has done. */
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
    const rollcall = new Rollcall({ url: project.url, token: project.token });
    try {
      await use(rollcall);
    } finally {
      await rollcall.close();
    }
  };
  const locations = async (rollcall: Rollcall): Promise<Location[]> =>
    (await rollcall.presence.get('ada', 'g')).ephemeral.locations;
  const isPresent = (rollcall: Rollcall) =>
    until(async () => (await locations(rollcall)).length === 1, 'ada is present');

  for (const region of [{}, { exclusiveWithin: REGION }]) {
    const where = 'exclusiveWithin' in region ? 'in an exclusive region' : 'without a region';
    const options = { userID: 'ada', groupID: 'g', location: A, everyMs, ...region };

    test(`announce, leave and announce in one tick, as React's StrictMode does, end present, ${where}`, () =>
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

    test(`an announcement that moves away leaves the other one where it is, ${where}`, () =>
      withClient(async (rollcall) => {
        const first = rollcall.presence.announce(options);
        const second = rollcall.presence.announce({ ...options, exclusiveWithin: undefined });
        await isPresent(rollcall);
        first.move(B);
        await until(async () => (await locations(rollcall)).length === 2, 'ada is at both');
        await first.leave();
        assert.deepEqual(await locations(rollcall), [A]);
        await second.leave();
      }));
  }

  test('a user goes back to the other announcement of a region when the newest one leaves', () =>
    withClient(async (rollcall) => {
      const options = { userID: 'ada', groupID: 'g', exclusiveWithin: REGION, everyMs };
      rollcall.presence.announce({ ...options, location: A });
      await isPresent(rollcall);
      const second = rollcall.presence.announce({ ...options, location: B });
      await until(async () => (await locations(rollcall))[0]?.part === '2', 'ada is at the second');
      await second.leave();
      await until(async () => (await locations(rollcall))[0]?.part === '1', 'ada is at the first again');
    }));
});

/** What was sent, shortened: the location's part, after `-` where it is an absence. */
const sent = ({ received }: StandIn) =>
  received.map(({ body }) => {
    const { location, absent } = JSON.parse(body);
    return `${absent ? '-' : ''}${location.part}`;
  });

const announcing = (
  script: Script,
  use: (standIn: StandIn, announce: (options?: Partial<AnnounceOptions>) => Announced) => Promise<void>,
) =>
  withStandIn(script, async (standIn) => {
    const rollcall = new Rollcall({ url: standIn.url, token: 't' });
    const announce = (options: Partial<AnnounceOptions> = {}) =>
      rollcall.presence.announce({ userID: 'ada', groupID: 'g', location: A, everyMs, ...options });
    try {
      await use(standIn, announce);
    } finally {
      await rollcall.close();
    }
  });

type Announced = ReturnType<Rollcall['presence']['announce']>;

/** Long enough for a request that should not be sent to arrive. */
const aWhile = () => new Promise((resolve) => setTimeout(resolve, 30));

describe('what several announcements of one client send', () => {
  const ok: Script = (request) => answer(request, 200, DONE);

  test('a presence that follows an absence under way waits for its answer', async () => {
    const open: Received[] = [];
    await announcing(
      (request) => void open.push(request),
      async (standIn, announce) => {
        const first = announce();
        await standIn.arrived(1);
        answer(open[0] as Received, 200, DONE);
        const left = first.leave();
        await standIn.arrived(2);
        const second = announce();
        await aWhile();
        assert.deepEqual(sent(standIn), ['1', '-1']);
        answer(open[1] as Received, 200, DONE);
        await standIn.arrived(3);
        answer(open[2] as Received, 200, DONE);
        await left;
        assert.deepEqual(sent(standIn), ['1', '-1', '1']);
        const last = second.leave();
        await standIn.arrived(4);
        answer(open[3] as Received, 200, DONE);
        await last;
      },
    );
  });

  test('an announcement that leaves before it has sent anything still ends what the one before it sent', async () => {
    const open: Received[] = [];
    await announcing(
      (request, index) => (index === 0 ? void open.push(request) : ok(request, index)),
      async (standIn, announce) => {
        const first = announce();
        await standIn.arrived(1);
        const left = [first.leave(), announce().leave()];
        answer(open[0] as Received, 200, DONE);
        await Promise.all(left);
        assert.deepEqual(sent(standIn), ['1', '-1']);
      },
    );
  });

  test('an absence that failed is sent again, and no longer once the location is announced again', async () => {
    const script: Script = (request, index) =>
      index === 1 ? answer(request, 503, refusal('error')) : ok(request, index);
    await announcing(script, async (standIn, announce) => {
      const first = announce();
      await standIn.arrived(1);
      await first.leave();
      assert.deepEqual(sent(standIn), ['1', '-1', '-1']);
    });
    await announcing(script, async (standIn, announce) => {
      const first = announce();
      await standIn.arrived(1);
      const left = first.leave();
      await standIn.arrived(2);
      const second = announce();
      await left;
      await standIn.arrived(3);
      await aWhile();
      assert.deepEqual(sent(standIn), ['1', '-1', '1']);
      await second.leave();
    });
  });

  test('an absence is given up after three attempts, and when the server asks for much patience', async () => {
    const answers: [headers: Record<string, string>, expected: string[]][] = [
      [{}, ['1', '-1', '-1', '-1']],
      [{ 'retry-after': '3600' }, ['1', '-1']],
    ];
    for (const [headers, expected] of answers) {
      const script: Script = (request, index) =>
        index === 0 ? ok(request, index) : answer(request, 503, refusal('error'), headers);
      await announcing(script, async (standIn, announce) => {
        const announcement = announce();
        await standIn.arrived(1);
        await announcement.leave();
        assert.deepEqual(sent(standIn), expected);
      });
    }
  });

  test('another user, and another group, do not wait', async () => {
    await announcing(
      (request, index) => (index === 0 ? undefined : ok(request, index)),
      async (standIn, announce) => {
        announce();
        await standIn.arrived(1);
        announce({ userID: 'bob' });
        announce({ groupID: 'h' });
        await standIn.arrived(3);
        const paths = standIn.received.map(({ url, body }) => `${url} ${JSON.parse(body).groupID}`);
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
      isAway ? answer(request, 503, refusal('error')) : ok(request, index);
    await announcing(script, async (standIn, announce) => {
      const announcement = announce({ everyMs: 1 });
      for (let part = 2; part <= 150; part += 1) {
        announcement.move({ page: 'a', part: `${part}` });
        await until(() => sent(standIn).at(-1) === `${part}`, 'the move is sent');
      }
      isAway = false;
      await until(() => sent(standIn).at(-1)?.startsWith('-') === true, 'the absences are sent');
      await announcement.leave();
      const absences = new Set(sent(standIn).filter((each) => each.startsWith('-')));
      assert.equal(absences.size, 100);
      assert.ok(!absences.has('-50') && absences.has('-51') && absences.has('-150'));
    });
  });
});
