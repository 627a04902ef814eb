import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalLocation, type Location } from '@rollcall/protocol';
import type { LocationFilter } from '../../../src/values/location-filter.ts';
import { EVERYWHERE, found, listed, PAGE_1, PAGE_2, presentUsers, putPresence } from './durable-presence.ts';
import { numbered } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

const SITE = canonicalLocation({ site: 's' });

export function presenceContract(lab: StoreLab): void {
  test('durable presence is stored with its time, and a region has one location', async () => {
    const roster = await lab.projectWithGroup('g', 'ann');
    assert.deepEqual(await putPresence(roster, 'ann', PAGE_1, 10, SITE), setAt(10, null, null));
    assert.deepEqual(await found(roster, 'ann'), { userId: 'ann', location: PAGE_1, at: 10 });
    assert.deepEqual(await putPresence(roster, 'ann', PAGE_2, 20, SITE), setAt(20, PAGE_1, 10));
    assert.deepEqual(await found(roster, 'ann'), { userId: 'ann', location: PAGE_2, at: 20 });
    assert.deepEqual(await presentUsers(roster, { location: PAGE_1, partial: false }), []);
  });

  test('an update of the same durable location renews its time', async () => {
    const roster = await lab.projectWithGroup('g', 'ann');
    await putPresence(roster, 'ann', PAGE_1, 10);
    assert.deepEqual(await putPresence(roster, 'ann', PAGE_1, 30), setAt(30, PAGE_1, 10, false));
    assert.equal((await found(roster, 'ann'))?.at, 30);
  });

  test('the latest durable location that passes the filter is read among several regions', async () => {
    const roster = await lab.projectWithGroup('g', 'ann');
    await putPresence(roster, 'ann', PAGE_2, 40);
    await putPresence(roster, 'ann', PAGE_1, 50);
    assert.deepEqual(await found(roster, 'ann'), { userId: 'ann', location: PAGE_1, at: 50 });
    assert.deepEqual(await listed(roster, EVERYWHERE), [{ userId: 'ann', location: PAGE_1, at: 50 }]);
    assert.deepEqual(await listed(roster, { location: PAGE_2, partial: false }), [
      { userId: 'ann', location: PAGE_2, at: 40 },
    ]);
    await putPresence(roster, 'ann', PAGE_2, 60);
    assert.deepEqual(await found(roster, 'ann'), { userId: 'ann', location: PAGE_2, at: 60 });
  });

  test('an exact filter of durable presence matches the location itself, a partial one every location that has all of its pairs', async () => {
    const roster = await lab.projectWithGroup('g', 'ann', 'bob', 'cid', 'dan');
    const set = async (user: string, location: Location) =>
      putPresence(roster, user, canonicalLocation(location), 1);
    await set('ann', { page: '1' });
    await set('bob', { page: '1', paragraph: '7' });
    await set('cid', { page: '11', paragraph: '7' });
    await set('dan', { paragraph: '7', page: '1', 'line "x"': '\\' });
    const filtered = (location: Location, partial: boolean) =>
      presentUsers(roster, { location: canonicalLocation(location), partial });
    assert.deepEqual(await filtered({ page: '1' }, false), ['ann']);
    assert.deepEqual(await filtered({ page: '1' }, true), ['ann', 'bob', 'dan']);
    assert.deepEqual(await filtered({ paragraph: '7' }, true), ['bob', 'cid', 'dan']);
    assert.deepEqual(await filtered({ paragraph: '7', page: '1' }, true), ['bob', 'dan']);
    assert.deepEqual(await filtered({ 'line "x"': '\\' }, true), ['dan']);
    assert.deepEqual(await filtered({ '': '' }, true), []);
  });

  test('a filter of durable presence compares whole keys and values, whatever characters are in them', async () => {
    const roster = await lab.project();
    const odd: Location[] = [
      { 'a.b': '1' },
      { 'a"b': '1' },
      { $: 'x', '[0]': 'y' },
      { '': 'empty key' },
      { 'nul\0': 'nul\0' },
      { lone: '\ud800' },
      { '\udfff': 'lone key' },
      { emoji: '\u{1f469}\u200d\u{1f4bb}', separator: '\u2028' },
      { __proto__x: '%', like: '100%_' },
      JSON.parse('{"__proto__":"own"}'),
    ];
    const users = numbered('u', odd.length);
    await roster.groupOf('g', ...users);
    for (const [index, location] of odd.entries()) {
      const outcome = await putPresence(roster, users[index] as string, canonicalLocation(location), index);
      assert.equal(outcome.kind, 'set');
    }
    for (const [index, location] of odd.entries()) {
      const text = canonicalLocation(location);
      const expected = [{ userId: users[index], location: text, at: index }];
      for (const partial of [false, true])
        assert.deepEqual(await listed(roster, { location: text, partial }), expected);
    }
    assert.deepEqual(
      await presentUsers(roster, { location: canonicalLocation({ like: '100x_' }), partial: true }),
      [],
    );
  });

  test('durable presence is listed in order of user ID, after an ID, up to a limit of users', async () => {
    const roster = await lab.project();
    const users = ['a', 'b', '\u{ff21}', '\u{1f600}'];
    await roster.groupOf('g', ...users);
    for (const [index, user] of [...users].reverse().entries()) {
      await putPresence(roster, user, PAGE_1, index);
      await putPresence(roster, user, PAGE_2, index);
    }
    const page = async (after: string | null, limit: number, filter: LocationFilter = EVERYWHERE) =>
      (await lab.store.durablePresence.list(roster.key, 'g', filter, { after, limit })).map(
        ({ userId }) => userId,
      );
    for (const filter of [
      EVERYWHERE,
      { location: PAGE_1, partial: false },
      { location: PAGE_1, partial: true },
    ]) {
      assert.deepEqual(await page(null, 10, filter), users);
      assert.deepEqual(await page(null, 3, filter), users.slice(0, 3));
      assert.deepEqual(await page('\u{ff21}', 3, filter), users.slice(3));
      assert.deepEqual(await page('aa', 1, filter), ['b'], 'the ID it starts after need not be there');
    }
  });

  test('a user set deleted is not in the list of durable presence, and is listed with the same location when set active', async () => {
    const roster = await lab.projectWithGroup('g', 'ann', 'bob');
    await putPresence(roster, 'ann', PAGE_1, 1);
    await putPresence(roster, 'bob', PAGE_1, 2);
    await roster.putUser('ann', { status: 'deleted' });
    assert.deepEqual(await presentUsers(roster, EVERYWHERE), ['bob']);
    assert.deepEqual(await presentUsers(roster, { location: PAGE_1, partial: true }), ['bob']);
    await roster.applied({ users: [{ id: 'ann', status: 'active' }] });
    assert.deepEqual(await listed(roster, EVERYWHERE), [
      { userId: 'ann', location: PAGE_1, at: 1 },
      { userId: 'bob', location: PAGE_1, at: 2 },
    ]);
  });

  test('users who are set deleted do not shorten a page of durable presence', async () => {
    const roster = await lab.project();
    const users = numbered('u', 6);
    await roster.groupOf('g', ...users);
    for (const user of users) await putPresence(roster, user, PAGE_1, 1);
    await roster.applied({ users: users.slice(0, 4).map((id) => ({ id, status: 'deleted' })) });
    const page = await lab.store.durablePresence.list(roster.key, 'g', EVERYWHERE, { after: null, limit: 2 });
    assert.deepEqual(
      page.map(({ userId }) => userId),
      users.slice(4),
    );
  });
}

/** The outcome of an update that moved `ann`, or refreshed her location. */
const setAt = (at: number, previous: string | null, latestBefore: number | null, moves = true) => ({
  ...{ kind: 'set', previous, at, latestBefore, endedTo: null },
  changes: moves ? [{ type: 'durable_presence.moved', group: 'g', user: 'ann' }] : [],
});
