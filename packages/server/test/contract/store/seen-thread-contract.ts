/** Participants of a thread, up to when they have seen it, and unread messages. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '@rollcall/protocol';
import { Conversation, EARLIER, inBatches } from './conversation.ts';
import { numbered, START } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

export function seenThreadContract(lab: StoreLab): void {
  const at = (seconds: number) => START + 1_000_000 + seconds * 1_000;
  /** A thread with messages m1, m2 and m3 of ann at as many seconds. */
  const withMessages = async () => {
    const c = await Conversation.withThread(lab);
    for (const second of [1, 2, 3]) await c.newMessage('t', `m${second}`, {}, { now: at(second) });
    return c;
  };
  const unread = async (c: Conversation, viewer: string) => (await c.thread('t', viewer)).unread;

  test('an author is a participant who has seen the thread up to the latest of their messages', async () => {
    const c = await withMessages();
    await c.newMessage('t', 'm4', { authorId: 'bob' }, { now: at(4) });
    await c.newMessage('t', 'old', { createdAt: EARLIER });
    assert.deepEqual((await c.thread('t')).participants, [
      { userId: 'bob', lastSeenAt: at(4) },
      { userId: 'ann', lastSeenAt: at(3) },
    ]);
  });

  test('a thread of another group than it must be in cannot be marked as seen', async () => {
    const c = await withMessages();
    const mark = { userId: 'bob', messageId: 'm2' };
    assert.deepEqual(await c.mark('t', { ...mark, inGroup: 'h' }), { kind: 'absent' });
    assert.equal((await c.mark('t', { ...mark, inGroup: 'g' })).kind, 'updated');
  });

  test('a thread is seen up to a message, or up to now; the time never goes back', async () => {
    const c = await withMessages();
    const seen = async () =>
      (await c.thread('t')).participants.find(({ userId }) => userId === 'bob')?.lastSeenAt;
    assert.equal((await c.markSeen('t', 'bob', 'm2')).kind, 'updated');
    assert.equal(await seen(), at(2));
    assert.deepEqual(await c.markSeen('t', 'bob', 'm1'), { kind: 'unchanged', changes: [] });
    assert.deepEqual(await c.markSeen('t', 'bob', 'm2'), { kind: 'unchanged', changes: [] });
    assert.equal(await seen(), at(2));
    assert.equal((await c.markSeen('t', 'bob', null, { now: at(9) })).kind, 'updated');
    assert.equal(await seen(), at(9));
    assert.equal((await c.markSeen('t', 'bob', null, { now: at(8) })).kind, 'unchanged');
    assert.equal(await seen(), at(9));
  });

  test('a thread is marked as seen only if it meets the precondition, which goes after what is absent', async () => {
    const c = await withMessages();
    const { revision, participants } = await c.thread('t');
    const other = { ifMatch: ['x'] };
    assert.deepEqual(await c.markSeen('u', 'bob', null, other), { kind: 'absent' });
    assert.deepEqual(await c.markSeen('t', 'bob', 'none', other), { kind: 'messageAbsent' });
    for (const message of [null, 'm2'])
      assert.deepEqual(await c.markSeen('t', 'bob', message, other), { kind: 'stale' });
    assert.deepEqual(await c.markSeen('t', 'bob', null, { ifNoneMatch: '*' }), { kind: 'stale' });
    assert.deepEqual((await c.thread('t')).participants, participants);
    assert.equal((await c.markSeen('t', 'bob', 'm2', { ifMatch: [revision] })).kind, 'updated');
  });

  test('a thread that is seen up to now is seen up to its latest message, whatever the time of the clock', async () => {
    const c = await withMessages();
    await c.markSeen('t', 'bob', null, { now: at(1) });
    assert.equal(await unread(c, 'bob'), 0);
  });

  test('marking as seen changes the revision of the thread where the time changes, and only there', async () => {
    const c = await withMessages();
    await c.markSeen('t', 'bob', 'm2', { revision: 'seen' });
    assert.equal((await c.thread('t')).revision, 'seen');
    await c.markSeen('t', 'bob', 'm1', { revision: 'not again' });
    assert.equal((await c.thread('t')).revision, 'seen');
  });

  test('a thread or message that is not there cannot be marked as seen', async () => {
    const c = await withMessages();
    assert.deepEqual(await c.markSeen('u', 'bob'), { kind: 'absent' });
    assert.deepEqual(await c.markSeen('u', 'bob', 'm1'), { kind: 'absent' });
    assert.deepEqual(await c.markSeen('t', 'bob', 'none'), { kind: 'messageAbsent' });
    assert.equal((await c.thread('t')).participants.length, 1);
  });

  test('`unread` counts the messages after what the viewer has seen; a viewer who is no participant has seen nothing', async () => {
    const c = await withMessages();
    assert.equal(await unread(c, 'bob'), 3);
    await c.markSeen('t', 'bob', 'm1');
    assert.equal(await unread(c, 'bob'), 2);
    await c.markSeen('t', 'bob', null, { now: at(3) });
    assert.equal(await unread(c, 'bob'), 0);
    assert.equal(await unread(c, 'ann'), 0);
    await c.newMessage('t', 'm4', { type: 'action_message' }, { now: at(4) });
    assert.equal(await unread(c, 'bob'), 1);
    assert.equal((await c.thread('t')).unread, null);
    const { threads } = await c.listThreads({ viewer: 'bob' });
    assert.deepEqual(
      threads.map(({ id, unread: count }) => [id, count]),
      [['t', 1]],
    );
  });

  test('`unread` has no deleted messages, and counts them again when they are brought back', async () => {
    const c = await withMessages();
    await c.markSeen('t', 'bob', 'm1');
    await c.putMessage('t', 'm2', { deleted: true });
    assert.deepEqual([await unread(c, 'bob'), await unread(c, 'cid')], [1, 2]);
    await c.putMessage('t', 'm2', { deleted: false });
    assert.deepEqual([await unread(c, 'bob'), await unread(c, 'cid')], [2, 3]);
    await c.deleteMessage('t', 'm2');
    await c.deleteMessage('t', 'm3');
    assert.deepEqual([await unread(c, 'bob'), await unread(c, 'cid')], [0, 1]);
  });

  test('writing a message marks the thread as seen up to it', async () => {
    const c = await withMessages();
    await c.newMessage('t', 'm4', { authorId: 'bob' }, { now: at(4) });
    assert.equal(await unread(c, 'bob'), 0);
    assert.equal(await unread(c, 'ann'), 1);
  });

  test('a message is unread for everyone who saw the thread before, whatever the time of the clock', async () => {
    const c = await withMessages();
    await c.newMessage('t', 'own', { authorId: 'bob' }, { now: at(3) });
    await c.newMessage('t', 'm4', {}, { now: at(3) });
    assert.equal(await unread(c, 'bob'), 1, 'written in the millisecond of their own message');
    await c.markSeen('t', 'bob', null, { now: at(9) });
    await c.newMessage('t', 'm5', {}, { now: at(9) });
    await c.newMessage('t', 'm6', {}, { now: at(8) });
    assert.equal(
      await unread(c, 'bob'),
      2,
      'written in the millisecond of the mark, and by an earlier clock',
    );
    await c.markSeen('t', 'bob', 'm5');
    assert.equal(await unread(c, 'bob'), 1);
    assert.deepEqual((await c.messageIds('t')).slice(-3), ['m4', 'm5', 'm6']);
  });

  test('a message that follows a removed one is unread for those who saw that', async () => {
    const c = await withMessages();
    await c.markSeen('t', 'bob', 'm3');
    await c.deleteMessage('t', 'm3');
    await c.newMessage('t', 'm4', {}, { now: at(3) });
    assert.equal(await unread(c, 'bob'), 1);
  });

  test('a thread shows the participants who have seen it most recently, and no more than the limit', async () => {
    const c = await Conversation.withThread(lab);
    const users = numbered('u', limits.PARTICIPANTS_SHOWN + 5);
    await inBatches(users, (user) => c.markSeen('t', user, null, { now: at(users.indexOf(user)) }));
    const shown = users
      .map((userId, index) => ({ userId, lastSeenAt: at(index) }))
      .reverse()
      .slice(0, limits.PARTICIPANTS_SHOWN);
    assert.deepEqual((await c.thread('t')).participants, shown);
    const { threads } = await c.listThreads();
    assert.deepEqual(threads[0]?.participants, shown);
    assert.equal(await unread(c, 'u000000'), 0);
  });

  test('participants who have seen the thread up to the same time come by descending ID, in code points', async () => {
    const c = await Conversation.withThread(lab);
    for (const user of ['b', '\u{10000}', 'B', '\uffef', 'a', 'é'])
      await c.markSeen('t', user, null, { now: at(1) });
    const { participants } = await c.thread('t');
    assert.deepEqual(
      participants.map(({ userId }) => userId),
      ['\u{10000}', '\uffef', 'é', 'b', 'a', 'B'],
    );
  });
}
