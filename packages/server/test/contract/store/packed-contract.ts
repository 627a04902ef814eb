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

/** Not by copying the methods: a store may be an object of a class with private fields. */
function packing(store: Store): Store {
  const packed: Pick<Store, 'putGroup' | 'changeMembers'> = {
    putGroup(project, id, { members, ...write }, context) {
      const list = members === undefined ? {} : { members: pack(members) };
      return store.putGroup(project, id, { ...write, ...list }, context);
    },
    changeMembers: (project, id, { add, remove }, context) =>
      store.changeMembers(project, id, { add: pack(add), remove: pack(remove) }, context),
  };
  return new Proxy(store, {
    get(_store, name) {
      const value = Reflect.get(Object.hasOwn(packed, name) ? packed : store, name);
      return typeof value === 'function' ? value.bind(store) : value;
    },
  });
}

const pack = (list: IdList) => (isPacked(list) ? list : packIds(list));

const LONG = 20_000;

export function packedContract(lab: StoreLab): void {
  test('long packed lists are applied', async () => {
    const roster = await lab.project();
    const ids = numbered('u', LONG);
    for (let from = 0; from < LONG; from += 10_000) await roster.users(...ids.slice(from, from + 10_000));
    assert.equal((await roster.putGroup('g', { name: 'G', members: packIds(ids) })).kind, 'created');
    assert.deepEqual(await roster.members('g'), ids);
    const change = { add: packIds(ids.slice(0, LONG / 2)), remove: packIds(ids.slice(LONG / 2)) };
    const outcome = await lab.store.changeMembers(roster.key, 'g', change, roster.next());
    assert.equal(outcome.kind, 'updated');
    assert.deepEqual(await roster.members('g'), ids.slice(0, LONG / 2));
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
