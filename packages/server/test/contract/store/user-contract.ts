import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UserWrite } from '@rollcall/protocol';
import { toStored } from '../../../src/store/stored-write.ts';
import { BY_TEST, CONTEXT } from '../../support/origin.ts';
import { entriesIn, entriesOf, idsOf } from './entries.ts';
import type { StoreLab } from './store-lab.ts';

const FULL: Required<UserWrite> = {
  name: 'Ann',
  short_name: 'A',
  email: 'ann@example.org',
  profile_picture_url: 'https://example.org/ann.png',
  status: 'deleted',
  metadata: { team: 'red' },
};

const FULL_RECORD = {
  id: 'ann',
  name: 'Ann',
  shortName: 'A',
  email: 'ann@example.org',
  profilePictureUrl: 'https://example.org/ann.png',
  status: 'deleted',
  metadata: '{"team":"red"}',
};

export function userContract(lab: StoreLab): void {
  const readBack = async (roster: Awaited<ReturnType<StoreLab['project']>>) => {
    const { revision, createdAt, updatedAt, ...fields } = await roster.user('ann');
    return { revision, createdAt, updatedAt, fields: { ...pick(fields) } };
  };

  test('a user is created active from an ID alone, with no other field set', async () => {
    const roster = await lab.project();
    const context = roster.next();
    const { now, revision } = context;
    assert.equal((await lab.store.users.put(roster.key, 'ann', {}, context)).kind, 'created');
    assert.deepEqual(await readBack(roster), {
      revision,
      createdAt: now,
      updatedAt: now,
      fields: {
        id: 'ann',
        name: null,
        shortName: null,
        email: null,
        profilePictureUrl: null,
        status: 'active',
        metadata: '{}',
      },
    });
  });

  test('a user can be created with every field, deleted among them', async () => {
    const roster = await lab.project();
    assert.equal((await roster.putUser('ann', FULL)).kind, 'created');
    assert.deepEqual((await readBack(roster)).fields, FULL_RECORD);
  });

  const updates: readonly [what: string, write: UserWrite, expected: Partial<Record<string, unknown>>][] = [
    ['name', { name: 'New' }, { name: 'New' }],
    ['short_name', { short_name: 'N' }, { shortName: 'N' }],
    ['email', { email: 'new@example.org' }, { email: 'new@example.org' }],
    ['profile_picture_url', { profile_picture_url: 'http://x.org/' }, { profilePictureUrl: 'http://x.org/' }],
    ['status', { status: 'active' }, { status: 'active' }],
    ['metadata', { metadata: {} }, { metadata: '{}' }],
    ['an e-mail address to ""', { email: '' }, { email: null }],
    ['an e-mail address to null', { email: null }, { email: null }],
    ['a short name to null', { short_name: null }, { shortName: null }],
    ['a picture to null', { profile_picture_url: null }, { profilePictureUrl: null }],
  ];
  for (const [what, write, expected] of updates) {
    test(`an update of ${what} of a user changes only that, and the time of the update`, async () => {
      const roster = await lab.project();
      await roster.putUser('ann', FULL);
      const before = await readBack(roster);
      const context = roster.next();
      assert.equal((await lab.store.users.put(roster.key, 'ann', toStored(write), context)).kind, 'updated');
      assert.deepEqual(await readBack(roster), {
        revision: context.revision,
        createdAt: before.createdAt,
        updatedAt: context.now,
        fields: { ...FULL_RECORD, ...expected },
      });
    });
  }

  test('updated_at of a user does not go back with a later write whose clock is behind', async () => {
    const roster = await lab.project();
    const created = roster.next();
    await lab.store.users.put(roster.key, 'ann', {}, created);
    const behind = { now: created.now - 900, revision: 'behind', ...BY_TEST };
    assert.equal((await lab.store.users.put(roster.key, 'ann', { name: 'A' }, behind)).kind, 'updated');
    const written = await readBack(roster);
    assert.deepEqual([written.revision, written.updatedAt], ['behind', created.now]);
    const body = Buffer.from(JSON.stringify({ users: [{ id: 'ann', name: 'B' }] }));
    const stamp = { now: created.now - 800, revision: 'batch behind', ...BY_TEST };
    await lab.store.batches.apply(roster.key, { body, dryRun: false }, stamp);
    const batched = await readBack(roster);
    assert.deepEqual([batched.revision, batched.updatedAt], ['batch behind', created.now]);
    const ahead = { now: created.now + 1, revision: 'ahead', ...BY_TEST };
    await lab.store.users.put(roster.key, 'ann', { name: 'C' }, ahead);
    assert.equal((await readBack(roster)).updatedAt, created.now + 1);
  });

  test('a user write with the present values is `unchanged`, and does not change the time of the update', async () => {
    const roster = await lab.project();
    await roster.putUser('ann', FULL);
    const before = await roster.user('ann');
    assert.equal((await roster.putUser('ann', FULL)).kind, 'unchanged');
    assert.equal((await roster.putUser('ann', {})).kind, 'unchanged');
    assert.deepEqual(await roster.user('ann'), before);
  });

  test('clearing a field of a user that is not set is `unchanged`', async () => {
    const roster = await lab.projectWithUsers('ann');
    const write = { email: '', short_name: null, profile_picture_url: null };
    assert.equal((await roster.putUser('ann', write)).kind, 'unchanged');
  });

  test('a deleted user stays deleted when the name is updated', async () => {
    const roster = await lab.project();
    await roster.putUser('ann', { status: 'deleted' });
    await roster.putUser('ann', { name: 'Renamed' });
    assert.equal((await roster.user('ann')).status, 'deleted');
  });

  test('a user set deleted still has memberships and preferences', async () => {
    const roster = await lab.projectWithGroup('g', 'ann');
    await lab.store.preferences.put(roster.key, 'ann', { sendViaEmail: false }, CONTEXT);
    await roster.putUser('ann', { status: 'deleted' });
    assert.deepEqual(await roster.members('g'), ['ann']);
    assert.equal((await lab.store.preferences.find(roster.key, 'ann'))?.sendViaEmail, false);
  });

  test('the list of users shows whole users as the API does, of either status', async () => {
    const roster = await lab.project();
    await roster.putUser('bob', {});
    await roster.putUser('ann', FULL);
    await roster.putUser('ann', { name: 'Anna' });
    const bob = await roster.user('bob');
    const ann = await roster.user('ann');
    assert.deepEqual(await entriesOf(roster.listUsers), [
      {
        id: 'ann',
        ...FULL,
        name: 'Anna',
        created_at: new Date(ann.createdAt).toISOString(),
        updated_at: new Date(ann.updatedAt).toISOString(),
      },
      {
        id: 'bob',
        name: null,
        short_name: null,
        email: null,
        profile_picture_url: null,
        status: 'active',
        metadata: {},
        created_at: new Date(bob.createdAt).toISOString(),
        updated_at: new Date(bob.updatedAt).toISOString(),
      },
    ]);
  });

  test('the times of a user are stored and listed to the millisecond', async () => {
    const roster = await lab.project();
    const times = [0, 1, 999, 1_000, 59_999, 1_735_689_599_999, 1_772_366_400_001, 4_102_444_799_995];
    for (const [index, now] of times.entries()) {
      await lab.store.users.put(roster.key, `u${index}`, {}, { now, revision: 'r', ...BY_TEST });
    }
    const found = await Promise.all(times.map((_, index) => roster.user(`u${index}`)));
    assert.deepEqual(
      found.map((user) => user.createdAt),
      times,
    );
    const listed = await entriesOf(roster.listUsers);
    assert.deepEqual(
      listed.map((user) => user.created_at),
      times.map((now) => new Date(now).toISOString()),
    );
  });

  test('the total of a page of users counts all users, through creation, batch and deletion', async () => {
    const roster = await lab.project();
    const total = async () => (await roster.listUsers({ after: 'b', limit: 1 })).total;
    await roster.users('a', 'b', 'c');
    assert.equal(await total(), 3);
    await roster.putUser('d', {});
    await roster.putUser('d', { name: 'D' });
    await roster.applied({ users: [{ id: 'd' }, { id: 'e' }, { id: 'e' }] });
    assert.equal(await total(), 5);
    await roster.deleteUser('a');
    await roster.deleteUser('a');
    assert.equal(await total(), 4);
    await roster.batch({ users: [{ id: 'x' }] }, true);
    await roster.batch({ users: [{ id: 'x' }], groups: [{ id: 'g', name: 'N', members: ['nobody'] }] });
    assert.equal(await total(), 4);
    assert.equal(entriesIn(await roster.listUsers({ after: null, limit: 9 })).length, 4);
  });

  test('the deletion of a user removes the memberships and preferences', async () => {
    const roster = await lab.projectWithGroup('g', 'ann', 'bob');
    await lab.store.preferences.put(roster.key, 'ann', { sendViaMessenger: false }, CONTEXT);
    assert.equal((await roster.deleteUser('ann')).kind, 'deleted');
    assert.equal(await lab.store.users.find(roster.key, 'ann'), null);
    assert.deepEqual(await idsOf(roster.listUsers), ['bob']);
    assert.deepEqual(await roster.members('g'), ['bob']);
    assert.equal(await lab.store.preferences.find(roster.key, 'ann'), null);
    assert.equal(await lab.store.members.listGroups(roster.key, 'ann', { after: null, limit: 1 }), null);
  });

  test('deleting a user who does not exist is `absent`', async () => {
    const roster = await lab.project();
    assert.deepEqual(await roster.deleteUser('ann'), { kind: 'absent' });
  });

  test('a user who is created again after deletion has no data of the deleted one', async () => {
    const roster = await lab.projectWithGroup('g', 'ann');
    await roster.putUser('ann', FULL);
    await lab.store.preferences.put(roster.key, 'ann', { sendViaMessenger: false }, CONTEXT);
    await roster.deleteUser('ann');
    const context = roster.next();
    assert.equal((await lab.store.users.put(roster.key, 'ann', {}, context)).kind, 'created');
    const { name, status, metadata, createdAt } = await roster.user('ann');
    assert.deepEqual([name, status, metadata, createdAt], [null, 'active', '{}', context.now]);
    assert.deepEqual(await roster.members('g'), []);
    assert.deepEqual(await lab.store.preferences.find(roster.key, 'ann'), {
      sendViaMessenger: true,
      sendViaEmail: true,
    });
  });
}

/** The fields of the record that the port names; a driver's record may have more. */
function pick(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.keys(FULL_RECORD).map((field) => [field, record[field]]));
}
