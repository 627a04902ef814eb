import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareCodePoints } from '@rollcall/protocol';
import { changesOf, idsOf, joined } from './entries.ts';
import { numbered, type Roster } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

const SIZE = 20_000;

export function largeGroupContract(lab: StoreLab): void {
  const ids = numbered('u', SIZE);
  const newCrowd = async () => {
    const roster = await lab.project();
    await roster.users(...ids.slice(0, SIZE / 2));
    await roster.users(...ids.slice(SIZE / 2));
    return roster;
  };
  let shared: Promise<Roster> | null = null;
  /** A project of 20,000 users who stay as they are, for tests with a group of their own. */
  const sharedCrowd = () => {
    shared ??= newCrowd();
    return shared;
  };
  /** A group of all users of the project. */
  const withLargeGroup = async (roster: Roster, id: string) => {
    await roster.putGroup(id, { name: 'Large', members: [...ids].reverse() });
    return roster;
  };

  test('a group of 20,000 members is read as one sorted JSON array, page by page, and left', async () => {
    const roster = await withLargeGroup(await sharedCrowd(), 'read');
    assert.equal(await joined((await roster.group('read')).members), JSON.stringify(ids));
    assert.deepEqual(await idsOf(roster.membersOf('read'), 7_000), ids);
    assert.equal((await roster.membersOf('read')({ after: 'u019998', limit: 3 })).total, SIZE);
    assert.equal((await roster.putGroup('read', { members: ids })).kind, 'unchanged');
    assert.equal(changesOf(await roster.deleteGroup('read')).length, SIZE + 1);
    assert.equal((await roster.listUsers({ after: null, limit: 1 })).total, SIZE);
  });

  test('the members of a group are read in one state while they change', async () => {
    const roster = await withLargeGroup(await newCrowd(), 'large');
    const { members, revision } = await roster.group('large');
    await roster.changeMembers('large', { remove: [ids[0] as string, ids[SIZE - 1] as string] });
    await roster.deleteUser(ids[SIZE / 2] as string);
    await roster.putUser('zed', {});
    await roster.changeMembers('large', { add: ['zed'] });
    assert.equal(await joined(members), JSON.stringify(ids));
    const now = await roster.group('large');
    assert.notEqual(now.revision, revision);
    const left = ids.filter((_, index) => index !== 0 && index !== SIZE / 2 && index !== SIZE - 1);
    assert.equal(await joined(now.members), JSON.stringify([...left, 'zed']));
  });

  test('a read of a large group that races with writes gets the members of the revision', async () => {
    const roster = await withLargeGroup(await sharedCrowd(), 'raced');
    const halves = [ids.slice(0, 12_000), ids.slice(4_000)];
    const states = new Map([[await roster.groupRevision('raced'), JSON.stringify(ids)]]);
    const writing = (async () => {
      for (let round = 0; round < 4; round += 1) {
        const context = roster.next();
        const members = halves[round % 2] as string[];
        states.set(context.revision, JSON.stringify(members));
        await lab.store.groups.put(roster.key, 'raced', { members }, context);
      }
    })();
    for (let round = 0; round < 8; round += 1) await assertOneState(roster, states);
    await writing;
    await assertOneState(roster, states);
  });

  test('a reader that stops within the members of a large group does not block other reads and writes', async () => {
    const roster = await withLargeGroup(await sharedCrowd(), 'stopped');
    for (let round = 0; round < 30; round += 1) {
      const { members } = await roster.group('stopped');
      assert.notEqual(typeof members, 'undefined');
      if (typeof members === 'string') continue;
      for await (const piece of members) {
        assert.ok(piece.startsWith('['));
        break;
      }
    }
    await roster.changeMembers('stopped', { remove: [ids[0] as string] });
    assert.equal(await joined((await roster.group('stopped')).members), JSON.stringify(ids.slice(1)));
  });

  test('a list of members is one JSON array at every size around those of pieces', async () => {
    const roster = await lab.project();
    const ids = numbered('u', 10_001).map((id, index) => (index % 1_000 === 7 ? `"\\\u{1f600}${id}` : id));
    ids.sort(compareCodePoints);
    await roster.users(...ids.slice(0, 6_000));
    await roster.users(...ids.slice(6_000));
    for (const size of [0, 1, 999, 1_000, 1_001, 5_000, 9_999, 10_000, 10_001]) {
      await roster.putGroup('g', { name: 'G', members: ids.slice(0, size) });
      assert.equal(
        await joined((await roster.group('g')).members),
        JSON.stringify(ids.slice(0, size)),
        `${size}`,
      );
    }
  });
}

async function assertOneState(roster: Roster, states: ReadonlyMap<string, string>): Promise<void> {
  const { revision, members } = await roster.group('raced');
  assert.ok(
    (await joined(members)) === states.get(revision),
    `the members are those of revision ${revision}`,
  );
}
