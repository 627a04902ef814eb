/** Messages: creation, updates, errors, counts, lists, and the end of a message. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MessageRecord, StoredMessageWrite } from '../../../src/store/ports/messages.ts';
import { Conversation, type Given, markdown, plain, textsOf } from './conversation.ts';
import { numbered, START } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

const EARLIER = START - 1_000_000;
const LATER = START + 1_000_000;
const STALE = { kind: 'stale' };
const THREAD_ABSENT = { kind: 'threadAbsent' };
const SHUT = { kind: 'groupUnavailable', groupId: 'shut', isDeleted: true };
const fixed = (field: string) => ({ kind: 'fixedField', field });
const NEW = { authorId: 'ann', content: plain('new') };

export function messageContract(lab: StoreLab): void {
  messageWrites(lab);
  messageTimes(lab);
  messageErrors(lab);
  threadsMadeWithMessages(lab);
  messageCounts(lab);
  messageLists(lab);
  messageChanges(lab);
  messageDeletion(lab);
}

function messageWrites(lab: StoreLab): void {
  test('a new message is a user message with nothing but its author, content and time', async () => {
    const c = await Conversation.withThread(lab);
    await c.newMessage('t', 'm', { content: plain('hello') }, { now: LATER, revision: 'first' });
    assert.deepEqual(await c.findMessage('t', 'm'), {
      kind: 'found',
      groupId: 'g',
      message: {
        id: 'm',
        authorId: 'ann',
        type: 'user_message',
        content: '[{"text":"hello"}]',
        url: null,
        metadata: '{}',
        createdAt: LATER,
        updatedAt: null,
        deletedAt: null,
        revision: 'first',
      },
    });
  });

  test('a message that is not there is absent, and one of a thread that is not there says so', async () => {
    const c = await Conversation.withThread(lab);
    assert.deepEqual(await c.findMessage('t', 'm'), { kind: 'absent' });
    assert.deepEqual(await c.findMessage('u', 'm'), THREAD_ABSENT);
    assert.equal(await c.listMessages('u'), null);
    assert.deepEqual(await c.listMessages('t'), { groupId: 'g', messages: [], last: null, total: 0 });
  });

  test('a message can be created with every field, as an import', async () => {
    const c = await Conversation.withThread(lab);
    const times = { createdAt: EARLIER, updatedAt: EARLIER + 1, deletedAt: EARLIER + 2 };
    const write = {
      type: 'action_message',
      url: 'https://example.org',
      metadata: '{"a":1}',
      ...times,
    } as const;
    await c.newMessage('t', 'm', { ...write, authorId: 'bob', content: markdown('hi') });
    const { revision: _, ...message } = await c.message('t', 'm');
    assert.deepEqual(message, { id: 'm', authorId: 'bob', content: markdown('hi').json, ...write });
  });

  const deletedOnes: readonly [title: string, write: StoredMessageWrite, deletedAt: number | null][] = [
    ['`deleted` and a time has that time', { deleted: true, deletedAt: EARLIER }, EARLIER],
    ['a time of deletion alone is deleted then', { deletedAt: EARLIER }, EARLIER],
    ['`deleted` alone is deleted at the time of the write', { deleted: true }, LATER],
    ['`deleted: false` is not deleted, whatever the time', { deleted: false, deletedAt: EARLIER }, null],
  ];
  for (const [title, write, deletedAt] of deletedOnes) {
    test(`a message created with ${title}`, async () => {
      const c = await Conversation.withThread(lab);
      await c.newMessage('t', 'm', { createdAt: EARLIER, ...write }, { now: LATER });
      assert.equal((await c.message('t', 'm')).deletedAt, deletedAt);
      assert.deepEqual(await c.counts('t'), deletedAt === null ? [1, 0, 0] : [0, 0, 1]);
    });
  }

  const NOW = LATER + 5;
  const updates: readonly [field: string, write: StoredMessageWrite, expected: Partial<MessageRecord>][] = [
    ['content', { content: plain('new') }, { content: '[{"text":"new"}]', updatedAt: NOW }],
    ['content to markdown', { content: markdown('new') }, { content: markdown('new').json, updatedAt: NOW }],
    ['type', { type: 'action_message' }, { type: 'action_message', updatedAt: NOW }],
    ['url', { url: 'https://example.org/2' }, { url: 'https://example.org/2', updatedAt: NOW }],
    ['url with null, which clears it', { url: null }, { url: null, updatedAt: NOW }],
    ['metadata', { metadata: '{"b":[2]}' }, { metadata: '{"b":[2]}', updatedAt: NOW }],
    ['deleted', { deleted: true }, { deletedAt: NOW }],
  ];
  for (const [field, write, expected] of updates) {
    test(`an update of ${field} changes only that, and the revision`, async () => {
      const c = await Conversation.withThread(lab);
      await c.newMessage('t', 'm', { url: 'https://example.org/1', metadata: '{"a":1}' });
      const before = await c.message('t', 'm');
      assert.equal((await c.putMessage('t', 'm', write, { now: NOW, revision: 'next' })).kind, 'updated');
      assert.deepEqual(await c.message('t', 'm'), { ...before, ...expected, revision: 'next' });
    });
  }

  test('an update with the stored values leaves the message unchanged, and its thread too', async () => {
    const c = await Conversation.withThread(lab);
    const write = {
      ...NEW,
      url: 'https://example.org/1',
      metadata: '{"a":1}',
      type: 'action_message',
    } as const;
    await c.newMessage('t', 'm', write);
    const before = [await c.message('t', 'm'), await c.thread('t')];
    for (const same of [{}, write, { deleted: false }]) {
      assert.deepEqual(await c.putMessage('t', 'm', same), { kind: 'unchanged', changes: [] });
    }
    assert.deepEqual([await c.message('t', 'm'), await c.thread('t')], before);
  });

  test('a deleted message keeps its content, can be changed, and comes back with it', async () => {
    const c = await Conversation.withThread(lab);
    await c.newMessage('t', 'm');
    await c.putMessage('t', 'm', { deleted: true }, { now: LATER });
    assert.equal((await c.putMessage('t', 'm', { deleted: true }, { now: LATER + 1 })).kind, 'unchanged');
    await c.putMessage('t', 'm', { content: plain('changed') }, { now: LATER + 2 });
    const { content, deletedAt, updatedAt } = await c.message('t', 'm');
    assert.deepEqual([content, deletedAt, updatedAt], ['[{"text":"changed"}]', LATER, LATER + 2]);
    await c.putMessage('t', 'm', { deleted: false }, { now: LATER + 3 });
    const back = await c.message('t', 'm');
    assert.deepEqual(
      [back.content, back.deletedAt, back.updatedAt],
      ['[{"text":"changed"}]', null, LATER + 2],
    );
  });

  test('an ID is unique within its thread only, and may have any legal characters', async () => {
    const c = await Conversation.withThread(lab);
    await c.newThread('u', { groupId: 'h' });
    const ids = ['a/b', 'A/B', '..', '"\\', '\u{1f600}', 'é', 'e\u0301'];
    for (const thread of ['t', 'u']) {
      for (const id of ids) await c.newMessage(thread, id, { content: plain(`${id} of ${thread}`) });
    }
    for (const thread of ['t', 'u']) {
      for (const id of ids) {
        assert.equal((await c.message(thread, id)).content, plain(`${id} of ${thread}`).json);
      }
      assert.deepEqual(await c.messageIds(thread), ids);
    }
    assert.deepEqual((await c.findMessage('u', '..')).kind, 'found');
  });

  test('content is kept exactly, however long it is and whatever characters it has', async () => {
    const c = await Conversation.withThread(lab);
    const texts = ['', '\0', '"\\\n', '\u{1f600}'.repeat(20_000), 'x'.repeat(100_000)];
    for (const [index, text] of texts.entries()) {
      for (const content of [plain(text), markdown(text)]) {
        const id = `${index} ${content.markdownLength}`;
        await c.newMessage('t', id, { content });
        assert.ok((await c.message('t', id)).content === content.json, `content of ${id}`);
      }
    }
  });

  test('of twenty racing creations of one message exactly one is `created`', async () => {
    const c = await Conversation.withThread(lab);
    const outcomes = await Promise.all(
      numbered('r', 20).map((revision) =>
        c.putMessage('t', 'm', { ...NEW, content: plain(revision) }, { ifNoneMatch: '*', revision }),
      ),
    );
    assert.equal(outcomes.filter(({ kind }) => kind === 'created').length, 1);
    assert.equal(outcomes.filter(({ kind }) => kind === 'exists').length, 19);
    assert.deepEqual(await c.counts('t'), [1, 0, 0]);
    const { content, revision } = await c.message('t', 'm');
    assert.equal(content, plain(revision).json);
  });

  test('racing messages of several authors in several threads all arrive', async () => {
    const c = await Conversation.withThread(lab);
    await c.newThread('u');
    const ids = numbered('m', 60);
    await Promise.all(
      ids.map((id, index) =>
        c.newMessage(index % 2 === 0 ? 't' : 'u', id, { authorId: index % 3 === 0 ? 'ann' : 'bob' }),
      ),
    );
    assert.deepEqual([...(await c.messageIds('t')), ...(await c.messageIds('u'))].sort(), ids);
    assert.deepEqual(
      [await c.counts('t'), await c.counts('u')],
      [
        [30, 0, 0],
        [30, 0, 0],
      ],
    );
  });

  test('messages stay when their author is set deleted, leaves the group or is removed for good', async () => {
    const c = await Conversation.withThread(lab);
    await c.newMessage('t', 'm');
    const before = await c.findMessage('t', 'm');
    await c.putUser('ann', { status: 'deleted' });
    assert.deepEqual(await c.findMessage('t', 'm'), before);
    await c.deleteUser('ann');
    assert.deepEqual(await c.findMessage('t', 'm'), before);
    assert.deepEqual(await c.messageIds('t'), ['m']);
    assert.equal((await c.putMessage('t', 'm', { content: plain('later') })).kind, 'updated');
  });
}

function messageTimes(lab: StoreLab): void {
  test('a new message is never earlier than the latest of its thread, whatever the clock says', async () => {
    const c = await Conversation.withThread(lab);
    await c.newMessage('t', 'm1', {}, { now: LATER });
    await c.newMessage('t', 'm2', {}, { now: LATER - 50 });
    assert.equal((await c.message('t', 'm2')).createdAt, LATER);
    assert.deepEqual(await c.messageIds('t'), ['m1', 'm2']);
    const { participants } = await c.thread('t');
    assert.deepEqual(participants, [{ userId: 'ann', lastSeenAt: LATER }]);
  });

  test('an import has its own time, and moves the activity of its thread only forward', async () => {
    const c = await Conversation.withThread(lab);
    await c.newMessage('t', 'm1', { createdAt: START });
    await c.newMessage('t', 'm2', { createdAt: EARLIER });
    assert.equal((await c.message('t', 'm2')).createdAt, EARLIER);
    assert.equal((await c.thread('t')).lastMessageAt, START);
    assert.deepEqual(await c.messageIds('t'), ['m2', 'm1']);
  });

  test('the time of a change never goes back', async () => {
    const c = await Conversation.withThread(lab);
    await c.newMessage('t', 'm');
    await c.putMessage('t', 'm', { content: plain('1') }, { now: LATER });
    await c.putMessage('t', 'm', { content: plain('2') }, { now: LATER - 50 });
    assert.equal((await c.message('t', 'm')).updatedAt, LATER);
  });
}

function messageErrors(lab: StoreLab): void {
  const NO_CONTENT = { kind: 'fieldsRequired', fields: ['content'] };
  const UNKNOWN = { kind: 'unknownUsers', users: { count: 1, ids: ['none'] } };
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
    ['that lacks fields says so before the thread', 'none', { authorId: 'ann' }, NO_CONTENT],
    ['of an unknown thread says so', 'none', NEW, THREAD_ABSENT],
    ['of an unknown thread says so before the author', 'none', { ...NEW, authorId: 'none' }, THREAD_ABSENT],
    ['in a deleted group says so', 's', NEW, SHUT],
    ['in a deleted group says so before the author', 's', { ...NEW, authorId: 'none' }, SHUT],
    ['of an unknown author says so', 't', { ...NEW, authorId: 'none' }, author('absent')],
    ['of a deleted author says so', 't', { ...NEW, authorId: 'off' }, author('deleted')],
    ['of an author who is no member says so', 't', { ...NEW, authorId: 'cid' }, author('notMember')],
    [
      'imported of an unknown author says so',
      't',
      { ...NEW, authorId: 'none', createdAt: 1 },
      author('absent'),
    ],
    [
      'of an unknown author says so before it names mentioned users',
      't',
      { authorId: 'none', content: plain('x', 'nobody') },
      author('absent'),
    ],
    ['that mentions unknown users says so', 't', { ...NEW, content: plain('x', 'ann', 'none') }, UNKNOWN],
    [
      'that mentions unknown users says so before the precondition',
      't',
      { ...NEW, content: plain('x', 'none') },
      UNKNOWN,
      { ifMatch: '*' },
    ],
    ['that must be there already is absent', 't', { ...NEW, ofAuthor: 'ann' }, { kind: 'absent' }],
    ['that must be there already names the missing thread first', 'none', { ofAuthor: 'ann' }, THREAD_ABSENT],
    ['in a thread of another group than it must be says so', 't', { ...NEW, inGroup: 'h' }, THREAD_ABSENT],
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

  test('of many unknown users the first are named, and all are counted', async () => {
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

function messageLists(lab: StoreLab): void {
  /** Times of arrival that are not those of creation, some of them the same. */
  const stock = async () => {
    const c = await Conversation.withThread(lab);
    const times = [5, 3, 3, 9, 1, 9, 5, 7];
    for (const [index, time] of times.entries()) {
      await c.newMessage('t', `m${index}`, { createdAt: EARLIER + time });
    }
    return c;
  };
  const ASCENDING = ['m4', 'm1', 'm2', 'm0', 'm6', 'm7', 'm3', 'm5'];

  test('messages come by the time of their creation, then by arrival, in both orders, whatever the pages are', async () => {
    const c = await stock();
    for (const limit of [1, 3, 7, 8, 1_000]) {
      assert.deepEqual(await c.messageIds('t', { limit }), ASCENDING);
      const descending = await c.messageIds('t', { limit, order: 'descending' });
      assert.deepEqual(descending, ASCENDING.toReversed());
    }
  });

  test('a page has the messages as they are found one by one, the group, and the total', async () => {
    const c = await stock();
    await c.putMessage('t', 'm1', { deleted: true });
    await c.putMessage('t', 'm2', { content: markdown('x'), url: 'https://example.org' });
    await c.append('t', 'm2', { escaped: 'yz', length: 2, offset: null });
    const page = await c.listMessages('t', { limit: 3 });
    assert.deepEqual(
      page?.messages,
      await Promise.all(ASCENDING.slice(0, 3).map((id) => c.message('t', id))),
    );
    assert.deepEqual([page?.groupId, page?.total, page?.last === null], ['g', 8, false]);
  });

  test('a full page is the last one where nothing follows', async () => {
    const c = await stock();
    assert.equal((await c.listMessages('t', { limit: 8 }))?.last, null);
    assert.notEqual((await c.listMessages('t', { limit: 7 }))?.last, null);
  });

  test('messages that stay come exactly once while others come, go and change', async () => {
    const c = await Conversation.withThread(lab);
    const ids = numbered('m', 40);
    for (const id of ids) await c.newMessage('t', id);
    for (const order of ['ascending', 'descending'] as const) {
      const found: string[] = [];
      let after: string | null = null;
      let step = 0;
      do {
        const page: Awaited<ReturnType<Conversation['listMessages']>> = await c.listMessages('t', {
          order,
          after,
          limit: 6,
        });
        assert.ok(page);
        found.push(...page.messages.map(({ id }) => id));
        after = page.last;
        await c.newMessage('t', `${order} ${step}`);
        await c.newMessage('t', `${order} old ${step}`, { createdAt: EARLIER - step });
        await c.putMessage('t', ids[20 + step] as string, { content: plain(`changed ${order}`) });
        step += 1;
      } while (after !== null && step < 20);
      const stayed = found.filter((id) => ids.includes(id));
      assert.deepEqual(stayed, order === 'ascending' ? ids : ids.toReversed());
    }
  });

  test('a page goes on after a message that is gone', async () => {
    const c = await stock();
    const page = await c.listMessages('t', { limit: 2 });
    await c.deleteMessage('t', 'm1');
    const next = await c.listMessages('t', { limit: 2, after: page?.last ?? null });
    assert.deepEqual(
      next?.messages.map(({ id }) => id),
      ['m2', 'm0'],
    );
  });

  test('a page ends with the message that makes it larger than the bound, content and metadata together', async () => {
    const c = await Conversation.withThread(lab);
    const metadata = JSON.stringify({ text: 'x'.repeat(500) });
    for (const id of ['a', 'b', 'd', 'e']) {
      await c.newMessage('t', id, { content: plain('x'.repeat(500)), metadata });
    }
    const sizeOf = async (maxBytes: number) => (await c.listMessages('t', { maxBytes }))?.messages.length;
    assert.deepEqual([await sizeOf(500), await sizeOf(1_500), await sizeOf(10_000)], [1, 2, 4]);
    for (const order of ['ascending', 'descending'] as const) {
      assert.equal((await c.messageIds('t', { maxBytes: 500, order })).length, 4);
    }
  });
}

