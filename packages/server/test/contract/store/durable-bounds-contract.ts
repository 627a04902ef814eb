/** The bounds of a user's durable presence in a group, and the latest location when clocks differ. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalLocation, limits } from '@rollcall/protocol';
import { StoreUnavailableError } from '../../../src/values/engine-errors.ts';
import { BY_TEST } from '../../support/origin.ts';
import { type ImportedPresence, withImportedPresence } from './imported-roster.ts';
import type { Roster } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

const SITE = canonicalLocation({ site: 's' });
const { DURABLE_LOCATIONS_MAX: MOST, DURABLE_LOCATIONS_MAX_BYTES: MOST_BYTES } = limits;
/** Four of these are all that a user may have. */
const QUARTER = MOST_BYTES / 4;

const page = (number: number) => canonicalLocation({ page: `${number}`, site: 's' });
/** A location with a text of exactly so many bytes, some of them of characters that take several. */
function sized(name: string, bytes: number): string {
  const empty = canonicalLocation({ page: name, text: 'é' });
  return canonicalLocation({ page: name, text: `é${'x'.repeat(bytes - Buffer.byteLength(empty))}` });
}

export function durableBoundsContract(lab: StoreLab): void {
  const sceneOf = async (...users: readonly string[]) => {
    const roster = await lab.projectWithGroup('g', ...users);
    await roster.groupOf('h', ...users);
    return new DurableScene(roster);
  };

  test('the latest durable location is the one that was set last, also by a writer whose clock is behind', async () => {
    const scene = await sceneOf('ann');
    const put = async (location: string, now: number) => {
      const { previous, at, latestBefore, endedTo } = await scene.put('ann', location, now);
      assert.equal(endedTo, null);
      return [previous, at, latestBefore];
    };
    assert.deepEqual(await put(page(1), 10_000), [null, 10_000, null]);
    assert.deepEqual(await put(page(2), 9_100), [null, 10_001, 10_000]);
    assert.deepEqual(await scene.latest('ann'), [page(2), 10_001]);
    assert.deepEqual(await put(page(1), 9_200), [page(1), 10_002, 10_001]);
    assert.deepEqual(await scene.latest('ann'), [page(1), 10_002]);
    assert.deepEqual(await put(page(3), 10_003), [null, 10_003, 10_002]);
  });

  test('the time of a region of durable presence does not go back, whether its location is renewed or replaced', async () => {
    const scene = await sceneOf('ann');
    const at = async (location: string, now: number) => (await scene.put('ann', location, now, 'g', SITE)).at;
    assert.deepEqual([await at(page(1), 5_000), await at(page(1), 4_100)], [5_000, 5_001]);
    assert.equal(await at(page(2), 4_200), 5_002);
    assert.deepEqual(await scene.latest('ann'), [page(2), 5_002]);
  });

  test("the times of a user's durable presence in a group do not depend on other users and groups", async () => {
    const scene = await sceneOf('ann', 'bob');
    await scene.put('ann', page(1), 5_000);
    assert.equal((await scene.put('bob', page(1), 4_000)).at, 4_000);
    assert.equal((await scene.put('ann', page(1), 4_000, 'h')).at, 4_000);
  });

  test('racing updates of durable presence have different times, and the latest of them is read', async () => {
    const scene = await sceneOf('ann');
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => scene.put('ann', page(index % 5), 1_000 + (index % 3) * 900)),
    );
    const times = outcomes.map(({ at }) => at);
    assert.equal(new Set(times).size, times.length);
    assert.equal((await scene.latest('ann'))[1], Math.max(...times));
  });

  test(`one more than ${MOST} durable locations ends the oldest, and no filter finds it any more`, () =>
    withImportedPresence(lab, pagesOf('ann', MOST), async (roster) => {
      const scene = new DurableScene(roster);
      assert.equal((await scene.put('ann', page(7), 20_000)).endedTo, null, 'a renewal is no more');
      assert.equal((await scene.put('ann', page(MOST), 20_000)).endedTo, 1);
      assert.equal(await scene.count('ann'), MOST);
      assert.deepEqual(await Promise.all([0, 1, 7, MOST].map((n) => scene.isFound(page(n)))), [
        ...[false, true, true, true],
      ]);
      assert.deepEqual(await scene.latestWith({ page: '0' }), []);
      assert.equal((await scene.put('ann', page(0), 20_000)).endedTo, 2, 'it comes back as a new one');
      assert.deepEqual(await scene.latest('ann'), [page(0), 20_002]);
      assert.equal(await scene.count('ann'), MOST);
    }));

  test('durable locations whose text exceeds the bound in total end, the oldest first', async () => {
    const scene = await sceneOf('ann');
    for (const name of ['a', 'b', 'c', 'd']) {
      const { endedTo } = await scene.put('ann', sized(name, QUARTER), 10);
      assert.equal(endedTo, null, 'exactly the bound is within it');
    }
    assert.equal((await scene.put('ann', canonicalLocation({ p: '' }), 20)).endedTo, 10);
    assert.equal((await scene.put('ann', sized('e', QUARTER), 30)).endedTo, 11);
    assert.equal((await scene.put('ann', sized('f', 2 * QUARTER), 40)).endedTo, 13, 'as many as it takes');
    assert.deepEqual(await scene.names('ann'), ['e', 'f', undefined]);
  });

  test('a durable location that is replaced by a longer one ends the oldest; a shorter one frees its bytes', async () => {
    const scene = await sceneOf('ann');
    for (const name of ['a', 'b', 'c']) await scene.put('ann', sized(name, QUARTER), 10);
    await scene.put('ann', sized('x', QUARTER), 20, 'g', canonicalLocation({ page: 'x' }));
    const within = (bytes: number) =>
      scene.put('ann', sized('x', bytes), 30, 'g', canonicalLocation({ page: 'x' }));
    assert.equal((await within(QUARTER + 1)).endedTo, 10);
    assert.equal((await within(100)).endedTo, null);
    assert.equal((await scene.put('ann', sized('d', 2 * QUARTER - 100), 40)).endedTo, null);
    assert.deepEqual(await scene.names('ann'), ['b', 'c', 'd', 'x']);
    assert.equal(
      (await scene.put('ann', sized('e', 1 + Buffer.byteLength('{"page":"e","text":"é"}')), 50)).endedTo,
      11,
    );
  });

  test('a durable location that is longer than the bound ends all others, and stays', async () => {
    const scene = await sceneOf('ann');
    for (const name of ['a', 'b', 'c']) await scene.put('ann', sized(name, 100), 10);
    assert.equal((await scene.put('ann', sized('d', MOST_BYTES + 1), 20)).endedTo, 12);
    assert.deepEqual(await scene.names('ann'), ['d']);
    assert.equal((await scene.put('ann', sized('e', 100), 30)).endedTo, 20);
  });

  test('the bounds of durable presence apply to each user in each group', async () => {
    const scene = await sceneOf('ann', 'bob');
    const all = ['a', 'b', 'c', 'd'];
    for (const name of all) {
      for (const [user, group] of [
        ['ann', 'g'],
        ['bob', 'g'],
        ['ann', 'h'],
      ] as const)
        assert.equal((await scene.put(user, sized(name, QUARTER), 10, group)).endedTo, null);
    }
    assert.notEqual((await scene.put('ann', sized('e', QUARTER), 10)).endedTo, null);
    assert.deepEqual(await scene.names('ann', 'h'), all);
    assert.deepEqual(await scene.names('bob'), all);
  });

  test('racing updates of durable presence do not exceed the bounds', async () => {
    const scene = await sceneOf('ann');
    const names = Array.from({ length: 24 }, (_, index) => String.fromCharCode(97 + index));
    const outcomes = await Promise.all(
      names.map((name) => scene.putWhenFree('ann', sized(name, QUARTER), 10)),
    );
    const newest = names
      .map((name, index) => ({ name, at: outcomes[index]?.at as number }))
      .sort((a, b) => b.at - a.at)
      .slice(0, 4);
    assert.deepEqual(await scene.names('ann'), newest.map(({ name }) => name).sort());
    assert.equal(outcomes.filter(({ endedTo }) => endedTo !== null).length, 20);
  });

  const endings: readonly [how: string, end: (roster: Roster) => Promise<unknown>][] = [
    ['leaving the group by a list of members', (roster) => roster.putGroup('g', { members: [] })],
    ['being removed from the group', (roster) => roster.changeMembers('g', { remove: ['ann'] })],
    ['leaving the group in a batch', (roster) => roster.applied({ groups: [{ id: 'g', members: [] }] })],
    ['deleting the group', (roster) => roster.deleteGroup('g')],
    ['deleting the user', (roster) => roster.deleteUser('ann')],
  ];
  for (const [how, end] of endings) {
    test(`${how} frees the bytes and the count of its durable locations`, async () => {
      const scene = await sceneOf('ann');
      for (const name of ['a', 'b', 'c', 'd']) await scene.put('ann', sized(name, QUARTER), 10_000);
      await end(scene.roster);
      await scene.roster.groupOf('g', 'ann');
      for (const [index, name] of ['e', 'f', 'g', 'h'].entries()) {
        const { at, endedTo } = await scene.put('ann', sized(name, QUARTER), 10 + index);
        assert.deepEqual([at, endedTo], [10 + index, null], 'nothing of what was before counts');
      }
    });
  }

  test('imported durable locations that exceed the bounds end with the next update of the user', () =>
    withImportedPresence(lab, [...pagesOf('ann', MOST + 50), ...pagesOf('bob', 3)], async (roster) => {
      const scene = new DurableScene(roster);
      const latest = MOST + 50;
      assert.deepEqual(await scene.latest('ann'), [page(latest - 1), latest], 'the latest keeps its time');
      const { at } = await scene.put('ann', page(latest), 1);
      assert.equal(at, latest + 1);
      assert.deepEqual([await scene.count('ann'), await scene.count('bob')], [MOST, 3]);
      assert.deepEqual(await Promise.all([50, 51, latest].map((n) => scene.isFound(page(n)))), [
        false,
        true,
        true,
      ]);
    }));
}

