/** What is remembered of who may be present, and for how long: the part by itself, with a store that is asked much. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createMemoryBroker } from '../../src/broker/memory/memory-broker.ts';
import { RecentStandings } from '../../src/core/recent-standings.ts';
import type { Standing, StandingQuestion } from '../../src/store/store.ts';
import { MovedClock } from '../support/moved-clock.ts';

const MOST = 40_000;
const PROJECT = 7;
const ALLOWED: Standing = { user: 'active', group: 'active', incarnation: 1 };
const NO_MEMBER: Standing = { ...ALLOWED, incarnation: null };

class World {
  readonly clock = new MovedClock();
  readonly removed = new Set<string>();
  /** Who was looked up alone, and how many were together. */
  readonly alone: string[] = [];
  together = 0;
  /** While it does not answer, nothing that is asked together comes back. */
  answers = true;
  readonly standings: RecentStandings;

  constructor() {
    const of = (userId: string) => (this.removed.has(userId) ? NO_MEMBER : ALLOWED);
    this.standings = new RecentStandings({
      clock: this.clock,
      broker: createMemoryBroker(),
      store: {
        isInProcess: false,
        standing: async (_project, _groupId, userId) => {
          this.alone.push(userId);
          return of(userId);
        },
        standings: (_project, asked: readonly StandingQuestion[]) => {
          this.together += asked.length;
          if (!this.answers) return new Promise<Standing[]>(() => {});
          return Promise.resolve(asked.map(({ userId }) => of(userId)));
        },
      },
    });
  }

  /** As an update does: asks where it is not remembered. */
  async use(userId: string): Promise<boolean> {
    const question = { groupId: 'g', userId };
    if (this.standings.remembered(PROJECT, question) !== null) return true;
    return (await this.standings.ask(PROJECT, question)).incarnation !== null;
  }

  ask(userId: string): Promise<Standing> {
    return this.standings.ask(PROJECT, { groupId: 'g', userId });
  }

  remembers(userId: string): boolean {
    return this.standings.remembered(PROJECT, { groupId: 'g', userId }) !== null;
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 100) {
      this.clock.move(100);
      await turn();
    }
  }

  async crowd(count: number, name = 'user'): Promise<void> {
    for (let n = 0; n < count; n += 1) await this.ask(`${name} ${n}`);
  }
}

describe('what is remembered', () => {
  test('is looked up together, whoever of them is asked about alone all the time', async () => {
    const world = new World();
    const others = Array.from({ length: 20 }, (_, n) => `other ${n}`);
    for (const userId of ['mover', ...others]) await world.use(userId);
    for (let passed = 0; passed < 10_000; passed += 100) {
      await world.pass(100);
      if (passed % 300 === 0) await world.ask('mover');
      for (const userId of others) assert.ok(await world.use(userId));
    }
    assert.deepEqual(
      world.alone.filter((userId) => userId !== 'mover'),
      others,
    );
  });

  test('is let go when it is not used, and makes room', async () => {
    const world = new World();
    await world.crowd(MOST);
    await world.ask('newcomer');
    assert.equal(world.remembers('newcomer'), false);
    assert.equal(world.remembers(`user ${MOST - 1}`), true);
    await world.pass(3_000);
    assert.ok(world.together <= 2 * MOST, `${world.together} looks`);
    await world.ask('newcomer');
    assert.equal(world.remembers('newcomer'), true);
  });

  test('makes room at once where it is forgotten', async () => {
    const world = new World();
    await world.crowd(MOST);
    await world.standings.changed(PROJECT, ['user 0']);
    await world.ask('newcomer');
    assert.equal(world.remembers('newcomer'), true);
    await world.standings.changed(PROJECT, null);
    await world.crowd(MOST, 'other');
    assert.equal(world.remembers(`other ${MOST - 1}`), true);
  });

  test('is no more while a store does not answer', async () => {
    const world = new World();
    world.answers = false;
    for (let times = 0; times < 3; times += 1) {
      await world.crowd(MOST / 2, `crowd ${times}`);
      await world.pass(800);
    }
    assert.equal(world.remembers('crowd 2 0'), false);
    await world.ask('newcomer');
    assert.equal(world.remembers('newcomer'), false);
  });

  test('does not come back when a clock that was set back is there again', async () => {
    const world = new World();
    await world.use('mover');
    await world.use('bob');
    world.clock.jump(-600_000);
    world.removed.add('bob');
    for (let passed = 0; passed < 602_000; passed += 300) {
      await world.pass(300);
      await world.ask('mover');
      assert.equal(world.remembers('bob'), false);
    }
  });
});
