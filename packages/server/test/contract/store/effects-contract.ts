import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Effects } from '../../../src/store/store.ts';
import { departuresOf } from './entries.ts';
import type { Roster } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

const NOBODY: Effects = {
  departures: [],
  deactivated: [],
  reactivated: [],
  deactivatedGroups: [],
  reactivatedGroups: [],
};

export function effectsContract(lab: StoreLab): void {
  const stocked = async () => {
    const roster = await lab.project();
    await roster.groupOf('g', 'ann', 'bob', 'cid');
    await roster.groupOf('h', 'ann');
    await roster.users('dan');
    return roster;
  };

  const departures: readonly [
    how: string,
    run: (roster: Roster) => Promise<object>,
    expected: readonly string[],
  ][] = [
    [
      'a list of members',
      (roster) => roster.putGroup('g', { members: ['bob', 'dan'] }),
      ['ann left g', 'cid left g'],
    ],
    [
      'removal',
      (roster) => roster.changeMembers('g', { remove: ['bob', 'dan', 'bob', 'nobody'] }),
      ['bob left g'],
    ],
    [
      'the deletion of a group',
      (roster) => roster.deleteGroup('g'),
      ['ann left g', 'bob left g', 'cid left g'],
    ],
    ['the deletion of a user', (roster) => roster.deleteUser('ann'), ['ann left g', 'ann left h']],
    [
      'a batch',
      (roster) =>
        roster.applied({
          groups: [
            { id: 'g', members: ['ann'] },
            { id: 'h', members: [] },
          ],
        }),
      ['ann left h', 'bob left g', 'cid left g'],
    ],
    ['adding', (roster) => roster.changeMembers('g', { add: ['dan', 'ann'] }), []],
    ['another field', (roster) => roster.putGroup('g', { name: 'Renamed', status: 'deleted' }), []],
    ['the same list again', (roster) => roster.putGroup('g', { members: ['cid', 'bob', 'ann'] }), []],
    ['a status', (roster) => roster.putUser('ann', { status: 'deleted' }), []],
  ];
  for (const [how, run, expected] of departures) {
    test(`${how}: the write says who left which group`, async () => {
      assert.deepEqual(departuresOf(await run(await stocked())), expected);
    });
  }

  const statuses: readonly [
    how: string,
    run: (roster: Roster) => Promise<object>,
    expected: Partial<Effects>,
  ][] = [
    ['set deleted', (roster) => roster.putUser('ann', { status: 'deleted' }), { deactivated: ['ann'] }],
    ['set active', (roster) => roster.putUser('off', { status: 'active' }), { reactivated: ['off'] }],
    ['set to the same status', (roster) => roster.putUser('off', { status: 'deleted', name: 'O' }), {}],
    ['renamed', (roster) => roster.putUser('ann', { name: 'Ann' }), {}],
    ['created deleted', (roster) => roster.putUser('new', { status: 'deleted' }), {}],
    ['created active', (roster) => roster.putUser('new', { status: 'active' }), {}],
    [
      'turned in a batch',
      (roster) =>
        roster.applied({
          users: [
            { id: 'ann', status: 'deleted' },
            { id: 'off', status: 'active' },
            { id: 'bob', status: 'active' },
            { id: 'new', status: 'deleted' },
          ],
        }),
      { deactivated: ['ann'], reactivated: ['off'] },
    ],
  ];
  for (const [how, run, expected] of statuses) {
    test(`users ${how}: the write says whose status went over`, async () => {
      const roster = await stocked();
      await roster.putUser('off', { status: 'deleted' });
      assert.deepEqual(((await run(roster)) as { effects: Effects }).effects, { ...NOBODY, ...expected });
    });
  }

  const groupStatuses: readonly [
    how: string,
    run: (roster: Roster) => Promise<object>,
    expected: Partial<Effects>,
  ][] = [
    ['set deleted', (roster) => roster.putGroup('g', { status: 'deleted' }), { deactivatedGroups: ['g'] }],
    ['set active', (roster) => roster.putGroup('off', { status: 'active' }), { reactivatedGroups: ['off'] }],
    ['set to the same status', (roster) => roster.putGroup('off', { status: 'deleted', name: 'O' }), {}],
    ['created deleted', (roster) => roster.putGroup('new', { name: 'New', status: 'deleted' }), {}],
    [
      'turned in a batch, one of them there and back',
      (roster) =>
        roster.applied({
          groups: [
            { id: 'g', status: 'deleted' },
            { id: 'h', status: 'deleted' },
            { id: 'off', status: 'active' },
            { id: 'h', status: 'active' },
          ],
        }),
      { deactivatedGroups: ['g'], reactivatedGroups: ['off'] },
    ],
  ];
  for (const [how, run, expected] of groupStatuses) {
    test(`groups ${how}: the write says whose status went over`, async () => {
      const roster = await stocked();
      await roster.putGroup('off', { name: 'Off', status: 'deleted' });
      assert.deepEqual(((await run(roster)) as { effects: Effects }).effects, { ...NOBODY, ...expected });
    });
  }

  test('a dry run has no effects', async () => {
    const roster = await stocked();
    const items = { users: [{ id: 'ann', status: 'deleted' }], groups: [{ id: 'g', members: [] }] };
    const outcome = await roster.batch(items, true);
    assert.ok(outcome.kind === 'applied');
    assert.deepEqual(outcome.effects, NOBODY);
  });

  test('a status that goes over and back within a batch has not gone over', async () => {
    const roster = await stocked();
    await roster.putUser('off', { status: 'deleted' });
    const turns = ['deleted', 'active', 'deleted', 'active'];
    const { effects } = await roster.applied({
      users: turns.flatMap((status, index) => [
        { id: 'ann', status },
        { id: 'off', status: turns[3 - index] },
      ]),
    });
    assert.deepEqual(effects, NOBODY);
  });

  test('a write that changes nothing has no effects', async () => {
    const roster = await stocked();
    for (const outcome of [await roster.putGroup('g', {}), await roster.putUser('ann', {})]) {
      assert.deepEqual('effects' in outcome && outcome.effects, NOBODY);
    }
  });
}
