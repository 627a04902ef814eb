/** The durable locations that pass a filter, and the latest of them for each user. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalLocation, compareCodePoints, type Location, locationMatches } from '@rollcall/protocol';
import type { DurablePresence } from '../../../src/store/ports/durable-presence.ts';
import type { LocationFilter } from '../../../src/values/location-filter.ts';
import { Random } from '../../sim/random.ts';
import { BY_TEST } from '../../support/origin.ts';
import { numbered, type Roster } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

export function durableFilterContract(lab: StoreLab): void {
  const sceneOf = async (...users: readonly string[]) => {
    const roster = await lab.projectWithGroup('g', ...users);
    return new DurableScene(roster);
  };

  test('a filter reads the latest of the matching durable locations, not the latest of all', async () => {
    const scene = await sceneOf('ann', 'bob');
    await scene.set('ann', { site: 's', page: '1' }, 10);
    await scene.set('ann', { site: 's', page: '3' }, 20);
    await scene.set('ann', { site: 's', page: '2' }, 30);
    await scene.set('ann', { site: 'other' }, 40);
    await scene.set('bob', { site: 'other' }, 50);
    assert.deepEqual(await scene.latest({ site: 's' }), [['ann', { site: 's', page: '2' }, 30]]);
    assert.deepEqual(await scene.latest({ site: 's', page: '3' }), [['ann', { site: 's', page: '3' }, 20]]);
    assert.deepEqual(await scene.latest({ page: '4' }), []);
  });

  test('all pairs of a filter must be pairs of one durable location', async () => {
    const scene = await sceneOf('ann', 'bob', 'cid');
    await scene.set('ann', { page: '1', line: '1' }, 1);
    await scene.set('ann', { page: '2', line: '2' }, 2);
    await scene.set('bob', { page: '1' }, 3);
    await scene.set('bob', { line: '2' }, 4);
    await scene.set('cid', { page: '1', line: '2' }, 5);
    assert.deepEqual(await scene.users({ page: '1', line: '2' }), ['cid']);
  });

  test('a filter of durable presence compares pairs of a key and a value, whatever quotes are in them', async () => {
    const scene = await sceneOf('ann', 'bob', 'cid', 'dan', 'eve');
    await scene.set('ann', { a: 'b', c: 'd' }, 1);
    await scene.set('bob', { b: 'a', d: 'c' }, 2);
    await scene.set('cid', { a: 'b","c":"d' }, 3);
    await scene.set('dan', { 'a":"b","c': 'd' }, 4);
    await scene.set('eve', { a: 'b\\', c: '\\d' }, 5);
    assert.deepEqual(await scene.users({ a: 'b' }), ['ann']);
    assert.deepEqual(await scene.users({ c: 'd' }), ['ann']);
    assert.deepEqual(await scene.users({ a: 'b', c: 'd' }), ['ann']);
    assert.deepEqual(await scene.users({ a: 'b","c":"d' }), ['cid']);
    assert.deepEqual(await scene.users({ 'a":"b","c': 'd' }), ['dan']);
    assert.deepEqual(await scene.users({ a: 'b\\', c: '\\d' }), ['eve']);
  });

  test('durable locations whose texts collide in a weak hash are distinguished', async () => {
    const texts = ['AaAaAa', 'AaAaBB', 'BBAaAa', 'BBBBBB', '0', '00', ' 0', '0\u0000', '\u0000'];
    const users = numbered('u', texts.length);
    const scene = await sceneOf(...users);
    for (const [index, text] of texts.entries()) await scene.set(users[index] as string, { [text]: text }, 1);
    for (const [index, text] of texts.entries()) {
      assert.deepEqual(await scene.users({ [text]: text }), [users[index]]);
      assert.deepEqual(await scene.users({ [text]: text }, false), [users[index]]);
    }
    assert.deepEqual(await scene.users({ AaAaAa: 'AaAaBB' }), []);
  });

  test('a durable location of 16 pairs is found by each subset of them, and by no similar filter', async () => {
    const key = (index: number) => `key ${index} ${'k'.repeat(200)}`;
    const whole: Location = Object.fromEntries(
      Array.from({ length: 16 }, (_, index) => [key(index), `${index}${'v'.repeat(800)}`]),
    );
    const scene = await sceneOf('ann', 'bob');
    await scene.set('ann', whole, 1);
    await scene.set('bob', { ...whole, [key(7)]: 'another' }, 2);
    for (const count of [1, 2, 7]) {
      assert.deepEqual(await scene.users(Object.fromEntries(Object.entries(whole).slice(0, count))), [
        'ann',
        'bob',
      ]);
    }
    assert.deepEqual(await scene.users(Object.fromEntries(Object.entries(whole).slice(0, 8))), ['ann']);
    assert.deepEqual(await scene.users(whole), ['ann']);
    assert.deepEqual(await scene.users(whole, false), ['ann']);
    assert.deepEqual(await scene.users({ ...whole, [key(7)]: 'another' }, false), ['bob']);
    assert.deepEqual(await scene.users({ ...whole, [key(7)]: 'a third' }), []);
  });

  test('after a move a durable location is found by its new and its remaining pairs, not by the old ones', async () => {
    const scene = await sceneOf('ann');
    const region = { site: 's' };
    await scene.set('ann', { site: 's', page: '1' }, 1, region);
    await scene.set('ann', { site: 's', page: '1' }, 2, region);
    assert.deepEqual(await scene.latest({ page: '1' }), [['ann', { site: 's', page: '1' }, 2]]);
    await scene.set('ann', { site: 's', line: '9' }, 3, region);
    assert.deepEqual(await scene.users({ page: '1' }), []);
    assert.deepEqual(await scene.users({ site: 's', page: '1' }, false), []);
    for (const pattern of [{ site: 's' }, { line: '9' }, { line: '9', site: 's' }])
      assert.deepEqual(await scene.latest(pattern), [['ann', { site: 's', line: '9' }, 3]]);
  });

  test('a durable location that is its own region loses the pairs of a longer one that was set within it', async () => {
    const scene = await sceneOf('ann');
    await scene.set('ann', { page: '1', line: '9' }, 1, { page: '1' });
    await scene.set('ann', { page: '1' }, 2);
    assert.deepEqual(await scene.users({ line: '9' }), []);
    assert.deepEqual(await scene.latest({ page: '1' }), [['ann', { page: '1' }, 2]]);
  });

  test('the same durable location in several regions is read once, with the time of the last of them', async () => {
    const scene = await sceneOf('ann', 'bob');
    for (let index = 0; index < 20; index += 1)
      await scene.set('ann', { page: '1', site: 's' }, 100 + index, { region: `${(index * 7) % 20}` });
    await scene.set('bob', { page: '1', site: 's' }, 1);
    const expected = [
      ['ann', { page: '1', site: 's' }, 119],
      ['bob', { page: '1', site: 's' }, 1],
    ];
    assert.deepEqual(await scene.latest({ page: '1', site: 's' }, false), expected);
    assert.deepEqual(await scene.latest({ page: '1' }), expected);
  });

  test('a user with very many durable locations has one entry, the latest that matches, and hides no other user', async () => {
    const scene = await sceneOf('ann', 'big', 'cid');
    await scene.set('ann', { site: 's' }, 1);
    await scene.set('cid', { site: 's', page: '7' }, 1);
    const locations = Array.from({ length: 200 }, (_, index) => ({ site: 's', page: `${index}` }));
    // Matching locations that are older than very many others.
    const old = Array.from({ length: 12 }, (_, index) => ({ old: 'yes', page: `old ${index}` }));
    await scene.setAll('big', old, (index) => 500 + index);
    await scene.setAll('big', locations, (index) => 1_000 + ((index * 37) % 200));
    const newest = locations[(199 * 173) % 200];
    assert.equal(
      locations.findIndex((_, index) => (index * 37) % 200 === 199),
      (199 * 173) % 200,
    );
    assert.deepEqual(await scene.latest({ site: 's' }), [
      ['ann', { site: 's' }, 1],
      ['big', newest, 1_199],
      ['cid', { site: 's', page: '7' }, 1],
    ]);
    assert.deepEqual(await scene.latest({ old: 'yes' }), [['big', { old: 'yes', page: 'old 11' }, 511]]);
    assert.deepEqual(await scene.latest({ site: 's', page: '7' }), [
      ['big', { site: 's', page: '7' }, 1_000 + ((7 * 37) % 200)],
      ['cid', { site: 's', page: '7' }, 1],
    ]);
    assert.deepEqual(await scene.users({ old: 'yes', page: '7' }), []);
    assert.deepEqual(await scene.latest(null), [
      ['ann', { site: 's' }, 1],
      ['big', newest, 1_199],
      ['cid', { site: 's', page: '7' }, 1],
    ]);
  });

  test('a user set deleted with many matching durable locations does not shorten a page', async () => {
    const users = numbered('u', 6);
    const scene = await sceneOf(...users);
    for (const user of users)
      await scene.setAll(
        user,
        Array.from({ length: 30 }, (_, index) => ({ site: 's', page: `${index}` })),
        (index) => index + 1,
      );
    await scene.roster.applied({ users: users.slice(1, 4).map((id) => ({ id, status: 'deleted' })) });
    const expected = ['u000000', 'u000004', 'u000005'];
    for (const pattern of [null, { site: 's' }, { site: 's', page: '3' }]) {
      assert.deepEqual(await scene.users(pattern), expected);
      assert.deepEqual(await scene.walk(pattern, 2), expected);
    }
    assert.deepEqual(await scene.users({ site: 's', page: '3' }, false), expected);
  });

  test('random filters find random durable locations as a naive search does, on pages of any length', async () => {
    const random = new Random(20_260);
    const users = [...numbered('u', 25), '\u{ff21}', '\u{1f600}', '\u{1f600}x'];
    const scene = await sceneOf(...users);
    const location = (most: number): Location => {
      const keys = random.some(['page', 'site', 'line', '"'], most);
      return Object.fromEntries(
        (keys.length === 0 ? ['page'] : keys).map((key) => [key, random.pick(['1', '2'])]),
      );
    };
    const drawn = Array.from({ length: 150 }, () => ({ user: random.pick(users), location: location(3) }));
    for (const [index, each] of drawn.entries()) await scene.set(each.user, each.location, index + 1);
    for (let round = 0; round < 60; round += 1) {
      const [pattern, partial] = [location(3), random.chance(0.7)];
      const passes = (location: Location) =>
        partial
          ? locationMatches(location, pattern)
          : canonicalLocation(location) === canonicalLocation(pattern);
      const expected = scene.naively(passes);
      assert.deepEqual(await scene.latest(pattern, partial), expected, canonicalLocation(pattern));
      assert.deepEqual(
        await scene.walk(pattern, 1 + random.below(5), partial),
        expected.map(([user]) => user),
      );
    }
  });
}

type Found = readonly [user: string, location: Location, at: number];

/** A group `g`, the locations set in it, and its readings. */
class DurableScene {
  readonly roster: Roster;
  readonly #locations = new Map<string, Found>();