/** `count` pages of a user in `g`, with the times 1, 2, … */
const pagesOf = (userId: string, count: number): ImportedPresence[] =>
  Array.from({ length: count }, (_, index) => ({
    ...{ userId, groupId: 'g', region: page(index), location: page(index) },
    at: index + 1,
  }));

/** The groups `g` and `h`, and the durable presence in them. */
class DurableScene {
  readonly roster: Roster;

  constructor(roster: Roster) {
    this.roster = roster;
  }

  async put(userId: string, location: string, now: number, groupId = 'g', region = location) {
    const { store, key } = this.roster;
    const update = { userId, groupId, region, location };
    const outcome = await store.durablePresence.put(key, update, { now, revision: 'p', ...BY_TEST });
    assert.ok(outcome.kind === 'set');
    const { kind: _kind, changes: _changes, ...rest } = outcome;
    return rest;
  }

  /** Like `put`; tries again where other updates of the user took too long, as callers do. */
  async putWhenFree(userId: string, location: string, now: number): ReturnType<DurableScene['put']> {
    for (;;) {
      try {
        return await this.put(userId, location, now);
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
      }
    }
  }

  async latest(userId: string): Promise<[string, number]> {
    const found = await this.roster.store.durablePresence.find(this.roster.key, 'g', userId);
    assert.ok(found);
    return [found.location, found.at];
  }

  async latestWith(pairs: Record<string, string>): Promise<string[]> {
    return this.#listed(canonicalLocation(pairs), true);
  }

  async isFound(location: string): Promise<boolean> {
    return (await this.#listed(location, false)).length > 0;
  }

  async count(userId: string): Promise<number> {
    return (await this.#all(userId, 'g')).length;
  }

  /** The value of `page` in each of the user's locations. */
  async names(userId: string, groupId = 'g'): Promise<(string | undefined)[]> {
    return (await this.#all(userId, groupId)).map(({ location }) => location.page).sort();
  }

  async #listed(location: string, partial: boolean): Promise<string[]> {
    const { store, key } = this.roster;
    const request = { after: null, limit: 10 };
    const found = await store.durablePresence.list(key, 'g', { location, partial }, request);
    return found.map(({ location: each }) => each);
  }

  async #all(userId: string, groupId: string) {
    const project = await this.roster.projectId();
    const records = (await Array.fromAsync(this.roster.store.transfer.export())).flat();
    return records
      .filter((record) => record.type === 'durable_presence')
      .filter((record) => record.project === project && record.group === groupId && record.user === userId);
  }
}
