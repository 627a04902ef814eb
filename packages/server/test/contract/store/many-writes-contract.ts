/** Writes of different resources that come at the same moment: a driver may make them together, each by its own conditions. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change } from '../../../src/store/changes/changes.ts';
import { recordsAfter } from '../../support/recorded.ts';
import { appended, Conversation, markdown, plain, textOf } from './conversation.ts';
import { PAGE_1, PAGE_2 } from './durable-presence.ts';
import { changeTexts } from './entries.ts';
import { numbered, type Roster } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

const GROUPS = numbered('g', 40);

/** A project whose groups have ann each, and the users bob and cid. */
async function groupsOfAnn(lab: StoreLab): Promise<Roster> {
  const roster = await lab.projectWithUsers('bob', 'cid');
  await roster.applied({
    users: [{ id: 'ann' }],
    groups: GROUPS.map((id) => ({ id, name: id, members: ['ann'] })),
  });
  return roster;
}

const isChange = (outcome: object): outcome is { readonly changes: readonly Change[] } =>
  'changes' in outcome;

/** What the writes have answered as their changes, and what is recorded of them since, both sorted. */
async function answeredAndRecorded(roster: Roster, outcomes: readonly object[], after: number) {
  const records = await recordsAfter(roster.store, roster.key, after);
  return [
    changeTexts(outcomes.flatMap((outcome) => (isChange(outcome) ? outcome.changes : []))).sort(),
    changeTexts(records.flatMap(({ changes }) => changes)).sort(),
  ] as const;
}

const lastPosition = async ({ store, key }: Roster) => (await recordsAfter(store, key)).at(-1)?.position ?? 0;

export function manyWritesContract(lab: StoreLab): void {
  test('changes of members of forty groups at once have each the outcome and the record of its own', async () => {
    const roster = await groupsOfAnn(lab);
    const before = await lastPosition(roster);
    const [first, stale, matching, unknown, same, emptied] = GROUPS as [string, ...string[]];
    const revision = await roster.groupRevision(matching as string);
    const outcomes = await Promise.all([
      roster.changeMembers(first, { add: ['bob', 'cid'], remove: ['ann'] }),
      roster.changeMembers(stale as string, { add: ['bob'] }, { ifMatch: ['another'] }),
      roster.changeMembers(matching as string, { add: ['bob'] }, { ifMatch: [revision] }),
      roster.changeMembers(unknown as string, { add: ['nobody', 'bob'], remove: ['ann'] }),
      roster.changeMembers(same as string, { add: ['ann'], remove: ['bob'] }),
      roster.changeMembers(emptied as string, { remove: ['ann'] }),
      roster.changeMembers('none', { add: ['bob'] }),
      ...GROUPS.slice(6).map((id) => roster.changeMembers(id, { add: ['cid'] })),
    ]);
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      [
        ...['updated', 'stale', 'updated', 'unknownUsers', 'unchanged', 'updated', 'absent'],
        ...GROUPS.slice(6).map(() => 'updated'),
      ],
    );
    const expected: Record<string, string[]> = {
      ...Object.fromEntries(GROUPS.map((id) => [id, ['ann', 'cid']])),
      [first]: ['bob', 'cid'],
      [stale as string]: ['ann'],
      [matching as string]: ['ann', 'bob'],
      [unknown as string]: ['ann'],
      [same as string]: ['ann'],
      [emptied as string]: [],
    };
    for (const id of GROUPS) {
      assert.deepEqual(await roster.members(id), expected[id], id);
      const page = await roster.membersOf(id)({ after: null, limit: 10 });
      assert.equal(page.total, expected[id]?.length, id);
    }
    const [answered, recorded] = await answeredAndRecorded(roster, outcomes, before);
    assert.deepEqual(recorded, answered);
    assert.equal(answered.length, 3 + 1 + 1 + GROUPS.length - 6);
  });

  test('durable updates of forty members at once have each the outcome and the record of its own', async () => {
    const roster = await groupsOfAnn(lab);
    await roster.putGroup(GROUPS[1] as string, { status: 'deleted' });
    const put = (groupId: string, location: string, userId = 'ann') =>
      roster.store.durablePresence.put(
        roster.key,
        { userId, groupId, region: PAGE_1, location },
        roster.next(),
      );
    await put(GROUPS[0] as string, PAGE_1);
    const before = await lastPosition(roster);
    const outcomes = await Promise.all([
      put(GROUPS[0] as string, PAGE_2),
      put(GROUPS[1] as string, PAGE_2),
      put(GROUPS[2] as string, PAGE_2, 'bob'),
      ...GROUPS.slice(3).map((id) => put(id, PAGE_1)),
      ...GROUPS.slice(3).map((id) => put(id, PAGE_1)),
    ]);
    assert.deepEqual(
      outcomes.map((outcome) => (outcome.kind === 'set' ? outcome.previous : outcome.kind)),
      [
        ...[PAGE_1, 'rejected', 'rejected'],
        ...GROUPS.slice(3).map(() => null),
        ...GROUPS.slice(3).map(() => PAGE_1),
      ],
    );
    for (const [index, id] of GROUPS.entries()) {
      const found = await roster.store.durablePresence.find(roster.key, id, 'ann');
      const location = index === 0 ? PAGE_2 : PAGE_1;
      assert.equal(found?.location, index === 1 || index === 2 ? undefined : location, id);
    }
    const [answered, recorded] = await answeredAndRecorded(roster, outcomes, before);
    assert.deepEqual(recorded, answered);
    assert.equal(answered.length, 1 + GROUPS.length - 3);
  });

  test('appends to messages of forty threads at once have each the outcome and the record of its own', async () => {
    const conversation = await Conversation.in(lab);
    for (const id of GROUPS) {
      await conversation.newThread(id);
      await conversation.newMessage(id, 'm', { content: markdown('one') });
    }
    const [first, stale, without] = GROUPS as [string, string, string];
    await conversation.putMessage(without, 'm', { content: plain('no markdown') });
    const before = await lastPosition(conversation);
    const outcomes = await Promise.all([
      conversation.append(first, 'm', appended(', "two" \\ three')),
      conversation.append(stale, 'm', appended(', two'), { ifMatch: ['another'] }),
      conversation.append(without, 'm', appended(', two')),
      conversation.append('none', 'm', appended(', two')),
      conversation.append(first, 'none', appended(', two')),
      conversation.append(first, 'm', appended('?', 99)),
      ...GROUPS.slice(3).map((id) => conversation.append(id, 'm', appended(`, ${id}`))),
    ]);
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      [
        ...['appended', 'stale', 'notAppendable', 'threadAbsent', 'absent', 'stale'],
        ...GROUPS.slice(3).map(() => 'appended'),
      ],
    );
    for (const [index, id] of GROUPS.entries()) {
      if (index === 2) continue;
      const expected = index === 0 ? 'one, "two" \\ three' : index === 1 ? 'one' : `one, ${id}`;
      assert.equal(textOf((await conversation.message(id, 'm')).content as string), expected);
    }
    const [answered, recorded] = await answeredAndRecorded(conversation, outcomes, before);
    assert.deepEqual(recorded, answered);
    assert.equal(answered.length, 1 + GROUPS.length - 3);
  });
}
