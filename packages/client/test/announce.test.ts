import assert from 'node:assert/strict';
import { before, beforeEach, describe, test } from 'node:test';
import { oneServer } from '../../server/test/support/one-server.ts';
import type { Project } from '../../server/test/support/project-client.ts';
import { type AnnounceOptions, type Location, Rollcall, type RollcallError } from '../src/index.ts';
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
const C = { page: 'c', part: '1' };

describe('on a server', () => {
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

  const places = async (): Promise<Location[]> =>
    (await rollcall.presence.get('ada', 'g')).ephemeral.locations;
  const isAt = (...expected: Location[]) =>
    until(
      async () => {
        const found = await places();
        return JSON.stringify(found) === JSON.stringify(expected);
      },
      `ada is at ${JSON.stringify(expected)}`,
    );

  test('arrives, moves and leaves', async () => {
    const announcement = rollcall.presence.announce({ userID: 'ada', groupID: 'g', location: A });
    await isAt(A);
    announcement.move(B);
    await isAt(B);
    assert.deepEqual(announcement.location, B);
    await announcement.leave();
    assert.deepEqual(await places(), []);
    assert.equal(await announcement.ended, null);
    announcement.move(A);
    await announcement.leave();
    assert.deepEqual(await places(), []);
    await rollcall.close();
  });

  test('in an exclusive region too, and from one region to another', async () => {
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
    assert.deepEqual(await places(), []);
  });

  test('leaves a place of others alone', async () => {
    await rollcall.presence.put('ada', { groupID: 'g', location: C });
    const announcement = rollcall.presence.announce({ userID: 'ada', groupID: 'g', location: A });
    await isAt(A, C);
    await announcement.leave();
    assert.deepEqual(await places(), [C]);
    await rollcall.presence.put('ada', { groupID: 'g', location: C, absent: true });
  });

  test('ends with the error that trying again cannot help', async () => {
    const errors: RollcallError[] = [];
    const onError = (error: RollcallError) => errors.push(error);
    const announcement = rollcall.presence.announce({ userID: 'eve', groupID: 'g', location: A, onError });
    const error = await announcement.ended;
    assert.equal(error?.code, 'user_not_found');
    assert.deepEqual(errors, [error]);
    await announcement.leave();
  });
});

interface Announced {
  readonly rollcall: Rollcall;
  readonly standIn: StandIn;
  announce(options?: Partial<AnnounceOptions>): ReturnType<Rollcall['presence']['announce']>;
}

const announcing = (script: Script, use: (announced: Announced) => Promise<void>) =>
  withStandIn(script, async (standIn) => {
    const rollcall = new Rollcall({ url: standIn.url, token: 't' });
    const announce = (options: Partial<AnnounceOptions> = {}) =>
      rollcall.presence.announce({ userID: 'ada', groupID: 'g', location: A, ...options });
    try {
      await use({ rollcall, standIn, announce });
    } finally {
      await rollcall.close();
    }
  });

/** What was sent, shortened: where to, or `-` and where from. */
const sent = ({ received }: StandIn) =>
  received.map(({ body }) => {
    const { location, absent } = JSON.parse(body);
    return `${absent ? '-' : ''}${location.page}${location.part}`;
  });

