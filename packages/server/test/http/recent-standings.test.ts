/** Who may be present is remembered for a moment: what that may cost anybody, and what it may not. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { writeContext } from '../../src/core/write-context.ts';
import type { Store } from '../../src/store/store.ts';
import { type AppCase, type AppOptions, altered, withApp } from './app-case.ts';

/** What the store was asked: standings one at a time, and many at once. */
interface Asked {
  single: number;
  together: number;
}

interface Standings extends AppCase {
  readonly asked: Asked;
  /** Says that the user is somewhere in the group, and gives the answer's status. */
  place(userId: string, groupId?: string): Promise<number>;
  /** Lets time pass. */
  pass(ms: number): Promise<void>;
  /** Lets time pass, with a sign of life of the user after each step, and gives the statuses of the answers. */
  live(userId: string, ms: number, stepMs?: number): Promise<number[]>;
}

/** What passes between two signs of life, and between two looks at who is due. */
const [STEP_MS, TICK_MS] = [100, 100];

async function withStandings(
  body: (standings: Standings) => Promise<void>,
  disturb: (store: Store) => Partial<Store> = () => ({}),
): Promise<void> {
  const asked = { single: 0, together: 0 };
  const options: AppOptions = {
    disturb: ({ store, broker }) => ({
      store: altered(store, {
        isInProcess: false,
        standing(...question) {
          asked.single += 1;
          return store.standing(...question);
        },
        standings(...questions) {
          asked.together += 1;
          return store.standings(...questions);
        },
        ...disturb(store),
      }),
      broker,
    }),
  };
  await withApp(options, async (appCase) => {
    const { call, clock } = appCase;
    let paragraph = 0;
    const place = async (userId: string, groupId = 'g') => {
      paragraph += 1;
      const location = { page: 'intro', paragraph: `${paragraph}` };
      const payload = { groupID: groupId, location, exclusiveWithin: { page: 'intro' } };
      return (await call('PUT', `/v1/users/${userId}/presence`, { payload })).statusCode;
    };
    const pass = async (ms: number) => {
      for (let left = ms; left > 0; left -= TICK_MS) {
        clock.move(Math.min(left, TICK_MS));
        await turn();
      }
    };
    const live = async (userId: string, ms: number, stepMs = STEP_MS) => {
      const statuses: number[] = [];
      for (let passed = 0; passed < ms; passed += stepMs) {
        await pass(stepMs);
        statuses.push(await place(userId));
      }
      return statuses;
    };
    await call('PUT', '/v1/users/ada', { payload: {} });
    await call('PUT', '/v1/users/bob', { payload: {} });
    for (const id of ['g', 'h'])
      await call('PUT', `/v1/groups/${id}`, { payload: { name: id, members: ['ada', 'bob'] } });
    await body({ ...appCase, asked, place, pass, live });
  });
}

/** Looks at many hold their answers until they are let go. */
function heldLooks() {
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  const disturb = (store: Store): Partial<Store> => ({
    async standings(...questions) {
      const standings = await store.standings(...questions);
      await held;
      return standings;
    },
  });
  return { disturb, letGo };
}

const allOk = (statuses: readonly number[]) => statuses.every((status) => status === 200);

describe('who moves through a document', () => {
  test('is looked up once, and then with others a few times a second', () =>
    withStandings(async ({ place, live, asked }) => {
      assert.equal(await place('ada'), 200);
      const first = asked.single;
      assert.ok(allOk(await live('ada', 5_000)));
      assert.equal(asked.single, first, 'nobody who comes often waits for it');
      assert.ok(asked.together > 0 && asked.together <= 12, `${asked.together} looks in five seconds`);
    }));

  for (const stepMs of [500, 730, 900, 990, 1_300]) {
    test(`is looked up once, who says so every ${stepMs} ms`, () =>
      withStandings(async ({ place, live, asked }) => {
        await place('ada');
        const first = asked.single;
        assert.ok(allOk(await live('ada', 20_000, stepMs)));
        assert.ok(asked.single - first <= 1, `${asked.single - first} looks at one in twenty seconds`);
      }));
  }

  test('is looked up once more without a sign of life, and then when there is one', () =>
    withStandings(async ({ place, pass, clock, asked }) => {
      await place('ada');
      const { single, together } = asked;
      await pass(10_000);
      assert.equal(asked.together, together + 1, 'nobody is looked up for long for nothing');
      await place('ada');
      assert.equal(asked.single, single + 1);
      clock.jump(-500);
      await place('ada');
      assert.equal(asked.single, single + 2, 'a clock that was set back makes nothing last');
    }));

  test('is not forgotten for a look that took longer than a later one', () => {
    const { disturb, letGo } = heldLooks();
    return withStandings(async ({ place, pass, asked }) => {
      await place('ada');
      await pass(1_100);
      await place('ada');
      const { single } = asked;
      letGo();
      await pass(600);
      await place('ada');
      assert.equal(asked.single, single);
    }, disturb);
  });

  test('is looked up with others again where a change of somebody else overtook the look', () => {
    const { disturb, letGo } = heldLooks();
    return withStandings(async ({ place, pass, call, asked }) => {
      await place('ada');
      await pass(600);
      await place('ada');
      const { single } = asked;
      await pass(200);
      await call('PUT', '/v1/users/bob', { payload: { status: 'deleted' } });
      letGo();
      await turn();
      await pass(800);
      assert.equal(await place('ada'), 200);
      assert.equal(asked.single, single);
    }, disturb);
  });
});

