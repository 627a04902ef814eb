import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Store } from '../../../src/store/store.ts';
import { type IdList, isPacked, packIds } from '../../../src/store/worker-threads/packed-ids.ts';
import { numbered } from './roster.ts';
import type { MakeStoreSpace, StoreLab } from './store-lab.ts';

/** The same store, given every list of IDs packed: the contract's rules hold for packed lists too. */
export function withPackedLists(makeSpace: MakeStoreSpace): MakeStoreSpace {
  return async () => {
    const space = await makeSpace();
    return { open: async () => packing(await space.open()), remove: () => space.remove() };
  };
}

function packing(store: Store): Store {
  const { groups, members } = store;
  return {
    ...store,
    ping: () => store.ping(),
    close: () => store.close(),
    groups: {
      ...groups,
      put(project, id, { members: list, ...write }, context) {
        const packed = list === undefined ? {} : { members: pack(list) };
        return groups.put(project, id, { ...write, ...packed }, context);
      },
    },
    members: {
      ...members,
      change: (project, id, { add, remove }, context) =>
        members.change(project, id, { add: pack(add), remove: pack(remove) }, context),
    },
  };
}

const pack = (list: IdList) => (isPacked(list) ? list : packIds(list));

const LONG = 20_000;

export function packedContract(lab: StoreLab): void {
  test('a change with long packed lists of members is applied', async () => {
    const roster = await lab.project();
    const ids = numbered('u', LONG);
    for (let from = 0; from < LONG; from += 10_000) await roster.users(...ids.slice(from, from + 10_000));
    assert.equal((await roster.putGroup('g', { name: 'G', members: packIds(ids) })).kind, 'created');
    assert.deepEqual(await roster.members('g'), ids);
    const change = { add: packIds(ids.slice(0, LONG / 2)), remove: packIds(ids.slice(LONG / 2)) };
    const outcome = await lab.store.members.change(roster.key, 'g', change, roster.next());
    assert.equal(outcome.kind, 'updated');
    assert.deepEqual(await roster.members('g'), ids.slice(0, LONG / 2));
  });

  test('a change with a short and an empty packed list of members is applied', async () => {
    const roster = await lab.projectWithGroup('g', 'ann', 'bob');
    const change = { add: packIds([]), remove: packIds(['bob']) };
    assert.equal((await lab.store.members.change(roster.key, 'g', change, roster.next())).kind, 'updated');
    assert.deepEqual(await roster.members('g'), ['ann']);
    assert.equal((await roster.putGroup('g', { members: packIds([]) })).kind, 'updated');
    assert.deepEqual(await roster.members('g'), []);
  });
}
