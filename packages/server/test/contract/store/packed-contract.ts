import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type IdList, isPacked, packIds } from '../../../src/store/packed-ids.ts';
import type { Store } from '../../../src/store/store.ts';
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
  return {
    ...store,
    putGroup(project, id, { members, ...write }, context) {
      const packed = members === undefined ? {} : { members: pack(members) };
      return store.putGroup(project, id, { ...write, ...packed }, context);
    },
    changeMembers: (project, id, { add, remove }, context) =>
      store.changeMembers(project, id, { add: pack(add), remove: pack(remove) }, context),
  };
}

const pack = (list: IdList) => (isPacked(list) ? list : packIds(list));

/** Long enough to be moved to another thread: 10 bytes an ID. */
const LONG = 20_000;

export function packedContract(lab: StoreLab): void {
  test('the bytes of a long packed list are transferred to the thread that applies it, not copied', async () => {
    const roster = await lab.project();
    const ids = numbered('u', LONG);
    for (let from = 0; from < LONG; from += 10_000) await roster.users(...ids.slice(from, from + 10_000));
    const lists = [packIds(ids), packIds(ids.slice(LONG / 2)), packIds(ids.slice(0, LONG / 2))] as const;
    const [members, remove, add] = lists;
    assert.equal((await roster.putGroup('g', { name: 'G', members })).kind, 'created');
    assert.deepEqual(await roster.members('g'), ids);
    const change = { add, remove };
    const outcome = await lab.store.changeMembers(roster.key, 'g', change, roster.next());
    assert.equal(outcome.kind, 'updated');
    assert.deepEqual(await roster.members('g'), ids.slice(0, LONG / 2));
    for (const { bytes } of lists) assert.equal(bytes.length, 0, 'the bytes are gone from here');
  });

  test('packed lists of which one is short and one is empty are applied', async () => {
    const roster = await lab.project();
    await roster.groupOf('g', 'ann', 'bob');
    const change = { add: packIds([]), remove: packIds(['bob']) };
    assert.equal((await lab.store.changeMembers(roster.key, 'g', change, roster.next())).kind, 'updated');
    assert.deepEqual(await roster.members('g'), ['ann']);
    assert.equal((await roster.putGroup('g', { members: packIds([]) })).kind, 'updated');
    assert.deepEqual(await roster.members('g'), []);
  });
}
