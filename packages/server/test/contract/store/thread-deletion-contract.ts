/** The end of a thread: by its own deletion, and with its group. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Conversation, inBatches, plain, THREAD_ABSENT, textsOf } from './conversation.ts';
import { numbered } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

export function threadDeletionContract(lab: StoreLab): void {
  threadDeletion(lab);
  groupDeletion(lab);
}

function threadDeletion(lab: StoreLab): void {
  test('a deleted thread is gone for every reading and writing, and its messages with it', async () => {
    const c = await Conversation.withThread(lab);
    await c.newMessage('t', 'm');
    assert.equal((await c.deleteThread('t')).kind, 'deleted');
    await assertGone(c, 't', 'm');
  });

  test('a deletion of what is not there is absent, whatever is required; one of another revision is stale', async () => {
    const c = await Conversation.in(lab);
    assert.deepEqual(await c.deleteThread('t'), { kind: 'absent' });
    assert.deepEqual(await c.deleteThread('t', { ifMatch: '*' }), { kind: 'absent' });
    await c.newThread('t', {}, { revision: 'now' });
    assert.deepEqual(await c.deleteThread('t', { ifMatch: ['other'] }), { kind: 'stale' });
    assert.deepEqual(await c.deleteThread('t', { ifNoneMatch: ['now'] }), { kind: 'stale' });
    assert.equal((await c.deleteThread('t', { ifMatch: ['now'] })).kind, 'deleted');
    assert.deepEqual(await c.deleteThread('t'), { kind: 'absent' });
  });

  test('a thread with the ID of a deleted one has nothing of it', async () => {
    const c = await Conversation.withThread(lab);
    await c.newMessage('t', 'm');
    await c.deleteThread('t');
    await c.newThread('t', { groupId: 'h' });
    const { groupId, lastMessageAt, participants, unread } = await c.thread('t', 'ann');
    assert.deepEqual(
      { groupId, lastMessageAt, participants, unread },
      { groupId: 'h', lastMessageAt: null, participants: [], unread: 0 },
    );
    assert.deepEqual(await c.messageIds('t'), []);
    assert.deepEqual(await c.threadIds({ groupId: 'g' }), []);
    await c.newMessage('t', 'm');
    assert.deepEqual(await c.messageIds('t'), ['m']);
  });

  test('a thread with many messages is gone at once, and its ID is free', async () => {
    const c = await Conversation.withThread(lab);
    const ids = numbered('m', 1_200);
    await inBatches(ids, (id) => c.newMessage('t', id));
    assert.equal((await c.deleteThread('t')).kind, 'deleted');
    await assertGone(c, 't', 'm000000');
    await c.newThread('t');
    await c.newMessage('t', 'm000000');
    assert.deepEqual(await c.messageIds('t'), ['m000000']);
  });
}

async function assertGone(c: Conversation, thread: string, message: string): Promise<void> {
  const ABSENT = { kind: 'absent' };
  assert.equal(await c.findThread(thread), null);
  assert.ok(!(await c.threadIds()).includes(thread));
  assert.equal((await c.putThread(thread, { name: 'X' })).kind, 'fieldsRequired');
  assert.deepEqual(await c.putThread(thread, { name: 'X' }, { ifMatch: '*' }), { kind: 'stale' });
  assert.deepEqual(await c.deleteThread(thread), ABSENT);
  assert.deepEqual(await c.markSeen(thread, 'ann', message), ABSENT);
  assert.deepEqual(await c.findMessage(thread, message), THREAD_ABSENT);
  assert.equal(await c.listMessages(thread), null);
  const write = { authorId: 'ann', content: plain('x') };
  assert.deepEqual(await c.putMessage(thread, message, write), THREAD_ABSENT);
  assert.deepEqual(await c.append(thread, message, { escaped: 'x', length: 1, offset: null }), THREAD_ABSENT);
  assert.deepEqual(await c.deleteMessage(thread, message), THREAD_ABSENT);
}

function groupDeletion(lab: StoreLab): void {
  test("a deleted group's threads are gone with it, and those of other groups stay", async () => {
    const c = await Conversation.withThread(lab);
    await c.newMessage('t', 'm');
    await c.newThread('u', { location: '{"a":"b"}' });
    await c.newThread('other', { groupId: 'h', location: '{"a":"b"}' });
    await c.deleteGroup('g');
    await assertGone(c, 't', 'm');
    assert.deepEqual(await c.threadIds(), ['other']);
    assert.deepEqual(await c.threadIds({ groupId: 'g' }), []);
    assert.deepEqual(await c.threadIds({ location: { location: '{"a":"b"}', partial: false } }), ['other']);
    assert.deepEqual(await c.threadIds({ location: { location: '{"a":"b"}', partial: true } }), ['other']);
  });

  test('a new group with the ID of a deleted one has none of its threads, and their IDs are free', async () => {
    const c = await Conversation.withThread(lab);
    await c.newMessage('t', 'm');
    await c.deleteGroup('g');
    await c.groupOf('g', 'ann');
    await assertGone(c, 't', 'm');
    assert.deepEqual(await c.threadIds({ groupId: 'g' }), []);
    await c.newThread('t');
    await c.newThread('u');
    assert.deepEqual(await c.messageIds('t'), []);
    await c.newMessage('t', 'm', { content: plain('new') });
    assert.equal((await c.message('t', 'm')).content, plain('new').json);
    assert.deepEqual(await c.threadIds({ groupId: 'g' }), ['t', 'u']);
    await c.deleteGroup('g');
    await assertGone(c, 't', 'm');
  });

  test('a group that is made in place of the one that was made last has none of its threads', async () => {
    const c = await Conversation.in(lab);
    for (const round of ['first', 'second']) {
      await c.groupOf('new', 'ann');
      assert.deepEqual(await c.threadIds({ groupId: 'new' }), [], round);
      await c.newThread('t', { groupId: 'new' });
      await c.newMessage('t', 'm');
      await c.deleteGroup('new');
      assert.equal(await c.findThread('t'), null);
    }
    await c.groupOf('other', 'ann');
    await assertGone(c, 't', 'm');
    assert.deepEqual(await c.threadIds({ groupId: 'other' }), []);
  });

  test('the deletion of a group records none of its threads and messages', async () => {
    const c = await Conversation.withThread(lab);
    await c.newMessage('t', 'm');
    const before = await c.recorded();
    const outcome = await c.deleteGroup('g');
    assert.deepEqual(textsOf(outcome), []);
    assert.deepEqual(await c.recorded(), before);
  });

  test('a group that is deleted while messages are written has none of them afterwards', async () => {
    const c = await Conversation.withThread(lab);
    const outcomes = await Promise.all([
      ...numbered('m', 20).map((id) => c.putMessage('t', id, { authorId: 'ann', content: plain(id) })),
      c.deleteGroup('g'),
      ...numbered('n', 20).map((id) => c.putMessage('t', id, { authorId: 'ann', content: plain(id) })),
    ]);
    for (const { kind } of outcomes) assert.ok(['created', 'threadAbsent', 'deleted'].includes(kind), kind);
    await assertGone(c, 't', 'm000000');
  });
}