function messageChanges(lab: StoreLab): void {
  const changes: readonly [what: string, write: StoredMessageWrite, fields: readonly string[]][] = [
    [
      'every field',
      { content: plain('x'), type: 'action_message', url: null, metadata: '{"b":1}', deleted: true },
      ['content', 'type', 'url', 'metadata', 'deleted'],
    ],
    ['`deleted`', { deleted: true }, ['deleted']],
    ['the stored values', { content: plain('new'), deleted: false }, []],
  ];
  for (const [what, write, fields] of changes) {
    test(`the change of an update with ${what} names the fields that changed, and is recorded`, async () => {
      const c = await Conversation.withThread(lab);
      await c.newMessage('t', 'm', { ...NEW, url: 'https://example.org' });
      const before = await c.recorded();
      const outcome = await c.putMessage('t', 'm', write);
      const expected = fields.map((field) => `message.updated g t m ${field}`).sort();
      assert.deepEqual(textsOf(outcome).sort(), expected);
      assert.deepEqual((await c.recorded()).slice(before.length).sort(), expected);
    });
  }

  test('creation, append and removal are changes, and are recorded', async () => {
    const c = await Conversation.withThread(lab);
    const outcomes = [
      await c.putMessage('t', 'm', { ...NEW, content: markdown('x') }),
      await c.append('t', 'm', { escaped: 'y', length: 1, offset: null }),
      await c.append('t', 'm', { escaped: 'y', length: 1, offset: 5 }),
      await c.putMessage('t', 'm', { metadata: '{"x":1}' }, { ifMatch: ['other'] }),
      await c.deleteMessage('t', 'm'),
      await c.deleteMessage('t', 'm'),
    ];
    const expected = ['message.created g t m', 'message.appended g t m', 'message.removed g t m'];
    assert.deepEqual(
      outcomes.flatMap((outcome) => ('changes' in outcome ? textsOf(outcome) : [])),
      expected,
    );
    assert.deepEqual(await c.recorded(), ['thread.created g t', ...expected]);
  });
}

