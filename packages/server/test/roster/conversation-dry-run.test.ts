/** `rollcall sync --dry-run` of threads and messages reports what the run then does: the same file, dry and real. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { oneServer } from '../support/one-server.ts';
import { jsonLines, syncText } from './roster-cli.ts';

const server = oneServer();

const AT = '2026-01-01T10:00:00.000Z';
const LATER = '2026-01-02T10:00:00.000Z';
const FUTURE = '2999-01-01T00:00:00Z';
const markdown = (text: string) => [{ type: 'markdown', children: [{ text }] }];
const mentionOf = (id: string) => [{ type: 'mention', user: { id }, children: [{ text: '@' }] }];
const user = (id: string, fields: object = {}) => ({ type: 'user', id, ...fields });
const group = (id: string, fields: object = {}) => ({ type: 'group', id, name: id, ...fields });
const thread = (id: string, fields: object = {}) => ({
  type: 'thread',
  id,
  groupID: 'g',
  name: id,
  ...fields,
});
const message = (id: string, fields: object = {}) => ({
  ...{ type: 'message', threadID: 't', id, authorID: 'ann', content: markdown(id) },
  ...fields,
});
const atTime = { createdTimestamp: AT };

/** What the project has before. */
const before = [
  ...['ann', 'bob', 'gone', 'stranger'].map((id) => user(id)),
  group('g', { members: ['ann', 'bob', 'gone'] }),
  group('shut', { members: ['ann'] }),
  thread('t', {
    ...atTime,
    location: { a: '1', b: '2' },
    metadata: { a: 1, b: 2 },
    url: 'https://a.example/',
  }),
  thread('in-shut', { groupID: 'shut', ...atTime }),
  message('m', { ...atTime, metadata: { a: 1, b: 2 } }),
  message('removed', atTime),
  user('gone', { status: 'deleted' }),
  group('shut', { status: 'deleted' }),
  message('removed', { deletedTimestamp: LATER }),
];

