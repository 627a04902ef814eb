import assert from 'node:assert/strict';
import { test } from 'node:test';
import { found, PAGE_1, putPresence } from './durable-presence.ts';
import { entriesOf } from './entries.ts';
import { numbered } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

const NONE = { created: 0, updated: 0, unchanged: 0 };

export function batchContract(lab: StoreLab): void {
  test('a batch creates and updates users and groups, and counts what it did', async () => {
    const roster = await lab.projectWithGroup('old', 'ann');
    await roster.putUser('bob', { name: 'Bob' });
    const outcome = await roster.applied({
      users: [{ id: 'ann', name: 'Ann' }, { id: 'bob', name: 'Bob' }, { id: 'cid' }, { id: 'dan' }],
      groups: [
        { id: 'old', name: 'old' },
        { id: 'new', name: 'New', members: ['dan'] },
        { id: 'old', metadata: { a: 1 } },
      ],
    });
    assert.deepEqual(outcome.users, { created: 2, updated: 1, unchanged: 1 });
    assert.deepEqual(outcome.groups, { created: 1, updated: 1, unchanged: 1 });
    assert.deepEqual(await roster.members('new'), ['dan']);
    assert.equal((await roster.group('old')).metadata, '{"a":1}');
  });

  test('a batch without users and groups is applied and changes nothing', async () => {
    const roster = await lab.project();
    for (const items of [{}, { users: [] }, { groups: [] }, { users: [], groups: [] }]) {
      const outcome = await roster.applied(items);
      assert.deepEqual([outcome.users, outcome.groups], [NONE, NONE]);
    }
  });

  test('a batch applies users first: a group can name users of the same batch, whichever list comes first in the body', async () => {
    const roster = await lab.project();
    const body =
      '{"groups":[{"id":"g","name":"G","members":["zed","ann"]}],"users":[{"id":"zed"},{"id":"ann"}]}';
    assert.equal((await roster.batch(Buffer.from(body))).kind, 'applied');
    assert.deepEqual(await roster.members('g'), ['ann', 'zed']);
  });

  test('a batch changes only the fields that an item supplies', async () => {
    const roster = await lab.projectWithGroup('g', 'ann');
    await roster.putUser('ann', { name: 'Ann', email: 'ann@example.org', metadata: { a: 1 } });
    await roster.putGroup('g', { name: 'G', metadata: { b: 2 } });
    await roster.applied({ users: [{ id: 'ann', email: '' }], groups: [{ id: 'g', name: 'Renamed' }] });
    const { name, email, metadata } = await roster.user('ann');
    assert.deepEqual([name, email, metadata], ['Ann', null, '{"a":1}']);
    assert.equal((await roster.group('g')).metadata, '{"b":2}');
    assert.deepEqual(await roster.members('g'), ['ann']);
  });

  test('items of a batch apply in order: a later item with the same ID sees the earlier one', async () => {
    const roster = await lab.project();
    const outcome = await roster.applied({
      users: [
        { id: 'ann', name: 'One', short_name: 'A' },
        { id: 'ann', name: 'Two' },
        { id: 'ann', name: 'Two' },
      ],
      groups: [
        { id: 'g', name: 'One', members: ['ann'], metadata: { unchanged: true } },
        { id: 'g', members: [] },
        { id: 'g', name: 'Two' },
        { id: 'g', members: ['ann', 'ann'] },
      ],
    });
    assert.deepEqual(outcome.users, { created: 1, updated: 1, unchanged: 1 });
    assert.deepEqual(outcome.groups, { created: 1, updated: 3, unchanged: 0 });
    const user = await roster.user('ann');
    assert.deepEqual([user.name, user.shortName], ['Two', 'A']);
    assert.equal((await roster.group('g')).name, 'Two');
    assert.equal((await roster.group('g')).metadata, '{"unchanged":true}');
    assert.deepEqual(await roster.members('g'), ['ann']);
  });

  test('a batch that takes a member out of a group and adds them again ends the membership, with its durable presence', async () => {
    const roster = await lab.projectWithGroup('g', 'ann', 'bob');
    for (const userId of ['ann', 'bob']) await putPresence(roster, userId, PAGE_1, 1);
    const outcome = await roster.applied({
      groups: [
        { id: 'g', members: ['bob'] },
        { id: 'g', members: ['ann', 'bob'] },
      ],
    });
    assert.deepEqual(outcome.changes, [
      { type: 'member.removed', group: 'g', users: ['ann'] },
      { type: 'member.added', group: 'g', users: ['ann'] },
    ]);
    assert.deepEqual(await roster.members('g'), ['ann', 'bob']);
    assert.equal((await found(roster, 'ann'))?.location, undefined);
    assert.equal((await found(roster, 'bob'))?.location, PAGE_1);
  });

  test('a batch applies the status of a user or group, also of those it creates', async () => {
    const roster = await lab.projectWithUsers('old');
    await roster.applied({
      users: [
        { id: 'new', status: 'deleted' },
        { id: 'old', status: 'deleted' },
      ],
      groups: [{ id: 'g', name: 'G', status: 'deleted', members: ['new'] }],
    });
    assert.equal((await roster.user('new')).status, 'deleted');
    assert.equal((await roster.user('old')).status, 'deleted');
    assert.equal((await roster.group('g')).status, 'deleted');
    await roster.applied({
      users: [{ id: 'new', status: 'active' }],
      groups: [{ id: 'g', status: 'active' }],
    });
    assert.equal((await roster.user('new')).status, 'active');
    assert.equal((await roster.group('g')).status, 'active');
  });

  test('a deleted user or group stays deleted in a batch that does not supply its status', async () => {
    const roster = await lab.project();
    await roster.putUser('ann', { status: 'deleted' });
    await roster.putGroup('g', { name: 'G', status: 'deleted' });
    await roster.applied({
      users: [{ id: 'ann', name: 'A' }],
      groups: [{ id: 'g', name: 'Renamed', members: ['ann'] }],
    });
    assert.equal((await roster.user('ann')).status, 'deleted');
    assert.equal((await roster.group('g')).status, 'deleted');
  });

  test('repeated IDs in a member list of a batch count once', async () => {
    const roster = await lab.project();
    await roster.applied({
      users: [{ id: 'ann' }],
      groups: [{ id: 'g', name: 'G', members: ['ann', 'ann'] }],
    });
    assert.equal((await roster.membersOf('g')({ after: null, limit: 5 })).total, 1);
  });

  test('every user that a batch writes has the time of the batch', async () => {
    const roster = await lab.project();
    const context = roster.next();
    const body = Buffer.from(JSON.stringify({ users: [{ id: 'ann' }, { id: 'bob', name: 'B' }] }));
    await lab.store.batches.apply(roster.key, { body, dryRun: false }, context);
    for (const id of ['ann', 'bob']) {
      const { createdAt, updatedAt } = await roster.user(id);
      assert.deepEqual([createdAt, updatedAt], [context.now, context.now]);
    }
  });

  test('a dry run of a batch answers the same counts and applies nothing', async () => {
    const roster = await lab.projectWithGroup('g', 'ann', 'bob');
    const before = await roster.everything();
    const items = {
      users: [{ id: 'ann', status: 'deleted' }, { id: 'new' }, { id: 'bob' }],
      groups: [
        { id: 'g', members: ['new'] },
        { id: 'h', name: 'H', members: ['ann'] },
        { id: 'h', name: 'H' },
      ],
    };
    const dry = await roster.batch(items, true);
    assert.ok(dry.kind === 'applied');
    assert.deepEqual(await roster.everything(), before);
    const real = await roster.applied(items);
    assert.deepEqual([dry.users, dry.groups], [real.users, real.groups]);
  });

  test('the largest batch is applied as a whole', async () => {
    const roster = await lab.project();
    const users = numbered('u', 10_000);
    const groups = numbered('g', 1_000).map((id, index) => ({
      id,
      name: id,
      members: Array.from({ length: 10 }, (_, offset) => users[(index * 7 + offset * 611) % users.length]),
    }));
    const outcome = await roster.applied({ users: users.map((id) => ({ id, name: id })), groups });
    assert.deepEqual([outcome.users.created, outcome.groups.created], [10_000, 1_000]);
    assert.equal((await roster.listUsers({ after: null, limit: 1 })).total, 10_000);
    assert.equal((await entriesOf(roster.listGroups)).length, 1_000);
    for (const { id, members } of [groups[0], groups[999]].filter((group) => group !== undefined)) {
      assert.deepEqual(await roster.members(id), [...members].sort());
    }
    const again = await roster.applied({ users: users.map((id) => ({ id, name: id })), groups });
    assert.deepEqual([again.users.unchanged, again.groups.unchanged], [10_000, 1_000]);
  });
}
