/** Messages: creation, updates, times, and the end of a message. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MessageRecord, StoredMessageWrite } from '../../../src/store/ports/messages.ts';
import { Conversation, EARLIER, markdown, NEW, plain, STALE, THREAD_ABSENT } from './conversation.ts';
import { numbered, START } from './roster.ts';
import type { StoreLab } from './store-lab.ts';

const LATER = START + 1_000_000;

export function messageContract(lab: StoreLab): void {
  messageWrites(lab);
  messageTimes(lab);
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

  test('a missing message is absent, and a message of a missing thread is threadAbsent', async () => {
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

  test('content is stored exactly, however long it is and whatever characters it has', async () => {
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

  test('exactly one of twenty racing creations of one message is `created`', async () => {
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
  test('a new message is a millisecond after the latest of its thread, where the clock is not later', async () => {
    const c = await Conversation.withThread(lab);
    await c.newMessage('t', 'm1', {}, { now: LATER });
    await c.newMessage('t', 'm2', {}, { now: LATER - 50 });
    assert.equal((await c.message('t', 'm2')).createdAt, LATER + 1);
    assert.deepEqual(await c.messageIds('t'), ['m1', 'm2']);
    const { participants } = await c.thread('t');
    assert.deepEqual(participants, [{ userId: 'ann', lastSeenAt: LATER + 1 }]);
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

  test('the time of a change is not before the creation, where the clock is behind', async () => {
    const c = await Conversation.withThread(lab);
    await c.newMessage('t', 'm', {}, { now: LATER });
    await c.putMessage('t', 'm', { content: plain('1') }, { now: LATER - 50 });
    await c.putMessage('t', 'm', { deleted: true }, { now: LATER - 40 });
    const { createdAt, updatedAt, deletedAt } = await c.message('t', 'm');
    assert.deepEqual([createdAt, updatedAt, deletedAt], [LATER, LATER, LATER]);
    const { createdAt: threadCreatedAt } = await c.thread('t');
    await c.putThread('t', { resolved: true }, { now: threadCreatedAt - 50 });
    assert.equal((await c.thread('t')).resolvedAt, threadCreatedAt);
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
