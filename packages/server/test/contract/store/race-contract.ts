import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idsOf } from './entries.ts';
import { numbered } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

const times = <Value>(count: number, make: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, index) => make(index));

const tally = (outcomes: readonly { kind: string }[]) =>
  Object.fromEntries(
    Object.entries(Object.groupBy(outcomes, ({ kind }) => kind)).map(([kind, group]) => [
      kind,
      group?.length,
    ]),
  );

export function raceContract(lab: StoreLab): void {
  test('exactly one of twenty racing creations of one group is `created`', async () => {
    const roster = await lab.project();
    const outcomes = await Promise.all(times(20, () => roster.putGroup('g', { name: 'G' })));
    assert.deepEqual(tally(outcomes), { created: 1, unchanged: 19 });
    assert.deepEqual(await idsOf(roster.listGroups), ['g']);
  });

  test('one of twenty racing create-only writes of one group is `created`, and all others `exists`', async () => {
    const roster = await lab.project();
    const outcomes = await Promise.all(
      times(20, (index) => roster.putGroup('g', { name: `N${index}` }, { ifNoneMatch: '*' })),
    );
    assert.deepEqual(tally(outcomes), { created: 1, exists: 19 });
    const winner = outcomes.findIndex(({ kind }) => kind === 'created');
    assert.equal((await roster.group('g')).name, `N${winner}`);
  });

  test('one of twenty racing create-only writes of one user is `created`, and all others `exists`', async () => {
    const roster = await lab.project();
    const outcomes = await Promise.all(times(20, () => roster.putUser('ann', {}, { ifNoneMatch: '*' })));
    assert.deepEqual(tally(outcomes), { created: 1, exists: 19 });
    assert.equal((await roster.listUsers({ after: null, limit: 1 })).total, 1);
  });

  test('exactly one of twenty racing deletions is `deleted`, and names the members', async () => {
    const roster = await lab.projectWithGroup('g', 'ann');
    const outcomes = await Promise.all(times(20, () => roster.deleteGroup('g')));
    assert.deepEqual(tally(outcomes), { deleted: 1, absent: 19 });
  });

  test('sixty groups that are created at once are all applied', async () => {
    const roster = await lab.projectWithUsers('ann');
    const outcomes = await Promise.all(
      times(60, (index) => roster.putGroup(`g${index}`, { name: 'G', members: ['ann'] })),
    );
    assert.deepEqual(tally(outcomes), { created: 60 });
    assert.equal((await idsOf(roster.listGroups)).length, 60);
    assert.equal((await idsOf(roster.groupsOf('ann'))).length, 60);
  });

  test('racing batches over the same items in opposite order are all applied, each as a whole', async () => {
    const roster = await lab.project();
    const users = numbered('u', 50);
    const groups = numbered('g', 50);
    const batch = (index: number) => {
      const order = index % 2 === 0 ? (ids: string[]) => ids : (ids: string[]) => ids.toReversed();
      const name = `N${index}`;
      return roster.batch({
        users: order(users).map((id) => ({ id, name })),
        groups: order(groups).map((id) => ({ id, name, members: order(users) })),
      });
    };
    const outcomes = await Promise.all(times(8, batch));
    assert.deepEqual(tally(outcomes), { applied: 8 });
    const names = new Set((await Promise.all(users.map((id) => roster.user(id)))).map(({ name }) => name));
    assert.equal(names.size, 1, 'all items are of one batch');
    for (const id of groups) assert.equal((await roster.group(id)).name, [...names][0]);
  });

  test('racing additions and removals of different members are all applied', async () => {
    const roster = await lab.project();
    const [leaving, coming] = [numbered('a', 20), numbered('b', 20)];
    await roster.groupOf('g', ...leaving);
    await roster.users(...coming);
    await Promise.all([
      ...leaving.map((id) => roster.changeMembers('g', { remove: [id] })),
      ...coming.map((id) => roster.changeMembers('g', { add: [id] })),
    ]);
    assert.deepEqual(await roster.members('g'), coming);
    assert.equal((await roster.membersOf('g')({ after: null, limit: 1 })).total, 20);
  });

  test('racing writes of different fields of one user are all applied', async () => {
    const roster = await lab.projectWithUsers('ann');
    await Promise.all([
      roster.putUser('ann', { name: 'Ann' }),
      roster.putUser('ann', { email: 'ann@example.org' }),
      roster.putUser('ann', { short_name: 'A' }),
      roster.putUser('ann', { metadata: { a: 1 } }),
    ]);
    const { name, email, shortName, metadata } = await roster.user('ann');
    assert.deepEqual([name, email, shortName, metadata], ['Ann', 'ann@example.org', 'A', '{"a":1}']);
  });

  test('a user who is deleted while being added to groups is a member of none, or the group write is rejected', async () => {
    const roster = await lab.projectWithUsers('ann');
    await roster.groupOf('g');
    const [added, deleted] = await Promise.all([
      roster.changeMembers('g', { add: ['ann'] }),
      roster.deleteUser('ann'),
      ...times(10, (index) => roster.putGroup(`g${index}`, { name: 'G', members: ['ann'] })),
    ]);
    assert.ok(['updated', 'unknownUsers'].includes(added.kind));
    assert.equal(deleted.kind, 'deleted');
    for (const id of await idsOf(roster.listGroups)) assert.deepEqual(await roster.members(id), []);
  });

  test('a write is seen by every read that starts after it resolved', async () => {
    const roster = await lab.projectWithUsers('ann');
    const walks = times(8, async (walker) => {
      for (let step = 0; step < 10; step += 1) {
        const id = `g${walker}`;
        await roster.putGroup(id, { name: `N${step}`, members: step % 2 === 0 ? ['ann'] : [] });
        assert.equal((await roster.group(id)).name, `N${step}`);
        assert.deepEqual(await roster.members(id), step % 2 === 0 ? ['ann'] : []);
        const { incarnation } = await roster.store.eligibility.find(roster.key, id, 'ann');
        assert.equal(incarnation !== null, step % 2 === 0);
      }
    });
    await Promise.all(walks);
  });
}