function messageDeletion(lab: StoreLab): void {
  test('a removed message is gone for every reading and writing, and its ID is free', async () => {
    const c = await Conversation.withThread(lab);
    await c.newMessage('t', 'm', { content: markdown('old') });
    await c.append('t', 'm', { escaped: ' text', length: 5, offset: null });
    assert.equal((await c.deleteMessage('t', 'm')).kind, 'deleted');
    assert.deepEqual(await c.findMessage('t', 'm'), { kind: 'absent' });
    assert.deepEqual(await c.messageIds('t'), []);
    assert.deepEqual(await c.append('t', 'm', { escaped: 'x', length: 1, offset: null }), { kind: 'absent' });
    assert.equal((await c.putMessage('t', 'm', { type: 'action_message' })).kind, 'fieldsRequired');
    assert.deepEqual(await c.deleteMessage('t', 'm'), { kind: 'absent' });
    await c.newMessage('t', 'm', { content: markdown('new') });
    assert.equal((await c.message('t', 'm')).content, markdown('new').json);
  });

  test('absent goes before the precondition; one of another revision is stale', async () => {
    const c = await Conversation.withThread(lab);
    assert.deepEqual(await c.deleteMessage('t', 'm', { ifMatch: '*' }), { kind: 'absent' });
    assert.deepEqual(await c.deleteMessage('u', 'm', { ifMatch: '*' }), THREAD_ABSENT);
    await c.newMessage('t', 'm', {}, { revision: 'now' });
    assert.deepEqual(await c.deleteMessage('t', 'm', { ifMatch: ['other'] }), STALE);
    assert.equal((await c.deleteMessage('t', 'm', { ifMatch: ['now'] })).kind, 'deleted');
  });
}
