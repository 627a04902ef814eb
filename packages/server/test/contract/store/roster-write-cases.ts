/** What writes of users, groups and their members record. */
import type { WriteCases } from './write-cases.ts';

export const ROSTER_CASES: Pick<WriteCases, 'users' | 'preferences' | 'groups' | 'members'> = {
  users: {
    put: {
      recorded: [
        ['a user who is created', (c) => c.putUser('new', { name: 'N' }), ['user.created new']],
        [
          'a user who is created deleted',
          (c) => c.putUser('new', { status: 'deleted' }),
          ['user.created new', 'user.deactivated new'],
        ],
        [
          'an update of several fields of a user',
          (c) => c.putUser('ann', { name: 'A', short_name: 'a', email: 'a@b.org', metadata: { a: 1 } }),
          [
            ...['user.updated ann name', 'user.updated ann short_name'],
            ...['user.updated ann email', 'user.updated ann metadata'],
          ],
        ],
        ['a user set deleted', (c) => c.putUser('ann', { status: 'deleted' }), ['user.deactivated ann']],
        [
          'a user set active with another name',
          (c) => c.putUser('off', { status: 'active', name: 'O' }),
          ['user.updated off name', 'user.activated off'],
        ],
      ],
      unrecorded: [
        [
          'an update that clears what is not set',
          (c) => c.putUser('ann', { email: '', short_name: null }),
          'unchanged',
        ],
        ['a status that is the same', (c) => c.putUser('off', { status: 'deleted' }), 'unchanged'],
        [
          'a precondition of a user that fails',
          (c) => c.putUser('ann', { name: 'X' }, { ifMatch: ['other'] }),
          'stale',
        ],
        [
          'a creation of a user who is there',
          (c) => c.putUser('ann', { name: 'X' }, { ifNoneMatch: '*' }),
          'exists',
        ],
      ],
    },
    delete: {
      recorded: [
        [
          'a user who is removed',
          (c) => c.deleteUser('ann'),
          ['member.removed g ann', 'member.removed h ann', 'user.removed ann'],
        ],
      ],
      unrecorded: [
        ['a deletion of a user who is not there', (c) => c.deleteUser('nobody'), 'absent'],
        ['a stale deletion of a user', (c) => c.deleteUser('ann', { ifMatch: ['other'] }), 'stale'],
      ],
    },
  },
  preferences: {
    put: {
      recorded: [
        [
          'preferences',
          (c) => c.store.preferences.put(c.key, 'ann', { sendViaEmail: false }, c.next()),
          ['preferences.updated ann notification_channels'],
        ],
      ],
      unrecorded: [
        [
          'preferences that are the same',
          (c) => c.store.preferences.put(c.key, 'ann', { sendViaEmail: true }, c.next()),
          'unchanged',
        ],
        [
          'preferences of a user who is not there',
          (c) => c.store.preferences.put(c.key, 'nobody', { sendViaEmail: false }, c.next()),
          'absent',
        ],
      ],
    },
  },
  groups: {
    put: {
      recorded: [
        [
          'a group that is created with members',
          (c) => c.putGroup('new', { name: 'N', members: ['bob', 'dan'] }),
          ['group.created new', 'member.added new bob', 'member.added new dan'],
        ],
        [
          'a group that is created deleted',
          (c) => c.putGroup('new', { name: 'N', status: 'deleted' }),
          ['group.created new', 'group.deactivated new'],
        ],
        [
          'fields and members of a group',
          (c) => c.putGroup('g', { name: 'G', metadata: { a: 1 }, members: ['bob', 'dan'] }),
          [
            ...['group.updated g name', 'group.updated g metadata'],
            ...['member.added g dan', 'member.removed g ann', 'member.removed g cid'],
          ],
        ],
        ['fields of a group', (c) => c.putGroup('g', { name: 'G' }), ['group.updated g name']],
        [
          'a group set deleted with another name',
          (c) => c.putGroup('g', { status: 'deleted', name: 'G' }),
          ['group.updated g name', 'group.deactivated g'],
        ],
        [
          'a group set active with its members',
          (c) => c.putGroup('shut', { status: 'active', members: ['ann'] }),
          ['group.activated shut', 'member.added shut ann'],
        ],
      ],
      unrecorded: [
        [
          'the same fields and members',
          (c) => c.putGroup('g', { name: 'g', members: ['cid', 'bob', 'ann'] }),
          'unchanged',
        ],
        [
          'a group with an unknown member',
          (c) => c.putGroup('g', { name: 'X', members: ['nobody'] }),
          'unknownUsers',
        ],
        ['a new group without a name', (c) => c.putGroup('new', {}), 'nameRequired'],
        [
          'a precondition of a group that fails',
          (c) => c.putGroup('g', { name: 'X' }, { ifMatch: ['other'] }),
          'stale',
        ],
        [
          'a creation of a group that is there',
          (c) => c.putGroup('g', { name: 'X' }, { ifNoneMatch: '*' }),
          'exists',
        ],
      ],
    },
    delete: {
      recorded: [
        [
          'a group that is removed',
          (c) => c.deleteGroup('g'),
          ['member.removed g ann', 'member.removed g bob', 'member.removed g cid', 'group.removed g'],
        ],
      ],
      unrecorded: [
        ['a deletion of a group that is not there', (c) => c.deleteGroup('none'), 'absent'],
        ['a stale deletion of a group', (c) => c.deleteGroup('g', { ifMatch: ['other'] }), 'stale'],
      ],
    },
    connect: {
      recorded: [
        ['a connection', (c) => c.connectGroup('g', 'W1'), ['group.updated g connectedToMessenger']],
        [
          'a disconnection',
          (c) => c.connectGroup('g', null),
          ['group.updated g connectedToMessenger'],
          (c) => c.connectGroup('g', 'W1'),
        ],
      ],
      unrecorded: [
        ['a disconnection of what is not connected', (c) => c.connectGroup('g', null), 'unchanged'],
        [
          'a connection to another workspace',
          (c) => c.connectGroup('g', 'W2'),
          'unchanged',
          (c) => c.connectGroup('g', 'W1'),
        ],
        ['a connection of a group that is not there', (c) => c.connectGroup('none', 'W1'), 'absent'],
      ],
    },
  },
  members: {
    change: {
      recorded: [
        [
          'members that are added and removed',
          (c) => c.changeMembers('g', { add: ['dan', 'ann', 'dan'], remove: ['bob', 'nobody', 'bob'] }),
          ['member.added g dan', 'member.removed g bob'],
        ],
      ],
      unrecorded: [
        [
          'members that are there, or not there, already',
          (c) => c.changeMembers('g', { add: ['ann'], remove: ['dan'] }),
          'unchanged',
        ],
        [
          'unknown users among the added',
          (c) => c.changeMembers('g', { add: ['nobody'], remove: ['ann'] }),
          'unknownUsers',
        ],
        ['members of a group that is not there', (c) => c.changeMembers('none', { add: ['ann'] }), 'absent'],
        [
          'a stale change of members',
          (c) => c.changeMembers('g', { add: ['dan'] }, { ifMatch: ['other'] }),
          'stale',
        ],
      ],
    },
  },
};