const cases: readonly [what: string, lines: readonly object[]][] = [
  [
    'a group of the file that a later line renames, with a thread and a message of its member',
    [
      user('new'),
      group('h', { members: ['new'] }),
      group('h', { name: 'H' }),
      thread('n', { groupID: 'h' }),
      message('a', { threadID: 'n', authorID: 'new' }),
    ],
  ],
  [
    'a new thread with its messages',
    [thread('n', atTime), message('a', { threadID: 'n' }), message('b', { threadID: 'n', ...atTime })],
  ],
  [
    'a new group of the file with a thread and a message of a new member',
    [
      user('new'),
      group('h', { members: ['new'] }),
      thread('n', { groupID: 'h' }),
      message('a', { threadID: 'n', authorID: 'new' }),
    ],
  ],
  [
    'a message whose thread was rejected',
    [thread('n', { groupID: 'none' }), message('a', { threadID: 'n', ...atTime })],
  ],
  [
    'a thread of a deleted group, imported or not',
    [thread('n', { groupID: 'shut' }), thread('o', { groupID: 'shut', ...atTime })],
  ],
  [
    'a thread of a group that the file sets deleted, and active again',
    [group('g', { status: 'deleted' }), thread('n'), group('g', { status: 'active' }), thread('o')],
  ],
  [
    'an update of a thread in a deleted group, with its time or without',
    [
      thread('in-shut', { groupID: 'shut', name: 'x' }),
      thread('in-shut', { groupID: 'shut', name: 'x', ...atTime }),
    ],
  ],
  [
    'a message in a deleted group, imported or not',
    [message('a', { threadID: 'in-shut' }), message('b', { threadID: 'in-shut', ...atTime })],
  ],
  [
    'a message of a deleted author, imported or not',
    [message('a', { authorID: 'gone' }), message('b', { authorID: 'gone', ...atTime })],
  ],
  [
    'a message of an author who is no member, imported or not',
    [message('a', { authorID: 'stranger' }), message('b', { authorID: 'stranger', ...atTime })],
  ],
  [
    'a message of an author whom the file takes out of the group',
    [group('g', { members: ['bob'] }), message('a'), message('b', { authorID: 'bob' })],
  ],
  [
    'a message of an author whom the file sets deleted',
    [user('bob', { status: 'deleted' }), message('a', { authorID: 'bob' })],
  ],
  [
    'a message of a missing author, and one that mentions missing users',
    [
      message('a', { authorID: 'none' }),
      message('b', { content: [...mentionOf('x'), ...mentionOf('y'), ...mentionOf('ann')] }),
    ],
  ],
  ['a message that mentions a deleted user', [message('a', { content: mentionOf('gone') })]],
  ['an update that mentions a missing user', [message('m', { content: mentionOf('none') })]],
  [
    'times in the future',
    [
      thread('n', { createdTimestamp: FUTURE }),
      thread('o', { ...atTime, resolvedTimestamp: FUTURE }),
      message('a', { createdTimestamp: FUTURE }),
      message('b', { ...atTime, updatedTimestamp: FUTURE, deletedTimestamp: FUTURE }),
    ],
  ],
  [
    'a time of resolution of a thread that is not resolved',
    [thread('n', { resolved: false, resolvedTimestamp: LATER, ...atTime })],
  ],
  [
    'fields that never change',
    [
      thread('t', { groupID: 'shut' }),
      thread('t', { createdTimestamp: LATER }),
      message('m', { authorID: 'bob' }),
      message('m', { createdTimestamp: LATER }),
    ],
  ],
  ['the same lines again', before],
  [
    'keys in another order, and times in another form',
    [
      thread('t', {
        createdTimestamp: '2026-01-01T11:00:00+01:00',
        location: { b: '2', a: '1' },
        metadata: { b: 2, a: 1 },
      }),
      message('m', { metadata: { b: 2, a: 1 } }),
    ],
  ],
  [
    'fields that are cleared',
    [
      thread('t', { url: null, location: null, metadata: {} }),
      thread('t', { url: null, location: null, metadata: {} }),
    ],
  ],
  [
    'fields that a line leaves out and the next one repeats',
    [
      thread('t', { name: 'x' }),
      thread('t', { name: 'x', metadata: { a: 1, b: 2 }, url: 'https://a.example/' }),
      message('m', { content: markdown('x') }),
      message('m', { content: markdown('x'), metadata: { a: 1, b: 2 } }),
    ],
  ],
  [
    'a deleted message that is repeated',
    [message('removed', atTime), message('removed', { ...atTime, deletedTimestamp: LATER })],
  ],
  [
    'a message that a line deletes, twice',
    [message('m', { deletedTimestamp: LATER }), message('m', { deletedTimestamp: LATER })],
  ],
  [
    'a message that is there twice, the same, changed, and by another author',
    [
      message('a', atTime),
      message('a', atTime),
      message('a', { content: markdown('changed') }),
      message('a', { content: markdown('changed') }),
      message('a', { authorID: 'bob' }),
    ],
  ],
  [
    'a thread that is there twice, the same, changed, and of another group',
    [
      thread('n'),
      thread('n'),
      thread('n', { name: 'changed' }),
      thread('n', { resolved: true }),
      thread('n', { resolved: true }),
      thread('n', { groupID: 'shut' }),
    ],
  ],
  ['a thread that lines without a time create, and one with a time', [thread('n'), thread('n', atTime)]],
  [
    'a deleted message of the file that comes again',
    [
      message('a', { ...atTime, deletedTimestamp: LATER }),
      message('a', { ...atTime, deletedTimestamp: LATER }),
      message('a', { content: markdown('changed') }),
    ],
  ],
  [
    'the type and the address of a message',
    [
      message('m', { messageType: 'action_message' }),
      message('m', { messageType: 'action_message', url: 'https://m.example/' }),
      message('m', { url: 'https://m.example/' }),
    ],
  ],
  [
    'content, metadata and addresses that are not valid',
    [
      message('a', { content: [{ type: 'p' }] }),
      message('a', { url: 'ftp://a' }),
      thread('n', { metadata: 'x' }),
      thread('n', { url: 'nowhere' }),
    ],
  ],
  [
    'users and groups after messages that name them',
    [
      message('a', { authorID: 'late' }),
      user('late'),
      message('a', { authorID: 'late', ...atTime }),
      thread('n', { groupID: 'after' }),
      group('after'),
      thread('n', { groupID: 'after' }),
    ],
  ],
  [
    'a rejected user as an author',
    [user('bad', { email: 'nonsense' }), message('a', { authorID: 'bad', ...atTime })],
  ],
];

describe('a dry run of threads and messages', () => {
  for (const [what, lines] of cases)
    test(`${what}: sync --dry-run reports created, updated, unchanged and rejected as the sync does`, async () => {
      const project = await server.project();
      const seeded = await syncText(project, jsonLines(before));
      assert.equal(seeded.code, 0, seeded.rejections.join('\n'));
      const text = jsonLines(lines);
      const dry = await project.unchanged(() => syncText(project, text, '--dry-run'));
      assert.deepEqual(reported(dry), reported(await syncText(project, text)));
    });
});

function reported({ code, rejections, json }: Awaited<ReturnType<typeof syncText>>) {
  const { threads, messages, refused } = json;
  return { code, threads, messages, refused, rejections: rejections.toSorted() };
}