describe('what is sent', () => {
  const ok: Script = (request) => answer(request, 200, DONE);

  test('the same again, before it expires', async () => {
    await announcing(ok, async ({ standIn, announce }) => {
      const announcement = announce({ everyMs: 20, exclusiveWithin: { page: 'a' } });
      await standIn.arrived(4);
      await announcement.leave();
      const bodies = standIn.received.map(({ body }) => JSON.parse(body));
      const present = { groupID: 'g', location: A, exclusiveWithin: { page: 'a' } };
      assert.deepEqual(bodies.slice(0, 3), [present, present, present]);
      assert.deepEqual(bodies.at(-1), { groupID: 'g', location: A, absent: true });
    });
  });

  test('one update at a time, and of moves that come faster the latest', async () => {
    const held: Received[] = [];
    await announcing(
      (request) => void held.push(request),
      async ({ standIn, announce }) => {
        const announcement = announce({ exclusiveWithin: { page: 'a' } });
        await standIn.arrived(1);
        for (const part of ['2', '3', '4', '5']) announcement.move({ page: 'a', part });
        await new Promise((resolve) => setTimeout(resolve, 20));
        assert.deepEqual(sent(standIn), ['a1']);
        answer(held[0] as Received, 200, DONE);
        await standIn.arrived(2);
        answer(held[1] as Received, 200, DONE);
        const left = announcement.leave();
        await standIn.arrived(3);
        answer(held[2] as Received, 200, DONE);
        await left;
        assert.deepEqual(sent(standIn), ['a1', 'a5', '-a5']);
      },
    );
  });

  test('without a region: first where to, then where from, so that nobody is nowhere in between', async () => {
    await announcing(ok, async ({ standIn, announce }) => {
      const announcement = announce();
      await standIn.arrived(1);
      announcement.move(B);
      await standIn.arrived(3);
      await announcement.leave();
      assert.deepEqual(sent(standIn), ['a1', 'a2', '-a1', '-a2']);
    });
  });

  test('again soon after a failure, and as it is by then', async () => {
    const errors: string[] = [];
    const script: Script = (request, index) => {
      if (index === 0) return request.response.destroy();
      if (index === 1) return answer(request, 503, refusal('error'), { 'retry-after': '0' });
      return answer(request, 200, DONE);
    };
    await announcing(script, async ({ standIn, announce }) => {
      const announcement = announce({ everyMs: 100, onError: ({ code }) => errors.push(code) });
      await standIn.arrived(1);
      announcement.move(B);
      await standIn.arrived(4);
      assert.deepEqual(
        sent(standIn).slice(0, 4),
        ['a1', 'a2', 'a2', '-a1'],
        'its answer was lost, so it may be there',
      );
      assert.deepEqual(errors, ['network', 'error']);
      await announcement.leave();
    });
  });

  test('nothing more after leave(), also when the server does not take it', async () => {
    await announcing(
      (request, index) =>
        index === 0 ? answer(request, 200, DONE) : answer(request, 401, refusal('user_not_found')),
      async ({ standIn, announce }) => {
        const announcement = announce({ everyMs: 5_000 });
        await standIn.arrived(1);
        await announcement.leave();
        assert.equal(await announcement.ended, null);
        assert.deepEqual(sent(standIn), ['a1', '-a1']);
      },
    );
  });

  test('a signal leaves', async () => {
    await announcing(ok, async ({ standIn, announce }) => {
      const controller = new AbortController();
      const announcement = announce({ signal: controller.signal });
      await standIn.arrived(1);
      controller.abort();
      assert.equal(await announcement.ended, null);
      assert.deepEqual(sent(standIn), ['a1', '-a1']);
      assert.equal(await announce({ signal: controller.signal }).ended, null);
      assert.equal(standIn.received.length, 2, 'one that is aborted already says nothing');
    });
  });

  test('an onError that throws stops nothing', async (context) => {
    const thrown: unknown[] = [];
    const script: Script = (request, index) =>
      index === 0 ? request.response.destroy() : answer(request, 200, DONE);
    const onUncaught = (error: unknown) => thrown.push(error);
    const others = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', onUncaught);
    context.after(() => {
      process.off('uncaughtException', onUncaught);
      for (const other of others) process.on('uncaughtException', other);
    });
    await announcing(script, async ({ standIn, announce }) => {
      const broken = new Error('of the caller');
      announce({
        everyMs: 40,
        onError: () => {
          throw broken;
        },
      });
      await standIn.arrived(3);
      assert.deepEqual(thrown, [broken]);
    });
  });

  test('close() does not wait for ever for a server that is silent', async () => {
    await announcing(
      () => {},
      async ({ standIn, rollcall, announce }) => {
        const announcement = announce();
        await standIn.arrived(1);
        await rollcall.close();
        await announcement.ended;
      },
    );
  });
});
