import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changesOf } from './entries.ts';
import { newest, recordedAfter } from './recorded-changes.ts';
import { type Roster, START, unique } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

type Run = (roster: Roster) => Promise<object>;
type Case = readonly [what: string, run: Run, expected: readonly string[]];

const UPDATE = { userId: 'ann', groupId: 'g', region: '{"p":"1"}', location: '{"p":"1"}' };
const MOVED = { ...UPDATE, location: '{"p":"1","s":"2"}' };

/** Group `g` has ann, bob and cid, `h` has ann; dan is in no group; user `off` and group `shut` are deleted. */
async function stock(lab: StoreLab): Promise<Roster> {
  const roster = await lab.project();
  await roster.groupOf('g', 'ann', 'bob', 'cid');
  await roster.groupOf('h', 'ann');
  await roster.users('dan');
  await roster.putUser('off', { status: 'deleted' });
  await roster.putGroup('shut', { name: 'Shut', status: 'deleted' });
  return roster;
}

const setDurable = async (roster: Roster, update: typeof UPDATE) =>
  roster.store.durablePresence.put(roster.key, update, roster.next());

const WRITES: readonly Case[] = [
  ['a user who is created', (r) => r.putUser('new', { name: 'N' }), ['user.created new']],
  [
    'a user who is created deleted',
    (r) => r.putUser('new', { status: 'deleted' }),
    ['user.created new', 'user.deactivated new'],
  ],
  [
    'an update of several fields of a user',
    (r) => r.putUser('ann', { name: 'A', short_name: 'a', email: 'a@b.org', metadata: { a: 1 } }),
    [
      'user.updated ann name',
      'user.updated ann short_name',
      'user.updated ann email',
      'user.updated ann metadata',
    ],
  ],
  ['an update that clears what is not set', (r) => r.putUser('ann', { email: '', short_name: null }), []],
  ['a user set deleted', (r) => r.putUser('ann', { status: 'deleted' }), ['user.deactivated ann']],
  [
    'a user set active with another name',
    (r) => r.putUser('off', { status: 'active', name: 'O' }),
    ['user.updated off name', 'user.activated off'],
  ],
  ['a status that is the same', (r) => r.putUser('off', { status: 'deleted' }), []],
  [
    'a user who is removed',
    (r) => r.deleteUser('ann'),
    ['member.removed g ann', 'member.removed h ann', 'user.removed ann'],
  ],
  [
    'a group that is created with members',
    (r) => r.putGroup('new', { name: 'N', members: ['bob', 'dan'] }),
    ['group.created new', 'member.added new bob', 'member.added new dan'],
  ],
  [
    'a group that is created deleted',
    (r) => r.putGroup('new', { name: 'N', status: 'deleted' }),
    ['group.created new', 'group.deactivated new'],
  ],
  [
    'fields and members of a group',
    (r) => r.putGroup('g', { name: 'G', metadata: { a: 1 }, members: ['bob', 'dan'] }),
    [
      ...['group.updated g name', 'group.updated g metadata'],
      ...['member.added g dan', 'member.removed g ann', 'member.removed g cid'],
    ],
  ],
  ['fields of a group', (r) => r.putGroup('g', { name: 'G' }), ['group.updated g name']],
  ['the same fields and members', (r) => r.putGroup('g', { name: 'g', members: ['cid', 'bob', 'ann'] }), []],
  [
    'a group set deleted with another name',
    (r) => r.putGroup('g', { status: 'deleted', name: 'G' }),
    ['group.updated g name', 'group.deactivated g'],
  ],
  [
    'a group set active with its members',
    (r) => r.putGroup('shut', { status: 'active', members: ['ann'] }),
    ['group.activated shut', 'member.added shut ann'],
  ],
  [
    'a group that is removed',
    (r) => r.deleteGroup('g'),
    ['member.removed g ann', 'member.removed g bob', 'member.removed g cid', 'group.removed g'],
  ],
  ['a connection', (r) => r.connectGroup('g', 'W1'), ['group.updated g connectedToMessenger']],
  ['a disconnection of what is not connected', (r) => r.connectGroup('g', null), []],
  [
    'members that are added and removed',
    (r) => r.changeMembers('g', { add: ['dan', 'ann', 'dan'], remove: ['bob', 'nobody', 'bob'] }),
    ['member.added g dan', 'member.removed g bob'],
  ],
  [
    'members that are there, or not there, already',
    (r) => r.changeMembers('g', { add: ['ann'], remove: ['dan'] }),
    [],
  ],
  [
    'preferences',
    (r) => r.store.preferences.put(r.key, 'ann', { sendViaEmail: false }, r.next()),
    ['preferences.updated ann notification_channels'],
  ],
  [
    'preferences that are the same',
    (r) => r.store.preferences.put(r.key, 'ann', { sendViaEmail: true }, r.next()),
    [],
  ],
  ['a durable location', (r) => setDurable(r, UPDATE), ['durable_presence.moved g ann']],
  [
    'a durable location that is refreshed',
    (r) => setDurable(r, UPDATE).then(() => setDurable(r, UPDATE)),
    [],
  ],
  [
    'a durable location that moves within its region',
    (r) => setDurable(r, UPDATE).then(() => setDurable(r, MOVED)),
    ['durable_presence.moved g ann'],
  ],
  ['a new name of the project', (r) => r.store.projects.rename(r.key, 'New', r.next()), ['project.renamed']],
  ['the same name of the project', (r) => r.store.projects.rename(r.key, 'P', r.next()), []],
  [
    'a new secret',
    (r) => r.store.projects.rotateSecret(r.key, { secret: 's', previousValidUntil: START }, r.next()),
    ['project.secret_rotated'],
  ],
  [
    'an access token',
    (r) => r.store.sessions.create(r.key, { id: unique('session'), expiresAt: START }, r.next()),
    ['access_token.issued'],
  ],
  [
    'a revoked access token',
    async (r) => {
      const id = unique('session');
      await r.store.sessions.create(r.key, { id, expiresAt: START }, r.next());
      return r.store.sessions.revoke(r.key, id, r.next());
    },
    ['access_token.revoked'],
  ],
  [
    'an access token that was never issued',
    (r) => r.store.sessions.revoke(r.key, unique('none'), r.next()),
    [],
  ],
  [
    'a batch',
    (r) =>
      r.applied({
        users: [
          ...[{ id: 'new' }, { id: 'ann', status: 'deleted' }, { id: 'bob', name: 'Bob' }],
          ...[{ id: 'off', status: 'active' }, { id: 'dan' }, { id: 'gone', status: 'deleted' }],
        ],
        groups: [
          { id: 'g', members: ['ann', 'new'] },
          { id: 'fresh', name: 'F', members: ['dan'] },
          { id: 'shut', status: 'active', metadata: { a: 1 } },
          { id: 'h', members: ['ann'] },
        ],
      }),
    [
      ...['user.created new', 'user.deactivated ann', 'user.updated bob name', 'user.activated off'],
      ...['user.created gone', 'user.deactivated gone'],
      ...['member.added g new', 'member.removed g bob', 'member.removed g cid'],
      ...['group.created fresh', 'member.added fresh dan'],
      ...['group.updated shut metadata', 'group.activated shut'],
    ],
  ],
  [
    'a batch that names a user and groups more than once',
    (r) =>
      r.applied({
        users: [
          { id: 'ann', status: 'deleted' },
          { id: 'twice', name: 'T' },
          { id: 'ann', status: 'active', name: 'A' },
          { id: 'twice', name: 'U', status: 'deleted' },
        ],
        groups: [
          { id: 'h', status: 'deleted', name: 'H' },
          { id: 'h', status: 'active' },
          { id: 'g', status: 'deleted' },
          { id: 'g', metadata: { a: 1 } },
        ],
      }),
    [
      ...['user.updated ann name', 'user.created twice', 'user.deactivated twice'],
      ...['group.updated h name', 'group.updated g metadata', 'group.deactivated g'],
    ],
  ],
  [
    'a batch that changes nothing',
    (r) => r.applied({ users: [{ id: 'dan' }], groups: [{ id: 'g', members: ['ann', 'bob', 'cid'] }] }),
    [],
  ],
];

