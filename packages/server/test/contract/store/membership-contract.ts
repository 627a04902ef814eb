import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entriesOf, idsOf } from './entries.ts';
import { numbered } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

const FIRST_PAGE = { after: null, limit: 10 };
const EMPTY_PAGE = { items: '', count: 0, last: null, total: 0 };

export function membershipContract(lab: StoreLab): void {
  test('POST of members adds and removes users in one step', async () => {
    const roster = await lab.projectWithGroup('g', 'ann', 'bob');
    await roster.users('cid');
    assert.equal((await roster.changeMembers('g', { add: ['cid'], remove: ['ann'] })).kind, 'updated');
    assert.deepEqual(await roster.members('g'), ['bob', 'cid']);
  });

  test('adding a member, and removing a user who is no member or does not exist, changes nothing', async () => {
    const roster = await lab.projectWithGroup('g', 'ann');
    await roster.users('bob');
    const before = await roster.everything();
    const outcome = await roster.changeMembers('g', { add: ['ann', 'ann'], remove: ['bob', 'nobody'] });
    assert.equal(outcome.kind, 'unchanged');
    assert.deepEqual(await roster.everything(), before);
  });

  test('a change of no members is `unchanged`', async () => {
    const roster = await lab.projectWithGroup('g', 'ann');
    assert.equal((await roster.changeMembers('g', {})).kind, 'unchanged');
  });

  test('repeated IDs in a change of members count once', async () => {
    const roster = await lab.projectWithGroup('g', 'ann', 'bob');
    await roster.users('cid');
    await roster.changeMembers('g', { add: ['cid', 'cid'], remove: ['ann', 'ann'] });
    const page = await roster.membersOf('g')(FIRST_PAGE);
    assert.deepEqual([page.count, page.total], [2, 2]);
    assert.deepEqual(await roster.members('g'), ['bob', 'cid']);
  });

  test('unknown users in `add` are named once each, in order, and nothing changes', async () => {
    const roster = await lab.projectWithGroup('g', 'ann');
    await roster.users('bob');
    const before = await roster.everything();
    const outcome = await roster.changeMembers('g', { add: ['bob', 'zed', 'moe', 'zed'], remove: ['ann'] });
    assert.deepEqual(outcome, { kind: 'unknownUsers', users: { count: 2, ids: ['zed', 'moe'] } });
    assert.deepEqual(await roster.everything(), before);
  });

  test('the first twenty of many unknown users in `add` are named, and all are counted', async () => {
    const roster = await lab.projectWithGroup('g');
    const add = numbered('u', 500).reverse();
    const outcome = await roster.changeMembers('g', { add });
    assert.deepEqual(outcome, { kind: 'unknownUsers', users: { count: 500, ids: add.slice(0, 20) } });
  });

  test('a change of members of a group that does not exist is `absent`', async () => {
    const roster = await lab.projectWithUsers('ann');
    assert.deepEqual(await roster.changeMembers('g', { add: ['ann'] }), { kind: 'absent' });
    assert.deepEqual(await idsOf(roster.groupsOf('ann')), []);
  });

  test('the members of a deleted group can be changed, and it stays deleted', async () => {
    const roster = await lab.projectWithGroup('g', 'ann');
    await roster.putGroup('g', { status: 'deleted' });
    assert.equal((await roster.changeMembers('g', { remove: ['ann'] })).kind, 'updated');
    assert.equal((await roster.group('g')).status, 'deleted');
    assert.deepEqual(await roster.members('g'), []);
  });

  test('member entries are exactly id, name and email, null where unset, users of either status', async () => {
    const roster = await lab.projectWithGroup('g', 'ann', 'bob', 'cid');
    await roster.putUser('ann', { name: 'Ann', email: 'ann@example.org', short_name: 'A' });
    await roster.putUser('bob', { name: 'Bob', status: 'deleted' });
    assert.deepEqual(await entriesOf(roster.membersOf('g')), [
      { id: 'ann', name: 'Ann', email: 'ann@example.org' },
      { id: 'bob', name: 'Bob', email: null },
      { id: 'cid', name: null, email: null },
    ]);
  });

  test('a member entry shows the current fields of the user', async () => {
    const roster = await lab.projectWithGroup('g', 'ann');
    await roster.putUser('ann', { name: 'Old', email: 'old@example.org' });
    await roster.putUser('ann', { name: 'New', email: '' });
    assert.deepEqual(await entriesOf(roster.membersOf('g')), [{ id: 'ann', name: 'New', email: null }]);
  });

  test('the total of a member page is that of all members, on every page', async () => {
    const roster = await lab.projectWithGroup('g', ...numbered('u', 5));
    const first = await roster.membersOf('g')({ after: null, limit: 2 });
    const deep = await roster.membersOf('g')({ after: 'u000003', limit: 2 });
    assert.deepEqual([first.total, deep.total], [5, 5]);
    await roster.changeMembers('g', { remove: ['u000000', 'u000001'] });
    assert.equal((await roster.membersOf('g')(FIRST_PAGE)).total, 3);
    await roster.deleteUser('u000004');
    assert.equal((await roster.membersOf('g')(FIRST_PAGE)).total, 2);
  });

  test('members of a group that does not exist are null; of an empty group, an empty page', async () => {
    const roster = await lab.projectWithGroup('empty');
    assert.equal(await lab.store.members.list(roster.key, 'g', FIRST_PAGE), null);
    assert.deepEqual(await lab.store.members.list(roster.key, 'empty', FIRST_PAGE), EMPTY_PAGE);
  });

  test("a user's groups are listed with id, name and status, deleted ones included", async () => {
    const roster = await lab.projectWithGroup('b', 'ann');
    await roster.groupOf('a', 'ann', 'bob');
    await roster.groupOf('c', 'bob');
    await roster.putGroup('b', { name: 'Renamed', status: 'deleted' });
    assert.deepEqual(await entriesOf(roster.groupsOf('ann')), [
      { id: 'a', name: 'a', status: 'active' },
      { id: 'b', name: 'Renamed', status: 'deleted' },
    ]);
    assert.equal((await roster.groupsOf('ann')({ after: 'a', limit: 5 })).total, 2);
  });

  test("a user's groups follow every kind of change of membership", async () => {
    const roster = await lab.project();
    for (const id of ['a', 'b', 'c', 'd']) await roster.groupOf(id, 'ann');
    await roster.putGroup('a', { members: [] });
    await roster.changeMembers('b', { remove: ['ann'] });
    await roster.deleteGroup('c');
    assert.deepEqual(await idsOf(roster.groupsOf('ann')), ['d']);
    assert.equal((await roster.groupsOf('ann')(FIRST_PAGE)).total, 1);
    await roster.changeMembers('b', { add: ['ann'] });
    await roster.applied({
      groups: [
        { id: 'd', members: [] },
        { id: 'e', name: 'E', members: ['ann'] },
      ],
    });
    assert.deepEqual(await idsOf(roster.groupsOf('ann')), ['b', 'e']);
    assert.equal((await roster.groupsOf('ann')(FIRST_PAGE)).total, 2);
  });

  test('the groups of a user who does not exist are null; of a user in no group, an empty page', async () => {
    const roster = await lab.projectWithUsers('ann');
    assert.equal(await lab.store.members.listGroups(roster.key, 'nobody', FIRST_PAGE), null);
    assert.deepEqual(await lab.store.members.listGroups(roster.key, 'ann', FIRST_PAGE), EMPTY_PAGE);
  });
}