describe('who may be present no more is refused at once', () => {
  const ways: readonly [string, (appCase: AppCase) => Promise<unknown>][] = [
    ['the user set deleted', ({ call }) => call('PUT', '/v1/users/ada', { payload: { status: 'deleted' } })],
    ['the user removed', ({ call }) => call('DELETE', '/v1/users/ada')],
    ['the group set deleted', ({ call }) => call('PUT', '/v1/groups/g', { payload: { status: 'deleted' } })],
    ['the group removed', ({ call }) => call('DELETE', '/v1/groups/g')],
    [
      'the member removed',
      ({ call }) => call('POST', '/v1/groups/g/members', { payload: { remove: ['ada'] } }),
    ],
    [
      'the members replaced',
      ({ call }) => call('PUT', '/v1/groups/g', { payload: { name: 'g', members: ['bob'] } }),
    ],
    [
      'by a batch',
      ({ call }) => call('POST', '/v1/batch', { payload: { users: [{ id: 'ada', status: 'deleted' }] } }),
    ],
  ];
  for (const [how, revoke] of ways) {
    test(how, () =>
      withStandings(async (standings) => {
        assert.equal(await standings.place('ada'), 200);
        assert.equal(await standings.place('bob', 'h'), 200);
        await revoke(standings);
        assert.equal(await standings.place('ada'), 401);
        assert.equal(await standings.place('bob', 'h'), 200);
      }),
    );
  }

  test('also by a look at the store that the change overtook', () => {
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
    let isHeld = false;
    const disturb = (store: Store): Partial<Store> => ({
      async standing(...question) {
        const standing = await store.standing(...question);
        if (isHeld) await held;
        return standing;
      },
    });
    return withStandings(async ({ place, call }) => {
      isHeld = true;
      const placing = place('ada');
      await turn();
      await call('PUT', '/v1/users/ada', { payload: { status: 'deleted' } });
      isHeld = false;
      letGo();
      await placing;
      assert.equal(await place('ada'), 401);
    }, disturb);
  });

  test('and told to nobody more than once, where another process removed them and could not tell', () =>
    withStandings(async ({ engine: { store, presence }, project, place, clock }) => {
      assert.equal(await place('ada'), 200);
      await store.changeMembers(project, 'g', { add: [], remove: ['ada'] }, writeContext(clock));
      await presence.removeUsers({ project, groupId: 'g' }, ['ada'], clock.now());
      const told: string[] = [];
      const watcher = {
        onEvent: (_: number, { type }: { type: string }) => void told.push(type),
        onLost() {},
      };
      const watch = await presence.watch({ project, groupId: 'g' }, clock.now(), watcher);
      for (let turns = 0; turns < 3; turns += 1) assert.equal(await place('ada'), 401);
      assert.deepEqual(told, ['placed', 'removed'], 'the first look takes the memory away');
      watch.close();
    }));

  test('within a second where another process changed it and could not tell', () =>
    withStandings(async ({ engine, project, place, live, clock }) => {
      assert.equal(await place('ada'), 200);
      assert.ok(allOk(await live('ada', 2_000)));
      await engine.store.putUser(project, 'ada', { status: 'deleted' }, writeContext(clock));
      const statuses = await live('ada', 1_000);
      assert.notEqual(statuses.at(-1), 200);
      assert.equal(await place('ada'), 401);
    }));
});
