import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shown } from '../../support/shown-eligibility.ts';
import { numbered } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

export function eligibilityContract(lab: StoreLab): void {
  test("the eligibility of a user is the user's status, the group's status and the membership", async () => {
    const roster = await lab.project();
    const eligibility = async () => shown(await lab.store.eligibility.find(roster.key, 'g', 'ann'));
    assert.deepEqual(await eligibility(), { user: null, group: null, member: false });
    await roster.users('ann');
    assert.deepEqual(await eligibility(), { user: 'active', group: null, member: false });
    await roster.groupOf('g');
    assert.deepEqual(await eligibility(), { user: 'active', group: 'active', member: false });
    await roster.changeMembers('g', { add: ['ann'] });
    assert.deepEqual(await eligibility(), { user: 'active', group: 'active', member: true });
    await roster.putUser('ann', { status: 'deleted' });
    await roster.putGroup('g', { status: 'deleted' });
    assert.deepEqual(await eligibility(), { user: 'deleted', group: 'deleted', member: true });
    await roster.deleteUser('ann');
    assert.deepEqual(await eligibility(), { user: null, group: 'deleted', member: false });
  });

  test('findMany returns the eligibility of many users in the order of the queries', async () => {
    const roster = await lab.projectWithGroup('g', 'ann', 'bob');
    await roster.groupOf('off', 'ann');
    await roster.users('cid');
    await roster.putUser('bob', { status: 'deleted' });
    await roster.putGroup('off', { status: 'deleted' });
    const requested = ['ann', 'nobody', 'cid', 'bob', 'ann'].flatMap((userId) =>
      ['off', 'g', 'nowhere'].map((groupId) => ({ groupId, userId })),
    );
    const one = ({ groupId, userId }: { groupId: string; userId: string }) =>
      lab.store.eligibility.find(roster.key, groupId, userId);
    assert.deepEqual(
      await lab.store.eligibility.findMany(roster.key, requested),
      await Promise.all(requested.map(one)),
    );
    assert.deepEqual(await lab.store.eligibility.findMany(roster.key, []), []);
    const other = await lab.project();
    const [found] = await lab.store.eligibility.findMany(other.key, [{ groupId: 'g', userId: 'ann' }]);
    assert.deepEqual(found, { user: null, group: null, incarnation: null });
  });

  test('a user who becomes a member again has another incarnation; no other change makes one', async () => {
    const roster = await lab.project();
    const incarnation = async () => (await lab.store.eligibility.find(roster.key, 'g', 'ann')).incarnation;
    const seen = new Set<number | null>();
    const again: (() => Promise<unknown>)[] = [
      () => roster.groupOf('g', 'ann', 'bob'),
      async () => {
        await roster.changeMembers('g', { remove: ['ann'] });
        await roster.changeMembers('g', { add: ['ann'] });
      },
      async () => {
        await roster.putGroup('g', { members: ['bob'] });
        await roster.applied({ groups: [{ id: 'g', members: ['ann', 'bob'] }] });
      },
      async () => {
        await roster.deleteUser('ann');
        await roster.users('ann');
        await roster.changeMembers('g', { add: ['ann'] });
      },
      async () => {
        await roster.deleteGroup('g');
        await roster.groupOf('g', 'ann', 'bob');
      },
    ];
    for (const step of again) {
      await step();
      seen.add(await incarnation());
    }
    assert.equal(seen.size, again.length);
    const last = await incarnation();
    await roster.putUser('ann', { name: 'Ann' });
    await roster.putGroup('g', { name: 'G', members: ['ann'] });
    await roster.applied({ users: [{ id: 'ann' }], groups: [{ id: 'g', members: ['ann', 'bob'] }] });
    await roster.changeMembers('g', { add: ['ann'] });
    assert.equal(await incarnation(), last);
    assert.deepEqual([...(await lab.store.eligibility.filter(roster.key, 'g', ['ann']))], [['ann', last]]);
  });

  test('findMany answers a thousand different queries', async () => {
    const roster = await lab.project();
    const users = numbered('u', 1_000);
    await roster.groupOf('g', ...users.filter((_, index) => index % 3 > 0));
    await roster.users(...users);
    await roster.applied({
      users: users.filter((_, index) => index % 5 === 0).map((id) => ({ id, status: 'deleted' })),
    });
    const requested = users.map((userId) => ({ groupId: 'g', userId })).reverse();
    const expected = users.map((_, index) => ({
      user: index % 5 === 0 ? 'deleted' : 'active',
      group: 'active',
      member: index % 3 > 0,
    }));
    assert.deepEqual(
      (await lab.store.eligibility.findMany(roster.key, requested)).map(shown),
      expected.reverse(),
    );
  });

  test('filter returns the active users who are members of an active group, in order of ID', async () => {
    const roster = await lab.projectWithGroup('g', 'cid', 'ann', 'bob');
    await roster.users('dan');
    await roster.putUser('bob', { status: 'deleted' });
    const requested = ['nobody', 'dan', 'cid', 'bob', 'ann'];
    const eligible = async (groupId: string, userIds: readonly string[]) => [
      ...(await lab.store.eligibility.filter(roster.key, groupId, userIds)).keys(),
    ];
    assert.deepEqual(await eligible('g', requested), ['ann', 'cid']);
    assert.deepEqual(await eligible('g', ['cid']), ['cid']);
    assert.deepEqual(await eligible('g', []), []);
    assert.deepEqual(await eligible('nowhere', requested), []);
    await roster.putGroup('g', { status: 'deleted' });
    assert.deepEqual(await eligible('g', requested), []);
  });

  test('filter orders users by code point and takes many at once', async () => {
    const roster = await lab.project();
    const ids = [...numbered('u', 3_000), '\u{ff21}', '\u{1f600}'];
    await roster.groupOf('g', ...ids);
    const found = await lab.store.eligibility.filter(roster.key, 'g', [...ids].reverse());
    assert.deepEqual([...found.keys()], ids);
  });

  test('the eligibility of a user in another project is that of no user and no group', async () => {
    const [roster, other] = [await lab.project(), await lab.project()];
    await roster.groupOf('g', 'ann');
    const eligibility = await lab.store.eligibility.find(other.key, 'g', 'ann');
    assert.deepEqual(eligibility, { user: null, group: null, incarnation: null });
    assert.equal((await lab.store.eligibility.filter(other.key, 'g', ['ann'])).size, 0);
  });

  test('find, findMany and filter return the same incarnation', async () => {
    const roster = await lab.projectWithGroup('g', 'ann', 'bob');
    const { find, findMany, filter } = lab.store.eligibility;
    const { incarnation } = await find(roster.key, 'g', 'bob');
    const [of] = await findMany(roster.key, [{ groupId: 'g', userId: 'bob' }]);
    assert.ok(incarnation !== null);
    assert.equal(of?.incarnation, incarnation);
    assert.deepEqual([...(await filter(roster.key, 'g', ['bob']))], [['bob', incarnation]]);
  });
}
