/** Durable presence needs an eligible user, and ends with the membership. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shown } from '../../support/shown-eligibility.ts';
import { EVERYWHERE, found, PAGE_1, PAGE_2, presentUsers, putPresence } from './durable-presence.ts';
import type { Roster } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

export function durableEndingContract(lab: StoreLab): void {
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
      assert.deepEqual(await presentUsers(roster, EVERYWHERE), []);
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
      const roster = await lab.projectWithGroup('g', 'ann', 'bob');
      await roster.groupOf('other', 'ann');
      await putPresence(roster, 'ann', PAGE_1, 1);
      await putPresence(roster, 'ann', PAGE_2, 2);
      await end(roster);
      assert.equal(await found(roster, 'ann'), null);
      await roster.groupOf('g', 'ann', 'bob');
      assert.equal(await found(roster, 'ann'), null);
      assert.deepEqual(await presentUsers(roster, EVERYWHERE), []);
    });
  }

  const rejected: readonly [why: string, change: (roster: Roster) => Promise<unknown>][] = [
    [
      'that names an unknown user',
      (roster) => roster.changeMembers('g', { add: ['nobody'], remove: ['ann'] }),
    ],
    [
      "whose revision is not the group's",
      (roster) => roster.changeMembers('g', { remove: ['ann'] }, { ifMatch: ['another'] }),
    ],
  ];
  for (const [why, change] of rejected) {
    test(`a change of members ${why} ends no durable presence`, async () => {
      const roster = await lab.projectWithGroup('g', 'ann', 'bob');
      await putPresence(roster, 'ann', PAGE_1, 1);
      await change(roster);
      assert.equal((await found(roster, 'ann'))?.location, PAGE_1);
    });
  }

  test('durable presence in one group does not change that in another', async () => {
    const roster = await lab.projectWithGroup('g', 'ann');
    await roster.groupOf('other', 'ann');
    await putPresence(roster, 'ann', PAGE_1, 1);
    assert.equal(await lab.store.durablePresence.find(roster.key, 'other', 'ann'), null);
    await roster.deleteGroup('other');
    assert.equal((await found(roster, 'ann'))?.location, PAGE_1);
  });

  test('durable presence of a user or group that does not exist is null, and the listing is empty', async () => {
    const roster = await lab.project();
    assert.equal(await found(roster, 'ann'), null);
    assert.deepEqual(await presentUsers(roster, EVERYWHERE), []);
  });
}
