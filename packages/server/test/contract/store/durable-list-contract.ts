/** Lists of updates of durable presence: one atomic write, in which each update has the outcome that it has by itself. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalLocation, limits } from '@rollcall/protocol';
import type { DurablePresenceUpdate } from '../../../src/store/ports/durable-presence.ts';
import { BY_TEST } from '../../support/origin.ts';
import { recordsAfter } from '../../support/recorded.ts';
import { changeTexts } from './entries.ts';
import { numbered, type Roster } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

const QUARTER = limits.DURABLE_LOCATIONS_MAX_BYTES / 4;
const SITE = canonicalLocation({ site: 's' });
const EVERYONE = { after: null, limit: 10_000 };

const page = (name: string, text = '') => canonicalLocation({ page: name, site: 's', text });
/** The update of a user in a group; without a region, the location is its own. */
const at = (userId: string, location: string, region = location, groupId = 'g'): DurablePresenceUpdate => ({
  userId,
  groupId,
  region,
  location,
});

const MIXED: readonly DurablePresenceUpdate[] = [
  ...[at('ann', page('1')), at('bob', page('1')), at('ann', page('2'), SITE), at('nobody', page('1'))],
  ...[at('off', page('1')), at('dan', page('1')), at('ann', page('1'), page('1'), 'shut')],
  ...[at('ann', page('3'), SITE), at('ann', page('1')), at('ann', page('1'), page('1'), 'h')],
  ...[at('ann', page('3'), SITE), at('bob', page('9', 'é"\\{},')), at('ann', page('1'), page('1'), 'none')],
];
/** About a quarter of the bytes that a user may have, each: the bound is met, exceeded, and met again by a shorter text. */
const LONG: readonly DurablePresenceUpdate[] = [
  ...['a', 'b', 'c'].map((name) => at('ann', page(name, 'x'.repeat(QUARTER - 100)))),
  ...[at('bob', page('1')), at('ann', page('d', 'x'.repeat(QUARTER)), SITE), at('ann', page('d'), SITE)],
  ...[at('ann', page('e', 'x'.repeat(2 * QUARTER))), at('ann', page('f')), at('ann', page('b'))],
];

/** Groups `g` and `h`; the user `off` and the group `shut` are deleted, and dan is in no group. */
async function stock(lab: StoreLab): Promise<Roster> {
  const roster = await lab.projectWithGroup('g', 'ann', 'bob', 'off');
  await roster.groupOf('h', 'ann');
  await roster.groupOf('shut', 'ann');
  await roster.users('dan');
  await roster.putUser('off', { status: 'deleted' });
  await roster.putGroup('shut', { status: 'deleted' });
  return roster;
}

const context = (now: number, requestId: string | null = null) => ({
  ...{ now, revision: `p${now}`, ...BY_TEST },
  requestId,
});

const durableRecords = async ({ store, key }: Roster) =>
  (await recordsAfter(store, key, 0)).filter(({ changes }) =>
    changes.some(({ type }) => type.startsWith('durable_presence')),
  );

const present = ({ store, key }: Roster, groupId: string) =>
  store.durablePresence.list(key, groupId, null, EVERYONE);

export function durableListContract(lab: StoreLab): void {
  const lists = { 'of several users, regions and rejections': MIXED, 'that exceeds the bounds': LONG };
  for (const [what, updates] of Object.entries(lists)) {
    test(`a list of durable updates ${what} has the outcomes and changes that they have one by one`, async () => {
      const [many, single] = [await stock(lab), await stock(lab)];
      // The second time, all regions have a location, and the clock is behind.
      for (const now of [5_000, 4_000]) {
        const { outcomes, changes } = await many.store.durablePresence.putMany(
          many.key,
          updates,
          context(now),
        );
        const expected = [];
        for (const update of updates)
          expected.push(await single.store.durablePresence.put(single.key, update, context(now)));
        // Memberships of two projects are not the same.
        const comparable = (each: readonly object[]) =>
          each.map((outcome) => JSON.stringify(outcome).replace(/"incarnation":[^,}]+/, ''));
        assert.deepEqual(comparable(outcomes), comparable(expected));
        assert.deepEqual(
          changes,
          expected.flatMap((each) => (each.kind === 'set' ? each.changes : [])),
        );
      }
      for (const group of ['g', 'h', 'shut'])
        assert.deepEqual(await present(many, group), await present(single, group));
      const texts = async (roster: Roster) =>
        (await durableRecords(roster)).flatMap(({ changes }) => changeTexts(changes));
      assert.deepEqual(await texts(many), await texts(single));
    });
  }

  test('partial filters find the locations that a list of durable updates has set, and none that it has replaced', async () => {
    const roster = await stock(lab);
    const put = (name: string) =>
      roster.store.durablePresence.putMany(
        roster.key,
        ['ann', 'bob'].map((user) => at(user, page(name), SITE)),
        context(10),
      );
    const users = async (name: string) => {
      const filter = { location: canonicalLocation({ page: name }), partial: true };
      const found = await roster.store.durablePresence.list(roster.key, 'g', filter, EVERYONE);
      return found.map(({ userId }) => userId);
    };
    await put('1');
    assert.deepEqual(await users('1'), ['ann', 'bob']);
    await put('2');
    assert.deepEqual([await users('1'), await users('2')], [[], ['ann', 'bob']]);
  });

  test('the changes of a list of durable updates are adjacent in the record, also where lists with the same users race', async () => {
    const roster = await lab.project();
    const users = numbered('u', 40);
    await roster.groupOf('g', ...users);
    await roster.groupOf('h', ...users);
    const list = (name: string) =>
      users.flatMap((user) => ['g', 'h'].map((group) => at(user, page(name), SITE, group)));
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    await Promise.all(
      names.map((name, index) => {
        const updates = index % 2 === 0 ? list(name) : list(name).reverse();
        return roster.store.durablePresence.putMany(roster.key, updates, context(10, name));
      }),
    );
    const records = await durableRecords(roster);
    const order = records.map(({ requestId }) => requestId);
    const runs = order.filter((each, index) => each !== order[index - 1]);
    assert.deepEqual([...runs].sort(), names, 'each list is one run of records');
    assert.equal(records.flatMap(({ changes }) => changes).length, names.length * 80);
    const [last] = await present(roster, 'g');
    assert.equal(last?.location, page(runs.at(-1) as string), 'the last in the record is the last commit');
  });

  test('a list of durable updates that races with the deletion of its group is applied whole or rejected whole', async () => {
    for (const isFirst of [true, false]) {
      const roster = await lab.project();
      const users = numbered('u', 30);
      await roster.groupOf('g', ...users);
      const put = () =>
        roster.store.durablePresence.putMany(
          roster.key,
          users.toReversed().map((user) => at(user, page('1'))),
          context(10),
        );
      const end = () => roster.deleteGroup('g');
      const racing = isFirst ? [put(), end()] : [end(), put()];
      const answers = await Promise.all(racing);
      const [written = assert.fail('an answer')] = answers.filter((answer) => 'outcomes' in answer);
      const kinds = new Set(written.outcomes.map(({ kind }) => kind));
      assert.equal(kinds.size, 1);
      assert.equal(written.changes.length, kinds.has('set') ? users.length : 0);
      assert.deepEqual(await present(roster, 'g'), []);
    }
  });

  test('an empty list of durable updates changes nothing', async () => {
    const roster = await stock(lab);
    const nothing = { outcomes: [], changes: [] };
    assert.deepEqual(await roster.store.durablePresence.putMany(roster.key, [], context(1)), nothing);
  });
}
