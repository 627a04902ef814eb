/** What batches and durable presence record: writes of many resources at once. */
import { limits } from '@rollcall/protocol';
import type { DurablePresenceUpdate } from '../../../src/store/ports/durable-presence.ts';
import type { Conversation } from './conversation.ts';
import type { WriteCases } from './write-cases.ts';

const UPDATE: DurablePresenceUpdate = {
  ...{ userId: 'ann', groupId: 'g' },
  ...{ region: '{"p":"1"}', location: '{"p":"1"}' },
};
const MOVED = { ...UPDATE, location: '{"p":"1","s":"2"}' };
const LONG = {
  ...UPDATE,
  region: '{"p":"2"}',
  location: `{"p":"${'x'.repeat(limits.DURABLE_LOCATIONS_MAX_BYTES)}"}`,
};
const BOB = { ...UPDATE, userId: 'bob' };
const NO_MEMBER = { ...UPDATE, userId: 'dan' };

const put = (c: Conversation, update: DurablePresenceUpdate = UPDATE) =>
  c.store.durablePresence.put(c.key, update, c.next());
const putMany = (c: Conversation, ...updates: readonly DurablePresenceUpdate[]) =>
  c.store.durablePresence.putMany(c.key, updates, c.next());

export const BATCH_CASES: Pick<WriteCases, 'batches' | 'durablePresence'> = {
  batches: {
    apply: {
      recorded: [
        [
          'a batch',
          (c) =>
            c.batch({
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
          (c) =>
            c.batch({
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
          'a batch that names the members of a group more than once',
          (c) =>
            c.batch({
              groups: [
                { id: 'g', members: ['ann'] },
                { id: 'g', members: ['ann', 'bob', 'cid', 'dan'] },
                { id: 'g', members: ['ann', 'cid'] },
              ],
            }),
          ['member.removed g cid', 'member.added g cid', 'member.removed g bob'],
        ],
      ],
      unrecorded: [
        [
          'a batch that changes nothing',
          (c) => c.batch({ users: [{ id: 'dan' }], groups: [{ id: 'g', members: ['ann', 'bob', 'cid'] }] }),
          'applied',
        ],
        [
          'a dry run of a batch',
          (c) => c.batch({ users: [{ id: 'new' }], groups: [{ id: 'g', members: [] }] }, true),
          'applied',
        ],
        [
          'a batch that names an unknown member',
          (c) => c.batch({ users: [{ id: 'x' }], groups: [{ id: 'g', members: ['nobody'] }] }),
          'unknownUsers',
        ],
        [
          'a batch that does not fit the schema',
          (c) => c.batch({ users: [{ id: 'x', nick: 'n' }] }),
          'invalid',
        ],
        ['a batch that is no JSON object', (c) => c.batch(Buffer.from('[]')), 'malformed'],
      ],
    },
  },
  durablePresence: {
    put: {
      recorded: [
        ['a durable location', (c) => put(c), ['durable_presence.moved g ann']],
        [
          'a durable location that moves within its region',
          (c) => put(c, MOVED),
          ['durable_presence.moved g ann'],
          (c) => put(c),
        ],
        [
          'a durable location that ends others because of a bound',
          (c) => put(c, LONG),
          ['durable_presence.moved g ann', 'durable_presence.removed g ann'],
          (c) => put(c),
        ],
      ],
      unrecorded: [
        ['a durable location that is refreshed', (c) => put(c), 'set', (c) => put(c)],
        ['durable presence of a user who is no member', (c) => put(c, NO_MEMBER), 'rejected'],
      ],
    },
    putMany: {
      recorded: [
        [
          'a list of durable locations, of which one is refreshed and one is rejected',
          (c) => putMany(c, BOB, UPDATE, NO_MEMBER, LONG),
          ['durable_presence.moved g bob', 'durable_presence.moved g ann', 'durable_presence.removed g ann'],
          (c) => put(c),
        ],
      ],
      unrecorded: [
        [
          'durable locations that are refreshed or rejected',
          (c) => putMany(c, UPDATE, NO_MEMBER),
          null,
          (c) => put(c),
        ],
        ['an empty list of durable locations', (c) => putMany(c), null],
      ],
    },
  },
};
