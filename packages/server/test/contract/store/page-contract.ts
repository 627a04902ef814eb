import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareCodePoints } from '@rollcall/protocol';
import { entriesIn, entriesOf, idsOf, type ListPage } from './entries.ts';
import { numbered, type Roster } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

/** IDs that UTF-16 order, locale order and case-insensitive order would all put elsewhere. */
const ODD_ORDER = [
  ' ',
  '!',
  '"',
  '0',
  '10',
  '9',
  'A',
  'B',
  '\\',
  '_',
  'a',
  'a ',
  'a/b',
  'aa',
  'b',
  '\u{e4}',
  '\u{fb}',
  '\u{11f}',
  '\u{4e2d}',
  '\u{d7a3}',
  '\u{fb01}',
  '\u{ff21}',
  '\u{1d306}',
  '\u{1f600}',
  '\u{20000}',
];

/** A list of the API, and how an entry comes into it and goes. */
interface Listing {
  readonly name: string;
  prepare(roster: Roster): Promise<unknown>;
  add(roster: Roster, ids: readonly string[]): Promise<unknown>;
  remove(roster: Roster, id: string): Promise<unknown>;
  list(roster: Roster): ListPage;
}

const LISTINGS: readonly Listing[] = [
  {
    name: 'groups',
    prepare: async () => {},
    add: (roster, ids) => roster.applied({ groups: ids.map((id) => ({ id, name: 'N' })) }),
    remove: (roster, id) => roster.deleteGroup(id),
    list: (roster) => roster.listGroups,
  },
  {
    name: 'users',
    prepare: async () => {},
    add: (roster, ids) => roster.users(...ids),
    remove: (roster, id) => roster.deleteUser(id),
    list: (roster) => roster.listUsers,
  },
  {
    name: 'members of a group',
    prepare: (roster) => roster.groupOf('the group'),
    add: async (roster, ids) => {
      await roster.users(...ids);
      await roster.changeMembers('the group', { add: ids });
    },
    remove: (roster, id) => roster.changeMembers('the group', { remove: [id] }),
    list: (roster) => roster.membersOf('the group'),
  },
  {
    name: 'groups of a user',
    prepare: (roster) => roster.users('the user'),
    add: (roster, ids) =>
      roster.applied({ groups: ids.map((id) => ({ id, name: 'N', members: ['the user'] })) }),
    remove: (roster, id) => roster.changeMembers(id, { remove: ['the user'] }),
    list: (roster) => roster.groupsOf('the user'),
  },
];

export function pageContract(lab: StoreLab): void {
  for (const { name, prepare, add, remove, list } of LISTINGS) {
    const rosterWith = async (ids: readonly string[]) => {
      const roster = await lab.project();
      await prepare(roster);
      await add(roster, ids);
      return roster;
    };

    test(`${name}: the list is in ascending order of code points, whatever the order of the writes`, async () => {
      const roster = await rosterWith([...ODD_ORDER].reverse());
      assert.deepEqual(ODD_ORDER, [...ODD_ORDER].sort(compareCodePoints));
      assert.deepEqual(await idsOf(list(roster)), ODD_ORDER);
      for (const limit of [1, 2, 7])
        assert.deepEqual(await idsOf(list(roster), limit), ODD_ORDER, `pages of ${limit}`);
    });

    test(`${name}: an empty list is one empty last page`, async () => {
      const roster = await rosterWith([]);
      const { items, count, last } = await list(roster)({ after: null, limit: 5 });
      assert.deepEqual([items, count, last], ['', 0, null]);
    });

    test(`${name}: a page that ends at the end of the list is the last`, async () => {
      const roster = await rosterWith(['a', 'b', 'c', 'd']);
      assert.equal((await list(roster)({ after: null, limit: 4 })).last, null);
      assert.equal((await list(roster)({ after: 'c', limit: 5 })).last, null);
      const past = await list(roster)({ after: 'd', limit: 5 });
      assert.deepEqual([past.items, past.count, past.last], ['', 0, null]);
    });

    test(`${name}: a page starts after an ID that need not exist`, async () => {
      const roster = await rosterWith(['a', 'c', 'e']);
      const from = async (after: string) =>
        entriesIn(await list(roster)({ after, limit: 9 })).map(({ id }) => id);
      assert.deepEqual(await from('b'), ['c', 'e']);
      assert.deepEqual(await from('c'), ['e']);
      assert.deepEqual(await from('!'), ['a', 'c', 'e']);
    });

    test(`${name}: entries that are added and removed between pages make no other entry appear twice or vanish`, async () => {
      const steady = numbered('s', 40);
      const roster = await rosterWith([...steady, ...numbered('gone', 20), ...numbered('s000010-gone', 9)]);
      const seen: string[] = [];
      let after: string | null = null;
      for (let round = 0; round === 0 || after !== null; round += 1) {
        const page = await list(roster)({ after, limit: 7 });
        seen.push(...entriesIn(page).map(({ id }) => id));
        after = page.last;
        // Before, at and after the position that was reached.
        await add(roster, [`a${round}`, `${after ?? 'z'}-new`, `z${round}`]);
        const leaving = seen.findLast((id) => id.includes('gone'));
        if (leaving !== undefined) await remove(roster, leaving);
        await remove(roster, `s000010-gone00000${round}`);
      }
      assert.deepEqual(
        seen.filter((id) => /^s\d{6}$/.test(id)),
        steady,
      );
      assert.equal(new Set(seen).size, seen.length, 'no entry appears twice');
      assert.deepEqual(seen, [...seen].sort(compareCodePoints));
    });
  }

  test('users and groups are listed by ID as the whole list has them, without those that do not exist', async () => {
    const roster = await lab.projectWithUsers(...ODD_ORDER, 'other');
    await roster.applied({ groups: [...ODD_ORDER, 'other'].map((id) => ({ id, name: `N${id}` })) });
    const requested = ['nothing', ...ODD_ORDER.toReversed(), 'a'];
    for (const [port, list] of [
      [roster.store.users, roster.listUsers],
      [roster.store.groups, roster.listGroups],
    ] as const) {
      const whole = (await entriesOf(list)).filter(({ id }) => id !== 'other');
      const { items, count } = await port.listByIds(roster.key, requested);
      assert.deepEqual(JSON.parse(`[${items}]`), whole);
      assert.equal(count, whole.length);
    }
  });

  test('a list is read in pages of the largest limit, however many pages the driver reads', async () => {
    const roster = await lab.project();
    const ids = numbered('u', 10_000);
    await roster.users(...ids);
    assert.deepEqual(await idsOf(roster.listUsers, 10_000), ids);
    assert.equal((await entriesOf(roster.listUsers, 3_000)).length, 10_000);
  });
}
