/** What messages do to their thread: they create it where it is missing, and change its counts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoredMessageWrite } from '../../../src/store/ports/messages.ts';
import { Conversation, EARLIER, type Given, NEW, plain, SHUT, STALE, textsOf } from './conversation.ts';
import { numbered, START } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

const LATER = START + 1_000_000;

export function messageThreadContract(lab: StoreLab): void {
  threadsMadeWithMessages(lab);
  messageCounts(lab);
}

function threadsMadeWithMessages(lab: StoreLab): void {
  const createThread = { groupId: 'g', name: 'T', location: '{"a":"b"}', resolved: true };

  test('a missing thread is made with its first message, in one step', async () => {
    const c = await Conversation.in(lab);
    const outcome = await c.putMessage('t', 'm', { ...NEW, createThread }, { now: LATER, revision: 'first' });
    assert.equal(outcome.kind, 'created');
    assert.deepEqual(textsOf(outcome), ['thread.created g t', 'message.created g t m']);
    assert.deepEqual(await c.recorded(), ['thread.created g t', 'message.created g t m']);
    assert.deepEqual(await c.thread('t'), {
      id: 't',
      groupId: 'g',
      name: 'T',
      url: null,
      location: '{"a":"b"}',
      metadata: '{}',
      resolvedAt: LATER,
      createdAt: LATER,
      userMessages: 1,
      actionMessages: 0,
      deletedMessages: 0,
      lastMessageAt: LATER,
      revision: 'first',
      participants: [{ userId: 'ann', lastSeenAt: LATER }],
      unread: null,
    });
    const location = { location: '{"a":"b"}', partial: true };
    assert.deepEqual(await c.threadIds({ location, resolved: true }), ['t']);
  });

  test('a thread that is there is left as it is', async () => {
    const c = await Conversation.withThread(lab);
    const { name, location } = await c.thread('t');
    const other = { groupId: 'none', name: 'other' };
    assert.equal((await c.putMessage('t', 'm', { ...NEW, createThread: other })).kind, 'created');
    const after = await c.thread('t');
    assert.deepEqual([after.name, after.location, after.groupId], [name, location, 'g']);
  });

  const rejected: readonly [title: string, write: StoredMessageWrite, expected: object, given?: Given][] = [
    [
      'an unknown group',
      { createThread: { ...createThread, groupId: 'none' } },
      { kind: 'groupUnavailable', groupId: 'none', isDeleted: false },
    ],
    ['a deleted group', { createThread: { ...createThread, groupId: 'shut' } }, SHUT],
    [
      'a deleted group, when only the thread is an import',
      { createThread: { ...createThread, groupId: 'shut', createdAt: EARLIER } },
      SHUT,
    ],
    [
      'a deleted group, when only the message is an import',
      { createThread: { ...createThread, groupId: 'shut' }, createdAt: EARLIER },
      SHUT,
    ],
    [
      'an author who is no member of the group',
      { authorId: 'cid', createThread },
      { kind: 'authorUnavailable', reason: 'notMember', groupId: 'g' },
    ],
    [
      'an unknown user',
      { content: plain('x', 'none'), createThread },
      { kind: 'unknownUsers', users: { count: 1, ids: ['none'] } },
    ],
    ['a precondition that fails', { createThread }, STALE, { ifMatch: '*' }],
  ];
  for (const [title, write, expected, given] of rejected) {
    test(`no thread is made where its message is rejected: ${title}`, async () => {
      const c = await Conversation.in(lab);
      assert.deepEqual(await c.putMessage('t', 'm', { ...NEW, ...write }, given), expected);
      assert.equal(await c.findThread('t'), null);
      assert.deepEqual(await c.threadIds(), []);
      assert.deepEqual(await c.recorded(), []);
    });
  }

  test('a thread and its message are imported together, into a deleted group too', async () => {
    const c = await Conversation.in(lab);
    const thread = { groupId: 'shut', name: 'T', createdAt: EARLIER };
    await c.newMessage('t', 'm', { createdAt: EARLIER + 1, createThread: thread });
    const { groupId, createdAt, lastMessageAt } = await c.thread('t');
    assert.deepEqual([groupId, createdAt, lastMessageAt], ['shut', EARLIER, EARLIER + 1]);
  });

  test('racing messages that make the same thread all arrive in one thread', async () => {
    const c = await Conversation.in(lab);
    const ids = numbered('m', 20);
    await Promise.all(ids.map((id) => c.newMessage('t', id, { createThread })));
    assert.deepEqual((await c.messageIds('t')).sort(), ids);
    assert.deepEqual(await c.counts('t'), [20, 0, 0]);
    assert.equal((await c.recorded()).filter((text) => text === 'thread.created g t').length, 1);
  });
}

function messageCounts(lab: StoreLab): void {
  const STATES = ['user_message', 'action_message'].flatMap((type) => [
    { type, deleted: false },
    { type, deleted: true },
  ]) as { type: 'user_message' | 'action_message'; deleted: boolean }[];
  const countsOf = ({ type, deleted }: (typeof STATES)[number]) => {
    if (deleted) return [0, 0, 1];
    return type === 'user_message' ? [1, 0, 0] : [0, 1, 0];
  };
  const named = ({ type, deleted }: (typeof STATES)[number]) => `${deleted ? 'deleted ' : ''}${type}`;

  for (const before of STATES) {
    for (const after of STATES) {
      test(`the counts of a thread follow a ${named(before)} that becomes a ${named(after)}, and goes`, async () => {
        const c = await Conversation.withThread(lab);
        await c.newMessage('t', 'm', before, { revision: 'r0' });
        assert.deepEqual(await c.counts('t'), countsOf(before));
        await c.putMessage('t', 'm', after, { revision: 'changed' });
        assert.deepEqual(await c.counts('t'), countsOf(after));
        const isRecounted = countsOf(before).join() !== countsOf(after).join();
        assert.equal((await c.thread('t')).revision, isRecounted ? 'changed' : 'r0');
        await c.deleteMessage('t', 'm', { revision: 'gone' });
        assert.deepEqual(await c.counts('t'), [0, 0, 0]);
        assert.equal((await c.thread('t')).revision, 'gone');
      });
    }
  }

  test('a change of content alone leaves the revision of the thread', async () => {
    const c = await Conversation.withThread(lab);
    await c.newMessage('t', 'm', {}, { revision: 'made' });
    await c.putMessage('t', 'm', { content: plain('other'), metadata: '{"a":1}', url: null });
    assert.equal((await c.thread('t')).revision, 'made');
  });
}
