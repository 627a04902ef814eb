import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GroupWrite } from '@rollcall/protocol';
import { entriesOf, joined } from './entries.ts';
import { numbered } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

export function groupContract(lab: StoreLab): void {
  test('a group needs a name to be created; without one nothing is created', async () => {
    const roster = await lab.project();
    assert.deepEqual(await roster.putGroup('g', { metadata: { a: 1 } }), { kind: 'nameRequired' });
    assert.equal(await lab.store.groups.find(roster.key, 'g'), null);
    assert.equal(await lab.store.groups.exists(roster.key, 'g'), false);
  });

  test('a group is created active, without members, metadata or a workspace', async () => {
    const roster = await lab.project();
    assert.equal((await roster.putGroup('g', { name: 'Group' })).kind, 'created');
    assert.equal(await lab.store.groups.exists(roster.key, 'g'), true);
    const { members, ...group } = await roster.group('g');
    assert.equal(await joined(members), '[]');
    assert.deepEqual(group, {
      id: 'g',
      name: 'Group',
      status: 'active',
      metadata: '{}',
      connectedToMessenger: false,
      revision: 'r1',
    });
  });

  test('a group can be created with every field, deleted among them', async () => {
    const roster = await lab.projectWithUsers('ann');
    const write: GroupWrite = { name: 'N', status: 'deleted', metadata: { a: [1] }, members: ['ann'] };
    assert.equal((await roster.putGroup('g', write)).kind, 'created');
    const { name, status, metadata } = await roster.group('g');
    assert.deepEqual([name, status, metadata], ['N', 'deleted', '{"a":[1]}']);
    assert.deepEqual(await roster.members('g'), ['ann']);
  });

  const updates: readonly [field: string, write: GroupWrite, expected: Record<string, unknown>][] = [
    ['name', { name: 'Renamed' }, { name: 'Renamed' }],
    ['status', { status: 'deleted' }, { status: 'deleted' }],
    ['metadata', { metadata: { b: 2 } }, { metadata: '{"b":2}' }],
    ['members', { members: ['bob'] }, { members: '["bob"]' }],
    ['nothing', {}, {}],
  ];
  for (const [field, write, expected] of updates) {
    test(`an update of ${field} of a group changes only that field`, async () => {
      const roster = await lab.projectWithUsers('ann', 'bob');
      await roster.putGroup('g', { name: 'N', metadata: { a: 1 }, members: ['ann'] });
      const before = {
        id: 'g',
        name: 'N',
        status: 'active',
        metadata: '{"a":1}',
        connectedToMessenger: false,
      };
      const outcome = await roster.putGroup('g', write);
      assert.equal(outcome.kind, field === 'nothing' ? 'unchanged' : 'updated');
      const { revision: _, members, ...group } = await roster.group('g');
      assert.deepEqual(
        { ...group, members: await joined(members) },
        { ...before, members: '["ann"]', ...expected },
      );
    });
  }

  test('a deleted group stays deleted when its name is updated, and comes back only by its status', async () => {
    const roster = await lab.project();
    await roster.putGroup('g', { name: 'N', status: 'deleted' });
    assert.equal((await roster.putGroup('g', { name: 'Renamed', members: [] })).kind, 'updated');
    assert.equal((await roster.group('g')).status, 'deleted');
    await roster.putGroup('g', { status: 'active' });
    assert.equal((await roster.group('g')).status, 'active');
  });

  test('a group write with the present values is `unchanged`', async () => {
    const roster = await lab.projectWithUsers('ann', 'bob');
    const write: GroupWrite = { name: 'N', status: 'active', metadata: { a: 1 }, members: ['bob', 'ann'] };
    await roster.putGroup('g', write);
    assert.equal(
      (await roster.putGroup('g', { ...write, members: ['ann', 'bob', 'ann'] })).kind,
      'unchanged',
    );
  });

  test('`members` of a group write is exhaustive: it replaces the list', async () => {
    const roster = await lab.projectWithGroup('g', 'ann', 'bob', 'cid');
    await roster.users('dan');
    await roster.putGroup('g', { members: ['dan', 'bob'] });
    assert.deepEqual(await roster.members('g'), ['bob', 'dan']);
    await roster.putGroup('g', { members: [] });
    assert.deepEqual(await roster.members('g'), []);
  });

  test('repeated IDs in `members` count once', async () => {
    const roster = await lab.projectWithUsers('ann', 'bob');
    await roster.putGroup('g', { name: 'N', members: ['bob', 'ann', 'bob', 'ann', 'ann'] });
    assert.deepEqual(await roster.members('g'), ['ann', 'bob']);
    assert.equal((await roster.membersOf('g')({ after: null, limit: 9 })).total, 2);
  });

  test('unknown users in `members` are named once each, in the order of the request, and nothing changes', async () => {
    const roster = await lab.projectWithGroup('g', 'ann');
    const before = await roster.everything();
    const outcome = await roster.putGroup('g', { name: 'Renamed', members: ['zed', 'ann', 'moe', 'zed'] });
    assert.deepEqual(outcome, { kind: 'unknownUsers', users: { count: 2, ids: ['zed', 'moe'] } });
    assert.deepEqual(await roster.everything(), before);
  });

  test('the first twenty of many unknown users of a group are named, and all are counted', async () => {
    const roster = await lab.project();
    const unknown = numbered('u', 1_000).reverse();
    const outcome = await roster.putGroup('g', { name: 'N', members: unknown });
    assert.deepEqual(outcome, { kind: 'unknownUsers', users: { count: 1_000, ids: unknown.slice(0, 20) } });
    assert.equal(await lab.store.groups.find(roster.key, 'g'), null);
  });

  test('a missing group name is reported before unknown users', async () => {
    const roster = await lab.project();
    assert.deepEqual(await roster.putGroup('g', { members: ['nobody'] }), { kind: 'nameRequired' });
  });

  test('users of either status can be members of a group', async () => {
    const roster = await lab.projectWithUsers('ann');
    await roster.putUser('bob', { status: 'deleted' });
    assert.equal((await roster.putGroup('g', { name: 'N', members: ['ann', 'bob'] })).kind, 'created');
    assert.deepEqual(await roster.members('g'), ['ann', 'bob']);
  });

  test('`metadata` of a group write replaces the whole object', async () => {
    const roster = await lab.project();
    await roster.putGroup('g', { name: 'N', metadata: { a: 1, b: { c: 2 } } });
    await roster.putGroup('g', { metadata: { b: 3 } });
    assert.equal((await roster.group('g')).metadata, '{"b":3}');
  });

  test('the list of groups shows both statuses, with exactly the fields of an entry', async () => {
    const roster = await lab.project();
    await roster.putGroup('b', { name: 'B', status: 'deleted', metadata: { x: null } });
    await roster.putGroup('a', { name: 'A' });
    await roster.connectGroup('a', 'W1');
    assert.deepEqual(await entriesOf(roster.listGroups), [
      { id: 'a', name: 'A', status: 'active', metadata: {}, connectedToMessenger: true },
      { id: 'b', name: 'B', status: 'deleted', metadata: { x: null }, connectedToMessenger: false },
    ]);
  });

  test('a group is connected to a workspace and disconnected', async () => {
    const roster = await lab.project();
    await roster.putGroup('g', { name: 'N' });
    assert.equal((await roster.connectGroup('g', 'W1')).kind, 'updated');
    assert.equal((await roster.group('g')).connectedToMessenger, true);
    await roster.putGroup('g', { name: 'Renamed' });
    assert.equal((await roster.group('g')).connectedToMessenger, true, 'a write of the host leaves it');
    assert.equal((await roster.connectGroup('g', null)).kind, 'updated');
    assert.equal((await roster.group('g')).connectedToMessenger, false);
    assert.equal((await roster.connectGroup('nowhere', 'W1')).kind, 'absent');
  });

  test('the deletion of a group removes its memberships and leaves its users', async () => {
    const roster = await lab.projectWithGroup('g', 'ann');
    await roster.groupOf('other', 'ann');
    assert.equal((await roster.deleteGroup('g')).kind, 'deleted');
    assert.equal(await lab.store.groups.find(roster.key, 'g'), null);
    assert.equal(await lab.store.groups.exists(roster.key, 'g'), false);
    assert.equal(await lab.store.members.list(roster.key, 'g', { after: null, limit: 1 }), null);
    assert.deepEqual(
      (await entriesOf(roster.listGroups)).map(({ id }) => id),
      ['other'],
    );
    assert.deepEqual(
      (await entriesOf(roster.groupsOf('ann'))).map(({ id }) => id),
      ['other'],
    );
    assert.equal((await roster.user('ann')).status, 'active');
  });

  test('deleting a group that does not exist is `absent`', async () => {
    const roster = await lab.project();
    assert.deepEqual(await roster.deleteGroup('g'), { kind: 'absent' });
  });

  test('a group that is created again after its deletion has no data of the deleted one', async () => {
    const roster = await lab.projectWithGroup('g', 'ann');
    await roster.putGroup('g', { metadata: { a: 1 }, status: 'deleted' });
    await roster.connectGroup('g', 'W1');
    await roster.deleteGroup('g');
    assert.deepEqual(await roster.putGroup('g', {}), { kind: 'nameRequired' });
    assert.equal((await roster.putGroup('g', { name: 'Again' })).kind, 'created');
    const { status, metadata, connectedToMessenger } = await roster.group('g');
    assert.deepEqual([status, metadata, connectedToMessenger], ['active', '{}', false]);
    assert.deepEqual(await roster.members('g'), []);
  });

  test('a group that was never created is null', async () => {
    const roster = await lab.project();
    assert.equal(await lab.store.groups.find(roster.key, 'g'), null);
  });
}
