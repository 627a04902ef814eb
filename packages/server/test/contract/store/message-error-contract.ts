/** Writes of messages that are rejected, and which error comes first. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoredMessageWrite } from '../../../src/store/ports/messages.ts';
import { Conversation, EARLIER, type Given, NEW, plain, SHUT, STALE, THREAD_ABSENT } from './conversation.ts';
import { numbered, START } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

const fixed = (...fields: string[]) => ({ kind: 'fixedFields', fields });

export function messageErrorContract(lab: StoreLab): void {
  const NO_CONTENT = { kind: 'fieldsRequired', fields: ['content'] };
  const UNKNOWN = { kind: 'unknownUsers', users: { count: 1, ids: ['none'] } };
  const future = (...fields: string[]) => ({ kind: 'futureTimes', fields });
  const author = (reason: string, groupId = 'g') => ({ kind: 'authorUnavailable', reason, groupId });
  /** Thread `s` is of the deleted group `shut`. */
  const stock = async () => {
    const c = await Conversation.withThread(lab);
    await c.newThread('s', { groupId: 'shut', createdAt: EARLIER });
    return c;
  };
  type Case = readonly [
    title: string,
    thread: string,
    write: StoredMessageWrite,
    expected: object,
    given?: Given,
  ];

  const creations: readonly Case[] = [
    [
      'without author and content lacks both',
      't',
      {},
      { kind: 'fieldsRequired', fields: ['authorID', 'content'] },
    ],
    ['without content lacks that', 't', { authorId: 'ann' }, NO_CONTENT],
    ['that lacks fields is rejected before the thread is checked', 'none', { authorId: 'ann' }, NO_CONTENT],
    [
      'in the future is rejected before the thread is checked',
      'none',
      { ...NEW, createdAt: START + 1, updatedAt: START + 1, deletedAt: START + 1 },
      future('createdTimestamp', 'updatedTimestamp', 'deletedTimestamp'),
      { now: START },
    ],
    [
      'in the future without content lacks that',
      't',
      { authorId: 'ann', createdAt: START + 1 },
      NO_CONTENT,
      { now: START },
    ],
    [
      'of a thread in the future is rejected',
      'none',
      { ...NEW, createThread: { groupId: 'g', name: 'N', createdAt: START + 1 } },
      future('createdTimestamp'),
      { now: START },
    ],
    ['of an unknown thread is rejected', 'none', NEW, THREAD_ABSENT],
    [
      'of an unknown thread is rejected before the author is checked',
      'none',
      { ...NEW, authorId: 'none' },
      THREAD_ABSENT,
    ],
    ['in a deleted group is rejected', 's', NEW, SHUT],
    ['in a deleted group is rejected before the author is checked', 's', { ...NEW, authorId: 'none' }, SHUT],
    ['of an unknown author is rejected', 't', { ...NEW, authorId: 'none' }, author('absent')],
    ['of a deleted author is rejected', 't', { ...NEW, authorId: 'off' }, author('deleted')],
    ['of an author who is no member is rejected', 't', { ...NEW, authorId: 'cid' }, author('notMember')],
    [
      'imported of an unknown author is rejected',
      't',
      { ...NEW, authorId: 'none', createdAt: 1 },
      author('absent'),
    ],
    [
      'of an unknown author is rejected before mentioned users are checked',
      't',
      { authorId: 'none', content: plain('x', 'nobody') },
      author('absent'),
    ],
    ['that mentions unknown users is rejected', 't', { ...NEW, content: plain('x', 'ann', 'none') }, UNKNOWN],
    [
      'that mentions unknown users is rejected before the precondition is checked',
      't',
      { ...NEW, content: plain('x', 'none') },
      UNKNOWN,
      { ifMatch: '*' },
    ],
    ['that must be there already is absent', 't', { ...NEW, ofAuthor: 'ann' }, { kind: 'absent' }],
    ['that must be there already names the missing thread first', 'none', { ofAuthor: 'ann' }, THREAD_ABSENT],
    [
      'in a thread of another group than the expected one is rejected',
      't',
      { ...NEW, inGroup: 'h' },
      THREAD_ABSENT,
    ],
    ['with `ifMatch` is stale', 't', NEW, STALE, { ifMatch: ['r'] }],
    ['with `ifMatch` is stale where fields are missing too', 't', {}, STALE, { ifMatch: '*' }],
    ['with `ifMatch` names the missing thread first', 'none', {}, THREAD_ABSENT, { ifMatch: '*' }],
  ];
  for (const [title, thread, write, expected, given] of creations) {
    test(`a message to be created ${title}, and nothing is created`, async () => {
      const c = await stock();
      const before = await c.recorded();
      assert.deepEqual(await c.putMessage(thread, 'm', write, given), expected);
      assert.notEqual((await c.findMessage(thread, 'm')).kind, 'found');
      assert.deepEqual(await c.counts('t'), [0, 0, 0]);
      assert.deepEqual((await c.thread('t')).participants, []);
      assert.deepEqual(await c.recorded(), before);
    });
  }

  const taken: readonly Case[] = [
    ['of an unknown author', 't', { ...NEW, authorId: 'none' }, author('absent')],
    ['of a deleted author', 't', { ...NEW, authorId: 'off' }, author('deleted')],
    ['of an author who is no member', 't', { ...NEW, authorId: 'cid' }, author('notMember')],
    ['imported of an unknown author', 't', { ...NEW, authorId: 'none', createdAt: 1 }, author('absent')],
    ['that mentions unknown users', 't', { ...NEW, content: plain('x', 'none') }, UNKNOWN],
    [
      'of an unknown author that mentions unknown users',
      't',
      { authorId: 'none', content: plain('x', 'nobody') },
      author('absent'),
    ],
    ['in a deleted group, of an unknown author', 's', { ...NEW, authorId: 'none' }, SHUT],
  ];
  for (const [title, thread, write, expected] of taken) {
    test(`a message to be created ${title} has the same error where a message has its ID, before \`exists\``, async () => {
      const c = await stock();
      assert.deepEqual(await c.putMessage(thread, 'm', write, { ifNoneMatch: '*' }), expected);
      await c.newMessage(thread, 'm', { createdAt: EARLIER });
      const before = [await c.message(thread, 'm'), await c.recorded()];
      assert.deepEqual(await c.putMessage(thread, 'm', write, { ifNoneMatch: '*' }), expected);
      assert.deepEqual([await c.message(thread, 'm'), await c.recorded()], before);
    });
  }

  test('a message to be created whose author may write is `exists` where a message has its ID, by another author too', async () => {
    const c = await stock();
    await c.newMessage('t', 'm');
    for (const write of [NEW, { ...NEW, authorId: 'bob' }, { ...NEW, authorId: 'cid', createdAt: EARLIER }])
      assert.deepEqual(await c.putMessage('t', 'm', write, { ifNoneMatch: '*' }), { kind: 'exists' });
  });

  test('the first of many unknown users of a message are named, and all are counted', async () => {
    const c = await stock();
    const unknown = numbered('x', 30);
    const outcome = await c.putMessage('t', 'm', { ...NEW, content: plain('x', 'ann', ...unknown) });
    assert.deepEqual(outcome, { kind: 'unknownUsers', users: { count: 30, ids: unknown.slice(0, 20) } });
  });

  test('mentioned users need only exist', async () => {
    const c = await stock();
    await c.newMessage('t', 'm', { content: plain('x', 'ann', 'off', 'cid') });
  });

  test('the author of an import needs only exist', async () => {
    const c = await stock();
    for (const authorId of ['ann', 'off', 'cid']) {
      for (const thread of ['t', 's']) await c.newMessage(thread, authorId, { authorId, createdAt: EARLIER });
    }
    assert.deepEqual((await c.messageIds('s')).sort(), ['ann', 'cid', 'off']);
  });

  const IMPORTED = { createdAt: EARLIER, updatedAt: EARLIER + 1, deletedAt: EARLIER + 2 };
  const updates: readonly (readonly [
    title: string,
    write: StoredMessageWrite,
    expected: object,
    given?: Given,
  ])[] = [
    ['another author', { authorId: 'bob' }, fixed('authorID')],
    ['another author who must have written it', { ofAuthor: 'bob' }, { kind: 'absent' }],
    ['another group that its thread must be in', { ofAuthor: 'ann', inGroup: 'h' }, THREAD_ABSENT],
    ['an unknown author', { authorId: 'none' }, fixed('authorID')],
    ['another time of creation', { createdAt: EARLIER + 1 }, fixed('createdTimestamp')],
    ['another time of the last change', { updatedAt: EARLIER }, fixed('updatedTimestamp')],
    ['another time of deletion', { deletedAt: EARLIER }, fixed('deletedTimestamp')],
    [
      'another author and other times',
      { authorId: 'none', createdAt: 1, updatedAt: EARLIER, deletedAt: EARLIER },
      fixed('authorID', 'createdTimestamp', 'updatedTimestamp', 'deletedTimestamp'),
    ],
    ['an unknown user who is mentioned', { content: plain('x', 'none') }, UNKNOWN],
    [
      'another author, before mentioned users',
      { authorId: 'bob', content: plain('x', 'none') },
      fixed('authorID'),
    ],
    [
      'a mentioned user, before the precondition',
      { content: plain('x', 'none') },
      UNKNOWN,
      { ifMatch: ['other'] },
    ],
    ['a revision that it does not have', {}, STALE, { ifMatch: ['other'] }],
    ['a revision that it must not have', {}, STALE, { ifNoneMatch: ['now'] }],
    ['the condition that it is not there', {}, { kind: 'exists' }, { ifNoneMatch: '*' }],
  ];
  for (const [title, write, expected, given] of updates) {
    test(`an update with ${title} is rejected, and changes nothing`, async () => {
      const c = await stock();
      await c.newMessage('t', 'm', IMPORTED, { revision: 'now' });
      const before = [await c.message('t', 'm'), await c.thread('t')];
      assert.deepEqual(await c.putMessage('t', 'm', { metadata: '{"x":1}', ...write }, given), expected);
      assert.deepEqual([await c.message('t', 'm'), await c.thread('t')], before);
    });
  }

  test('an update may repeat the author and the times, and has the revision that it requires', async () => {
    const c = await stock();
    await c.newMessage('t', 'm', IMPORTED, { revision: 'now' });
    const repeated = { ...IMPORTED, authorId: 'ann', url: 'https://example.org' };
    assert.equal((await c.putMessage('t', 'm', repeated, { ifMatch: ['now'] })).kind, 'updated');
    assert.equal((await c.putMessage('t', 'm', { url: null }, { ifMatch: '*' })).kind, 'updated');
  });

  test('an update may repeat times that are in the future by the clock of its process', async () => {
    const c = await stock();
    const times = { createdAt: START + 1, updatedAt: START + 2, deletedAt: START + 3 };
    await c.newMessage('t', 'm', times, { now: START + 3 });
    const repeated = { ...times, url: 'https://example.org' };
    assert.equal((await c.putMessage('t', 'm', repeated, { now: START })).kind, 'updated');
  });

  test('an update needs neither a present author nor a member', async () => {
    const c = await stock();
    await c.newMessage('t', 'm', { authorId: 'bob' });
    await c.changeMembers('g', { remove: ['bob'] });
    assert.equal((await c.putMessage('t', 'm', { content: plain('1') })).kind, 'updated');
    await c.deleteUser('bob');
    assert.equal((await c.putMessage('t', 'm', { content: plain('2'), authorId: 'bob' })).kind, 'updated');
  });

  test('in a deleted group messages are read and removed; updates must repeat the time of creation', async () => {
    const c = await stock();
    await c.newMessage('s', 'm', { createdAt: EARLIER });
    assert.deepEqual(await c.messageIds('s'), ['m']);
    assert.deepEqual(await c.putMessage('s', 'm', { content: plain('x') }), SHUT);
    assert.deepEqual(await c.putMessage('s', 'm', { content: plain('x') }, { ifMatch: ['other'] }), SHUT);
    const repeated = { content: plain('x'), createdAt: EARLIER };
    assert.equal((await c.putMessage('s', 'm', repeated)).kind, 'updated');
    assert.equal((await c.deleteMessage('s', 'm')).kind, 'deleted');
  });
}
