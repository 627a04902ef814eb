/** Eligibility is cached for a second: the saved reads, and the updates that must be rejected nevertheless. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as tick } from 'node:timers/promises';
import { writeContext } from '../../src/core/changes/write-context.ts';
import type { EligibilityStore } from '../../src/store/ports/eligibility.ts';
import type { Store } from '../../src/store/store.ts';
import { BY_TEST } from '../support/origin.ts';
import { type AppCase, type AppOptions, altered, withApp } from './app-case.ts';

interface EligibilityCase extends AppCase {
  /** How often the eligibility of one user was read from the store. */
  readonly reads: { single: number };
  /** Sets the user present in the group, and returns the answer's status. */
  setPresent(userId: string, groupId?: string): Promise<number>;
  /** Moves the clock with a presence update of the user every 100 ms, and returns the statuses of the answers. */
  live(userId: string, ms: number): Promise<number[]>;
}

const STEP_MS = 100;

async function withEligibility(
  body: (eligibility: EligibilityCase) => Promise<void>,
  disturb: (store: Store) => Partial<EligibilityStore> = () => ({}),
): Promise<void> {
  const reads = { single: 0 };
  const options: AppOptions = {
    disturb: ({ store, broker }) => ({
      store: altered(store, {
        isInProcess: false,
        eligibility: {
          find(...question) {
            reads.single += 1;
            return store.eligibility.find(...question);
          },
          ...disturb(store),
        },
      }),
      broker,
    }),
  };
  await withApp(options, async (appCase) => {
    const { call, clock } = appCase;
    let paragraph = 0;
    const setPresent = async (userId: string, groupId = 'g') => {
      paragraph += 1;
      const location = { page: 'intro', paragraph: `${paragraph}` };
      const payload = { groupID: groupId, location, exclusiveWithin: { page: 'intro' } };
      return (await call('PUT', `/v1/users/${userId}/presence`, { payload })).statusCode;
    };
    const live = async (userId: string, ms: number) => {
      const statuses: number[] = [];
      for (let passed = 0; passed < ms; passed += STEP_MS) {
        clock.move(STEP_MS);
        await tick();
        statuses.push(await setPresent(userId));
      }
      return statuses;
    };
    await call('PUT', '/v1/users/ada', { payload: {} });
    await call('PUT', '/v1/users/bob', { payload: {} });
    for (const id of ['g', 'h'])
      await call('PUT', `/v1/groups/${id}`, { payload: { name: id, members: ['ada', 'bob'] } });
    await body({ ...appCase, reads, setPresent, live });
  });
}

describe('a user who moves through a document', () => {
  test('a user who moves through a document is read from the store once a second', () =>
    withEligibility(async ({ setPresent, live, reads }) => {
      assert.equal(await setPresent('ada'), 200);
      const { single } = reads;
      assert.ok((await live('ada', 5_000)).every((status) => status === 200));
      assert.ok(reads.single - single <= 5, `${reads.single - single} reads in five seconds`);
    }));

  test('a user who moves through a document is read again after the clock was set back', () =>
    withEligibility(async ({ setPresent, clock, reads }) => {
      await setPresent('ada');
      const { single } = reads;
      clock.jump(-500);
      await setPresent('ada');
      assert.equal(reads.single, single + 1);
    }));
});

describe('a presence update is rejected at once', () => {
  const ways: readonly [string, (appCase: AppCase) => Promise<unknown>][] = [
    [
      'after the user was set deleted',
      ({ call }) => call('PUT', '/v1/users/ada', { payload: { status: 'deleted' } }),
    ],
    ['after the user was removed', ({ call }) => call('DELETE', '/v1/users/ada')],
    [
      'after the group was set deleted',
      ({ call }) => call('PUT', '/v1/groups/g', { payload: { status: 'deleted' } }),
    ],
    ['after the group was removed', ({ call }) => call('DELETE', '/v1/groups/g')],
    [
      'after the member was removed',
      ({ call }) => call('POST', '/v1/groups/g/members', { payload: { remove: ['ada'] } }),
    ],
    [
      'after the members were replaced',
      ({ call }) => call('PUT', '/v1/groups/g', { payload: { name: 'g', members: ['bob'] } }),
    ],
    [
      'after a batch set the user deleted',
      ({ call }) => call('POST', '/v1/batch', { payload: { users: [{ id: 'ada', status: 'deleted' }] } }),
    ],
  ];
  for (const [how, revoke] of ways) {
    test(`a presence update is rejected at once ${how}`, () =>
      withEligibility(async (eligibility) => {
        assert.equal(await eligibility.setPresent('ada'), 200);
        assert.equal(await eligibility.setPresent('bob', 'h'), 200);
        await revoke(eligibility);
        assert.equal(await eligibility.setPresent('ada'), 401);
        assert.equal(await eligibility.setPresent('bob', 'h'), 200);
      }));
  }

  test('a presence update is rejected at once also where the store was read before the change and responded after it', () => {
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
    let isDelayed = false;
    const disturb = (store: Store): Partial<EligibilityStore> => ({
      async find(...question) {
        const eligibility = await store.eligibility.find(...question);
        if (isDelayed) await isReleased;
        return eligibility;
      },
    });
    return withEligibility(async ({ setPresent, call }) => {
      isDelayed = true;
      const update = setPresent('ada');
      await tick();
      await call('PUT', '/v1/users/ada', { payload: { status: 'deleted' } });
      isDelayed = false;
      release();
      await update;
      assert.equal(await setPresent('ada'), 401);
    }, disturb);
  });

  test('a rejected presence update publishes nothing where another process removed the member and could not publish that', () =>
    withEligibility(async ({ engine: { store, presence }, project, setPresent, clock }) => {
      assert.equal(await setPresent('ada'), 200);
      await store.members.change(project, 'g', { add: [], remove: ['ada'] }, writeContext(clock, BY_TEST));
      await presence.removeUsers({ project, groupId: 'g' }, ['ada'], clock.now());
      const published: string[] = [];
      const watcher = {
        onEvent: (_: number, { type }: { type: string }) => void published.push(type),
        onLost() {},
      };
      const watch = await presence.watch({ project, groupId: 'g' }, clock.now(), watcher);
      for (let times = 0; times < 3; times += 1) assert.equal(await setPresent('ada'), 401);
      assert.deepEqual(published, ['arrived', 'usersRemoved'], 'the first read drops the cached eligibility');
      watch.close();
    }));

  test('a presence update is rejected within a second where another process set the user deleted and could not publish that', () =>
    withEligibility(async ({ engine, project, setPresent, live, clock }) => {
      assert.equal(await setPresent('ada'), 200);
      assert.ok((await live('ada', 2_000)).every((status) => status === 200));
      await engine.store.users.put(project, 'ada', { status: 'deleted' }, writeContext(clock, BY_TEST));
      const statuses = await live('ada', 1_000);
      assert.notEqual(statuses.at(-1), 200);
      assert.equal(await setPresent('ada'), 401);
    }));
});