const REJECTED: readonly (readonly [what: string, run: Run])[] = [
  ['a group with an unknown member', (r) => r.putGroup('g', { name: 'X', members: ['nobody'] })],
  ['unknown users among the added', (r) => r.changeMembers('g', { add: ['nobody'], remove: ['ann'] })],
  ['a new group without a name', (r) => r.putGroup('new', {})],
  ['a precondition that fails', (r) => r.putUser('ann', { name: 'X' }, { ifMatch: ['other'] })],
  ['a creation of what is there', (r) => r.putGroup('g', { name: 'X' }, { ifNoneMatch: '*' })],
  ['a deletion of what is not there', (r) => r.deleteUser('nobody')],
  [
    'a batch that names an unknown member',
    (r) => r.batch({ users: [{ id: 'x' }], groups: [{ id: 'g', members: ['nobody'] }] }),
  ],
  ['a batch that does not fit the schema', (r) => r.batch({ users: [{ id: 'x', nick: 'n' }] })],
  ['durable presence of a user who is no member', (r) => setDurable(r, { ...UPDATE, userId: 'dan' })],
];

export function changeWriteContract(lab: StoreLab): void {
  for (const [what, run, expected] of WRITES) {
    test(`changes of ${what} are in the outcome, and the same are recorded`, async () => {
      const roster = await stock(lab);
      const before = await newest(roster);
      const outcome = await run(roster);
      const changes = changesOf(outcome);
      const recorded = await recordedAfter(roster, before);
      assert.deepEqual(recorded.slice(recorded.length - expected.length), changes);
      // In a batch, the order of different users and groups is the driver's choice.
      if ('users' in outcome) assert.deepEqual(changes.sort(), [...expected].sort());
      else assert.deepEqual(changes, expected);
    });
  }

  for (const [what, run] of REJECTED) {
    test(`no change is recorded of ${what}`, async () => {
      const roster = await stock(lab);
      const before = await newest(roster);
      assert.ok(!('changes' in (await run(roster))));
      assert.deepEqual(await recordedAfter(roster, before), []);
    });
  }

  test('a dry run of a batch has no changes, and none is recorded', async () => {
    const roster = await stock(lab);
    const before = await newest(roster);
    const outcome = await roster.batch({ users: [{ id: 'new' }], groups: [{ id: 'g', members: [] }] }, true);
    assert.deepEqual(changesOf(outcome), []);
    assert.deepEqual(await recordedAfter(roster, before), []);
  });
}
