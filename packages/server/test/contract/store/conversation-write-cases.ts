/** What writes of threads and messages record. */
import type { StoredMessageWrite } from '../../../src/store/ports/messages.ts';
import { appended, markdown, plain } from './conversation.ts';
import type { WriteCases } from './write-cases.ts';

const NEW: StoredMessageWrite = { authorId: 'ann', content: markdown('N') };
const THREAD = { groupId: 'g', name: 'N' };
const OTHER = { ifMatch: ['other'] };

export const CONVERSATION_CASES: Pick<WriteCases, 'threads' | 'messages'> = {
  threads: {
    put: {
      recorded: [
        ['a thread that is created', (c) => c.putThread('new', THREAD), ['thread.created g new']],
        [
          'a thread that is created resolved',
          (c) => c.putThread('new', { ...THREAD, resolved: true }),
          ['thread.created g new'],
        ],
        [
          'an update of every field of a thread',
          (c) => c.putThread('t', { name: 'X', url: null, location: null, metadata: '{}', resolved: true }),
          ['name', 'url', 'location', 'metadata', 'resolved'].map((field) => `thread.updated g t ${field}`),
        ],
        [
          'an update of one field of a thread',
          (c) => c.putThread('t', { name: 'X', metadata: '{"a":1}' }),
          ['thread.updated g t name'],
        ],
      ],
      unrecorded: [
        [
          'a thread with the stored values',
          (c) => c.putThread('t', { name: 't', url: 'https://example.org', resolved: false }),
          'unchanged',
        ],
        [
          'a thread that is resolved again',
          (c) => c.putThread('t', { resolved: true }),
          'unchanged',
          (c) => c.putThread('t', { resolved: true }),
        ],
        ['a thread with another group', (c) => c.putThread('t', { groupId: 'h' }), 'fixedFields'],
        ['a new thread without fields', (c) => c.putThread('new', {}), 'fieldsRequired'],
        [
          'a thread of a deleted group',
          (c) => c.putThread('new', { ...THREAD, groupId: 'shut' }),
          'groupUnavailable',
        ],
        [
          'a creation of a thread that is there',
          (c) => c.putThread('t', THREAD, { ifNoneMatch: '*' }),
          'exists',
        ],
        ['a stale write of a thread', (c) => c.putThread('t', { name: 'X' }, OTHER), 'stale'],
        [
          'a thread of another group than the expected one',
          (c) => c.putThread('t', { inGroup: 'h' }),
          'absent',
        ],
      ],
    },
    delete: {
      recorded: [['a thread that is removed', (c) => c.deleteThread('t'), ['thread.removed g t']]],
      unrecorded: [
        ['a deletion of a thread that is not there', (c) => c.deleteThread('none'), 'absent'],
        ['a stale deletion of a thread', (c) => c.deleteThread('t', OTHER), 'stale'],
        [
          'a deletion of a thread whose group was removed',
          (c) => c.deleteThread('t'),
          'absent',
          (c) => c.deleteGroup('g'),
        ],
      ],
    },
    markSeen: {
      recorded: [],
      unrecorded: [
        ['a thread that is seen', (c) => c.markSeen('t', 'bob'), 'updated'],
        ['a message that was seen before', (c) => c.markSeen('t', 'ann', 'm'), 'unchanged'],
        ['a message that is seen and not there', (c) => c.markSeen('t', 'bob', 'none'), 'messageAbsent'],
        ['a thread that is seen and not there', (c) => c.markSeen('none', 'bob'), 'absent'],
      ],
    },
  },
  messages: {
    put: {
      recorded: [
        ['a message that is created', (c) => c.putMessage('t', 'n', NEW), ['message.created g t n']],
        [
          'a message that is created deleted',
          (c) => c.putMessage('t', 'n', { ...NEW, deleted: true }),
          ['message.created g t n'],
        ],
        [
          'a message that is created with its thread',
          (c) => c.putMessage('new', 'n', { ...NEW, createThread: THREAD }),
          ['thread.created g new', 'message.created g new n'],
        ],
        [
          'an update of every field of a message',
          (c) =>
            c.putMessage('t', 'm', {
              ...{ content: plain('x'), type: 'action_message', url: null },
              ...{ metadata: '{"b":1}', deleted: true },
            }),
          ['type', 'content', 'url', 'metadata', 'deleted'].map((field) => `message.updated g t m ${field}`),
        ],
        [
          'a message that is restored',
          (c) => c.putMessage('t', 'm', { deleted: false }),
          ['message.updated g t m deleted'],
          (c) => c.putMessage('t', 'm', { deleted: true }),
        ],
      ],
      unrecorded: [
        [
          'a message with the stored values',
          (c) => c.putMessage('t', 'm', { content: markdown('M'), deleted: false }),
          'unchanged',
        ],
        ['a message of another author', (c) => c.putMessage('t', 'm', { authorId: 'bob' }), 'fixedFields'],
        ['a new message without fields', (c) => c.putMessage('t', 'n', {}), 'fieldsRequired'],
        ['a message of a thread that is not there', (c) => c.putMessage('none', 'n', NEW), 'threadAbsent'],
        [
          'a message and its thread by a user who is no member',
          (c) => c.putMessage('new', 'n', { ...NEW, authorId: 'dan', createThread: THREAD }),
          'authorUnavailable',
        ],
        [
          'a message that mentions unknown users',
          (c) => c.putMessage('t', 'n', { ...NEW, content: plain('x', 'nobody') }),
          'unknownUsers',
        ],
        [
          'a creation of a message that is there',
          (c) => c.putMessage('t', 'm', NEW, { ifNoneMatch: '*' }),
          'exists',
        ],
        ['a stale write of a message', (c) => c.putMessage('t', 'm', { url: null }, OTHER), 'stale'],
        ['a message that has to be there', (c) => c.putMessage('t', 'n', { ofAuthor: 'ann' }), 'absent'],
        [
          'a message in a deleted group',
          (c) => c.putMessage('t', 'n', NEW),
          'groupUnavailable',
          (c) => c.putGroup('g', { status: 'deleted' }),
        ],
      ],
    },
    append: {
      recorded: [
        ['a text that is appended', (c) => c.append('t', 'm', appended('y')), ['message.appended g t m']],
      ],
      unrecorded: [
        ['an empty text that is appended', (c) => c.append('t', 'm', appended('')), 'appended'],
        ['a text that is appended twice', (c) => c.append('t', 'm', appended('y', 7)), 'stale'],
        [
          'a text that is appended to a deleted message',
          (c) => c.append('t', 'm', appended('y')),
          'notAppendable',
          (c) => c.putMessage('t', 'm', { deleted: true }),
        ],
        ['a text that is appended to nothing', (c) => c.append('t', 'none', appended('y')), 'absent'],
      ],
    },
    delete: {
      recorded: [['a message that is removed', (c) => c.deleteMessage('t', 'm'), ['message.removed g t m']]],
      unrecorded: [
        ['a deletion of a message that is not there', (c) => c.deleteMessage('t', 'none'), 'absent'],
        ['a deletion in a thread that is not there', (c) => c.deleteMessage('none', 'm'), 'threadAbsent'],
        ['a stale deletion of a message', (c) => c.deleteMessage('t', 'm', OTHER), 'stale'],
      ],
    },
  },
};
