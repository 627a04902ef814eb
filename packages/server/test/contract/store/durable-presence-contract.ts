import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalLocation, type Location } from '@rollcall/protocol';
import type { LocationFilter } from '../../../src/values/location-filter.ts';
import { BY_TEST } from '../../support/origin.ts';
import { shown } from '../../support/shown-eligibility.ts';
import { numbered, type Roster } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

const PAGE_1 = canonicalLocation({ page: '1' });
const PAGE_2 = canonicalLocation({ page: '2' });
const SITE = canonicalLocation({ site: 's' });
const EVERYWHERE = null;

export function presenceContract(lab: StoreLab): void {
  test('durable presence is stored with its time, and a region has one location', async () => {
    const roster = await lab.project();
    await roster.groupOf('g', 'ann');
    assert.deepEqual(await putPresence(roster, 'ann', PAGE_1, 10, SITE), setAt(10, null));
    assert.deepEqual(await found(roster, 'ann'), { userId: 'ann', location: PAGE_1, at: 10 });
    assert.deepEqual(await putPresence(roster, 'ann', PAGE_2, 20, SITE), setAt(20, PAGE_1));
    assert.deepEqual(await found(roster, 'ann'), { userId: 'ann', location: PAGE_2, at: 20 });
    assert.deepEqual(await places(roster, { location: PAGE_1, partial: false }), []);
  });

  test('an update of the same location renews its time', async () => {
    const roster = await lab.project();
    await roster.groupOf('g', 'ann');
    await putPresence(roster, 'ann', PAGE_1, 10);
    assert.deepEqual(await putPresence(roster, 'ann', PAGE_1, 30), setAt(30, PAGE_1, false));
    assert.equal((await found(roster, 'ann'))?.at, 30);
  });

  test('of several regions the latest location that passes the filter is read', async () => {
    const roster = await lab.project();
    await roster.groupOf('g', 'ann');
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

  test('an exact filter takes the location itself, a partial one every location that has all of its pairs', async () => {
    const roster = await lab.project();
    await roster.groupOf('g', 'ann', 'bob', 'cid', 'dan');
    const place = async (user: string, location: Location) =>
      putPresence(roster, user, canonicalLocation(location), 1);
    await place('ann', { page: '1' });
    await place('bob', { page: '1', paragraph: '7' });
    await place('cid', { page: '11', paragraph: '7' });
    await place('dan', { paragraph: '7', page: '1', 'line "x"': '\\' });
    const filtered = (location: Location, partial: boolean) =>
      places(roster, { location: canonicalLocation(location), partial });
    assert.deepEqual(await filtered({ page: '1' }, false), ['ann']);
    assert.deepEqual(await filtered({ page: '1' }, true), ['ann', 'bob', 'dan']);
    assert.deepEqual(await filtered({ paragraph: '7' }, true), ['bob', 'cid', 'dan']);
    assert.deepEqual(await filtered({ paragraph: '7', page: '1' }, true), ['bob', 'dan']);
    assert.deepEqual(await filtered({ 'line "x"': '\\' }, true), ['dan']);
    assert.deepEqual(await filtered({ '': '' }, true), []);
  });

  test('a filter compares whole keys and values, whatever characters are in them', async () => {
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
      await places(roster, { location: canonicalLocation({ like: '100x_' }), partial: true }),
      [],
    );
  });

  test('presence is listed in order of user ID, after an ID, at most so many users', async () => {
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

  test('a user set deleted is left out of the listing, and listed with the same location when set active', async () => {
    const roster = await lab.project();
    await roster.groupOf('g', 'ann', 'bob');
    await putPresence(roster, 'ann', PAGE_1, 1);
    await putPresence(roster, 'bob', PAGE_1, 2);
    await roster.putUser('ann', { status: 'deleted' });
    assert.deepEqual(await places(roster, EVERYWHERE), ['bob']);
    assert.deepEqual(await places(roster, { location: PAGE_1, partial: true }), ['bob']);
    await roster.applied({ users: [{ id: 'ann', status: 'active' }] });
    assert.deepEqual(await listed(roster, EVERYWHERE), [
      { userId: 'ann', location: PAGE_1, at: 1 },
      { userId: 'bob', location: PAGE_1, at: 2 },
    ]);
  });

  test('users who are set deleted do not shorten a page of presence', async () => {
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

  const rejections: readonly [
    why: string,
    prepare: (roster: Roster) => Promise<unknown>,
    eligibility: object,
  ][] = [
    [
      'a user who does not exist',
      (roster) => roster.groupOf('g'),
      { user: null, group: 'active', member: false },
    ],
    [
      'a group that does not exist',
      (roster) => roster.users('ann'),
      { user: 'active', group: null, member: false },
    ],
    [
      'a user who is no member',
      async (roster) => {
        await roster.groupOf('g');
        await roster.users('ann');
      },
      { user: 'active', group: 'active', member: false },
    ],
    [
      'a user set deleted',
      async (roster) => {
        await roster.groupOf('g', 'ann');
        await roster.putUser('ann', { status: 'deleted' });
      },
      { user: 'deleted', group: 'active', member: true },
    ],
    [
      'a group set deleted',
      async (roster) => {
        await roster.groupOf('g', 'ann');
        await roster.putGroup('g', { status: 'deleted' });
      },
      { user: 'active', group: 'deleted', member: true },
    ],
  ];
  for (const [why, prepare, eligibility] of rejections) {
    test(`durable presence of ${why} is rejected with the eligibility, and nothing is stored`, async () => {
      const roster = await lab.project();
      await prepare(roster);
      const outcome = await putPresence(roster, 'ann', PAGE_1, 1);
      assert.ok(outcome.kind === 'rejected');
      assert.deepEqual(shown(outcome.eligibility), eligibility);
      await roster.applied({
        users: [{ id: 'ann', status: 'active' }],
        groups: [{ id: 'g', name: 'g', status: 'active' }],
      });
      assert.equal(await found(roster, 'ann'), null);
      assert.deepEqual(await places(roster, EVERYWHERE), []);
    });
  }

  const endings: readonly [how: string, end: (roster: Roster) => Promise<unknown>][] = [
    ['leaving the group by a list of members', (roster) => roster.putGroup('g', { members: ['bob'] })],
    ['being removed from the group', (roster) => roster.changeMembers('g', { remove: ['ann'] })],
    ['leaving the group in a batch', (roster) => roster.applied({ groups: [{ id: 'g', members: ['bob'] }] })],
    ['deleting the group', (roster) => roster.deleteGroup('g')],
    ['deleting the user', (roster) => roster.deleteUser('ann')],
  ];
  for (const [how, end] of endings) {
    test(`${how} ends durable presence for good`, async () => {
      const roster = await lab.project();
      await roster.groupOf('g', 'ann', 'bob');
      await roster.groupOf('other', 'ann');
      await putPresence(roster, 'ann', PAGE_1, 1);
      await putPresence(roster, 'ann', PAGE_2, 2);
      await end(roster);
      assert.equal(await found(roster, 'ann'), null);
      await roster.groupOf('g', 'ann', 'bob');
      assert.equal(await found(roster, 'ann'), null);
      assert.deepEqual(await places(roster, EVERYWHERE), []);
    });
  }

  test('durable presence in one group does not change that in another', async () => {
    const roster = await lab.project();
    await roster.groupOf('g', 'ann');
    await roster.groupOf('other', 'ann');
    await putPresence(roster, 'ann', PAGE_1, 1);
    assert.equal(await lab.store.durablePresence.find(roster.key, 'other', 'ann'), null);
    await roster.deleteGroup('other');
    assert.equal((await found(roster, 'ann'))?.location, PAGE_1);
  });

  test('durable presence of a user or group that does not exist is null, and the listing is empty', async () => {
    const roster = await lab.project();
    assert.equal(await found(roster, 'ann'), null);
    assert.deepEqual(await places(roster, EVERYWHERE), []);
  });
}

function putPresence(roster: Roster, userId: string, location: string, now: number, region = location) {
  const context = { now, revision: `p${now}`, ...BY_TEST };
  return roster.store.durablePresence.put(roster.key, { userId, groupId: 'g', region, location }, context);
}

/** The outcome of an update that moved `ann`, or refreshed her location. */
const setAt = (at: number, previous: string | null, moves = true) => ({
  ...{ kind: 'set', previous, at, endedTo: null },
  changes: moves ? [{ type: 'durable_presence.moved', group: 'g', user: 'ann' }] : [],
});

const found = (roster: Roster, userId: string) => roster.store.durablePresence.find(roster.key, 'g', userId);

const listed = (roster: Roster, filter: LocationFilter) =>
  roster.store.durablePresence.list(roster.key, 'g', filter, { after: null, limit: 10_000 });

const places = async (roster: Roster, filter: LocationFilter) =>
  (await listed(roster, filter)).map(({ userId }) => userId);