  constructor(roster: Roster) {
    this.roster = roster;
  }

  /** Sets a location at `now`; the times of one user must ascend. */
  async set(userId: string, location: Location, now: number, region: Location = location): Promise<void> {
    const update = this.#note(userId, location, now, region);
    const { store, key } = this.roster;
    const outcome = await store.durablePresence.put(key, update, { now, revision: 'p', ...BY_TEST });
    assert.ok(outcome.kind === 'set' && outcome.at === now);
  }

  /** Sets locations in the order of their times. */
  async setAll(user: string, locations: readonly Location[], at: (index: number) => number): Promise<void> {
    const timed = locations.map((location, index) => ({ location, now: at(index) }));
    for (const { location, now } of timed.toSorted((a, b) => a.now - b.now))
      await this.set(user, location, now);
  }

  #note(userId: string, location: Location, at: number, region: Location) {
    const [text, of] = [canonicalLocation(location), canonicalLocation(region)];
    this.#locations.set(JSON.stringify([userId, of]), [userId, location, at]);
    return { userId, groupId: 'g', region: of, location: text };
  }

  async latest(pattern: Location | null, partial = true): Promise<Found[]> {
    return (await this.#page(pattern, partial, null, 10_000)).map(({ userId, location, at }) => [
      userId,
      JSON.parse(location),
      at,
    ]);
  }

  async users(pattern: Location | null, partial = true): Promise<string[]> {
    return (await this.#page(pattern, partial, null, 10_000)).map(({ userId }) => userId);
  }

  /** The users of all pages of that length, one page after the other. */
  async walk(pattern: Location | null, limit: number, partial = true): Promise<string[]> {
    const users: string[] = [];
    for (;;) {
      const page = await this.#page(pattern, partial, users.at(-1) ?? null, limit);
      users.push(...page.map(({ userId }) => userId));
      if (page.length < limit) return users;
    }
  }

  /** The latest location of each user that passes, found by reading all locations. */
  naively(passes: (location: Location) => boolean): Found[] {
    const latest = new Map<string, Found>();
    for (const found of this.#locations.values()) {
      const [user, location, at] = found;
      if (passes(location) && at > (latest.get(user)?.[2] ?? 0)) latest.set(user, found);
    }
    return [...latest.values()].sort(([a], [b]) => compareCodePoints(a, b));
  }

  #page(
    pattern: Location | null,
    partial: boolean,
    after: string | null,
    limit: number,
  ): Promise<DurablePresence[]> {
    const filter: LocationFilter =
      pattern === null ? null : { location: canonicalLocation(pattern), partial };
    return this.roster.store.durablePresence.list(this.roster.key, 'g', filter, { after, limit });
  }
}
