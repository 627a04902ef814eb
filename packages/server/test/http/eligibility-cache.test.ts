/** The eligibility cache by itself, with a store that counts what is read. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createMemoryBroker } from '../../src/broker/memory/memory-broker.ts';
import { EligibilityCache, type LastEligibility, noEligibility } from '../../src/core/eligibility-cache.ts';
import type { Eligibility } from '../../src/store/ports/eligibility.ts';
import { MovedClock } from '../support/moved-clock.ts';

const ENTRIES_MAX = 40_000;
const PROJECT = 7;
const ELIGIBLE: Eligibility = { user: 'active', group: 'active', incarnation: 1 };
const NO_MEMBER: Eligibility = { ...ELIGIBLE, incarnation: null };

class World {
  readonly clock = new MovedClock();
  readonly removed = new Set<string>();
  /** While set, reads of the store wait for it after they have their answer. */
  delay: Promise<void> | null = null;
  reads = 0;
  readonly cache: EligibilityCache;

  constructor({ isInProcess = false } = {}) {
    this.cache = new EligibilityCache({
      clock: this.clock,
      broker: createMemoryBroker(),
      store: {
        isInProcess,
        eligibility: {
          find: async (_project, _groupId, userId) => {
            this.reads += 1;
            const eligibility = this.removed.has(userId) ? NO_MEMBER : ELIGIBLE;
            await this.delay;
            return eligibility;
          },
        },
      },
    });
  }

  read(userId: string, last: LastEligibility | null = null): Promise<Eligibility> {
    return this.cache.read(PROJECT, { groupId: 'g', userId }, last);
  }

  isCached(userId: string, last: LastEligibility | null = null): boolean {
    return this.cache.cached(PROJECT, { groupId: 'g', userId }, last) !== null;
  }

  async crowd(count: number, name = 'user'): Promise<void> {
    for (let n = 0; n < count; n += 1) await this.read(`${name} ${n}`);
  }
}

describe('the eligibility cache', () => {
  test('the eligibility cache has the membership of an eligible user for a second', async () => {
    const world = new World();
    assert.equal(world.isCached('ada'), false);
    await world.read('ada');
    world.clock.move(999);
    assert.equal(world.isCached('ada'), true);
    world.clock.move(1);
    assert.equal(world.isCached('ada'), false);
  });

  test('the eligibility cache stores no user who is not a member, and drops a user who no longer is', async () => {
    const world = new World();
    await world.read('ada');
    world.removed.add('ada');
    await world.read('ada');
    assert.equal(world.isCached('ada'), false);
  });

  test('the eligibility cache reads the store on every update while it is full, and has room again within two seconds', async () => {
    const world = new World();
    await world.crowd(ENTRIES_MAX);
    await world.read('newcomer');
    assert.equal(world.isCached('newcomer'), false);
    assert.equal(world.isCached(`user ${ENTRIES_MAX - 1}`), true);
    world.clock.move(1_000);
    world.clock.move(1_000);
    await world.read('newcomer');
    assert.equal(world.isCached('newcomer'), true);
  });

  test('the eligibility cache drops the users whom an invalidation names, and no others', async () => {
    const world = new World();
    await world.crowd(3);
    await world.cache.invalidate(PROJECT, ['user 0', 'user 1']);
    assert.deepEqual(
      ['user 0', 'user 1', 'user 2'].map((userId) => world.isCached(userId)),
      [false, false, true],
    );
    await world.read('user 0');
    assert.equal(world.isCached('user 0'), true);
    await world.cache.invalidate(PROJECT, null);
    assert.equal(world.isCached('user 2'), false);
  });

  test('the eligibility cache does not use an answer of the store that an invalidation overtook', async () => {
    for (const named of [['ada'], null]) {
      const world = new World();
      const { promise, resolve } = Promise.withResolvers<void>();
      world.delay = promise;
      const reading = world.read('ada');
      world.clock.move(500);
      await world.cache.invalidate(PROJECT, named);
      resolve();
      await reading;
      assert.equal(world.isCached('ada'), false);
      await world.read('ada');
      assert.equal(world.isCached('ada'), true);
    }
  });

  test('the eligibility cache uses no entry of a time that the clock, once set back, reaches again', async () => {
    const world = new World();
    await world.read('bob');
    world.clock.jump(-600_000);
    for (let passed = 0; passed < 602_000; passed += 300) {
      world.clock.move(300);
      await world.read('ada');
      assert.equal(world.isCached('bob'), false);
    }
  });

  for (const isInProcess of [true, false])
    describe(`the last answer of a caller, with a store ${isInProcess ? 'in the process' : 'elsewhere'}`, () => {
      test('the last answer that a caller has is used for a second, also where it is the only one', async () => {
        const world = new World({ isInProcess });
        const last = noEligibility();
        assert.equal(world.isCached('ada', last), false);
        await world.read('ada', last);
        world.clock.move(999);
        assert.equal(world.isCached('ada', last), true);
        assert.equal(world.isCached('ada'), false);
        world.clock.move(1);
        assert.equal(world.isCached('ada', last), false);
      });

      test('a last answer that the user is not eligible is not used', async () => {
        const world = new World({ isInProcess });
        const last = noEligibility();
        await world.read('ada', last);
        world.removed.add('ada');
        await world.read('ada', last);
        assert.equal(world.isCached('ada', last), false);
      });

      test('the last answer that a caller has is not used after an invalidation of the user or the project', async () => {
        for (const named of [['ada'], null]) {
          const world = new World({ isInProcess });
          const { promise, resolve } = Promise.withResolvers<void>();
          const last = noEligibility();
          world.delay = promise;
          const reading = world.read('ada', last);
          await world.cache.invalidate(PROJECT, named);
          resolve();
          await reading;
          assert.equal(world.isCached('ada', last), false);
          await world.read('ada', last);
          assert.equal(world.isCached('ada', last), true);
          await world.cache.invalidate(PROJECT, ['bob']);
          assert.equal(world.isCached('ada', last), true);
          await world.cache.invalidate(PROJECT, named);
          assert.equal(world.isCached('ada', last), false);
        }
      });

      test('the last answer that a caller has is not used after the clock was set back by less than a second', async () => {
        const world = new World({ isInProcess });
        const last = noEligibility();
        world.clock.move(1_010);
        await world.read('ada', last);
        world.clock.move(890);
        await world.cache.invalidate(PROJECT, ['ada']);
        world.clock.jump(-800);
        world.clock.move(100);
        assert.equal(world.isCached('ada', last), false);
      });

      test('the last answer that a caller has is not used at its time where the clock, once set back, reaches it again', async () => {
        const world = new World({ isInProcess });
        const last = noEligibility();
        world.clock.move(1_000);
        await world.read('ada', last);
        world.clock.jump(-600_000);
        for (let passed = 0; passed < 602_000; passed += 300) {
          world.clock.move(300);
          assert.equal(world.isCached('ada', last), false);
        }
      });
    });

  test('a store in the process is read on each update of a caller without a last answer', async () => {
    const world = new World({ isInProcess: true });
    await world.read('ada');
    assert.equal(world.isCached('ada'), false);
  });
});
