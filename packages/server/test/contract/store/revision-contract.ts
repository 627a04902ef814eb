import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONTEXT } from '../../support/origin.ts';
import type { Roster } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

type Step = readonly [what: string, run: (roster: Roster) => Promise<unknown>];

const CHANGES_GROUP: readonly Step[] = [
  ['its name', (roster) => roster.putGroup('g', { name: 'Renamed' })],
  ['its status', (roster) => roster.putGroup('g', { status: 'deleted' })],
  ['its metadata', (roster) => roster.putGroup('g', { metadata: { a: 1 } })],
  ['its list of members', (roster) => roster.putGroup('g', { members: ['ann'] })],
  ['an added member', (roster) => roster.changeMembers('g', { add: ['cid'] })],
  ['a removed member', (roster) => roster.changeMembers('g', { remove: ['ann'] })],
  ['the deletion of a member', (roster) => roster.deleteUser('ann')],
  ['a batch', (roster) => roster.applied({ groups: [{ id: 'g', name: 'Renamed' }] })],
  ['a batch that changes members', (roster) => roster.applied({ groups: [{ id: 'g', members: [] }] })],
  ['its connection', (roster) => roster.connectGroup('g', 'W1')],
];

const PRESERVES_GROUP: readonly Step[] = [
  [
    'the same again',
    (roster) => roster.putGroup('g', { name: 'g', status: 'active', members: ['bob', 'ann'] }),
  ],
  ['the same metadata', (roster) => roster.putGroup('g', { metadata: {} })],
  ['a write of nothing', (roster) => roster.putGroup('g', {})],
  [
    'adding a member and removing a stranger',
    (roster) => roster.changeMembers('g', { add: ['ann'], remove: ['cid'] }),
  ],
  ['the same in a batch', (roster) => roster.applied({ groups: [{ id: 'g', name: 'g' }] })],
  ['a disconnection of what is not connected', (roster) => roster.connectGroup('g', null)],
  ['a rejected write', (roster) => roster.putGroup('g', { name: 'Renamed', members: ['nobody'] })],
  ['a dry run', (roster) => roster.batch({ groups: [{ id: 'g', name: 'Renamed' }] }, true)],
  ['a new name of a member', (roster) => roster.putUser('ann', { name: 'Ann' })],
  ['a status of a member', (roster) => roster.putUser('ann', { status: 'deleted' })],
  ['the deletion of a stranger', (roster) => roster.deleteUser('cid')],
  ['a write of another group', (roster) => roster.putGroup('h', { name: 'Renamed', members: ['ann'] })],
  ['the deletion of another group', (roster) => roster.deleteGroup('h')],
];

const CHANGES_USER: readonly Step[] = [
  ['a name', (roster) => roster.putUser('ann', { name: 'Ann' })],
  ['a status', (roster) => roster.putUser('ann', { status: 'deleted' })],
  ['metadata', (roster) => roster.putUser('ann', { metadata: { a: 1 } })],
  ['a batch', (roster) => roster.applied({ users: [{ id: 'ann', email: 'ann@example.org' }] })],
];

const PRESERVES_USER: readonly Step[] = [
  ['the same again', (roster) => roster.putUser('ann', { status: 'active', metadata: {}, email: '' })],
  ['the same in a batch', (roster) => roster.applied({ users: [{ id: 'ann', status: 'active' }] })],
  [
    'preferences',
    (roster) => roster.store.preferences.put(roster.key, 'ann', { sendViaEmail: false }, CONTEXT),
  ],
  ['joining and leaving groups', (roster) => roster.putGroup('h', { members: ['ann'] })],
  ['the deletion of a group', (roster) => roster.deleteGroup('g')],
  ['a write of another user', (roster) => roster.putUser('bob', { name: 'Bob' })],
  ['a dry run', (roster) => roster.batch({ users: [{ id: 'ann', name: 'Ann' }] }, true)],
];

const revisionOfGroup = (roster: Roster) => roster.groupRevision('g');
const revisionOfUser = (roster: Roster) => roster.userRevision('ann');

export function revisionContract(lab: StoreLab): void {
  const stocked = async () => {
    const roster = await lab.projectWithGroup('g', 'ann', 'bob');
    await roster.groupOf('h', 'cid');
    return roster;
  };

  test('a resource has the revision of the write that made it', async () => {
    const roster = await lab.project();
    const context = roster.next();
    await lab.store.groups.put(roster.key, 'g', { name: 'G' }, context);
    assert.equal(await roster.groupRevision('g'), context.revision);
    await lab.store.users.put(roster.key, 'ann', {}, { ...context, revision: 'another' });
    assert.equal(await roster.userRevision('ann'), 'another');
  });

  const outcomes: readonly (readonly [string, readonly Step[], typeof revisionOfGroup, changes: boolean])[] =
    [
      ["a group's revision changes with", CHANGES_GROUP, revisionOfGroup, true],
      ["a group's revision stays with", PRESERVES_GROUP, revisionOfGroup, false],
      ["a user's revision changes with", CHANGES_USER, revisionOfUser, true],
      ["a user's revision stays with", PRESERVES_USER, revisionOfUser, false],
    ];
  for (const [title, steps, revisionOf, changes] of outcomes) {
    for (const [what, run] of steps) {
      test(`${title} ${what}`, async () => {
        const roster = await stocked();
        const before = await revisionOf(roster);
        await run(roster);
        assert.equal((await revisionOf(roster)) !== before, changes);
      });
    }
  }

  test('a group that is created again has another revision than the deleted one', async () => {
    const roster = await stocked();
    const before = await roster.groupRevision('g');
    await roster.deleteGroup('g');
    await roster.groupOf('g', 'ann', 'bob');
    assert.notEqual(await roster.groupRevision('g'), before);
  });
}
