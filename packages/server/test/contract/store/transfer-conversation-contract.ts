/** Threads and messages as records: what an export has of them, and what an import makes of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Store } from '../../../src/store/store.ts';
import type { RecordOf, TransferRecord } from '../../../src/store/transfer-records.ts';
import { appended, Conversation, inBatches, markdown, plain } from './conversation.ts';
import { newRoster, numbered, START } from './roster.ts';
import type { StoreLab } from './store-lab.ts';
import {
  expectRejectedByEmpty,
  expectTakenAfter,
  exported,
  oneByOne,
  projectOf,
  spacesOf,
} from './transfers.ts';

const ODD = 'a "\\{},NULL\' \u{1f600}/%';
const PAGE = JSON.stringify({ page: '1', site: 's' });
const VIEWERS = [null, 'ann', 'bob', 'cid'];

export function transferConversationContract(lab: StoreLab): void {
  const { withStore, withTwo } = spacesOf(lab);

  test('imported threads and messages answer every read as those that were exported', () =>
    withTwo(async (from, to) => {
      const conversation = await talk(from);
      await to.transfer.import(from.transfer.export());
      const copy = await copyOf(conversation, to);
      assert.deepEqual(await everythingOf(copy), await everythingOf(conversation));
      assert.deepEqual(await exported(to), await exported(from));
    }));

  test('an export has messages whole, soft-deleted ones and appended texts too, and leaves defaults out', () =>
    withStore(async (from) => {
      const c = await conversationIn(from);
      const project = await c.projectId();
      const [location, url] = [JSON.parse(PAGE), 'https://a.b/c'];
      const thread = { groupId: 'g', name: ODD, url, location: PAGE, metadata: '{"n":1}' };
      await c.putThread(ODD, { ...thread, createdAt: -5, resolvedAt: 7 }, { revision: 'R1' });
      await c.newThread('t', {}, { now: 10, revision: 'R2' });
      const message = { url, metadata: '{"m":[null,1.5]}', type: 'action_message' } as const;
      const times = { createdAt: -4, updatedAt: 8, deletedAt: 9 };
      await c.newMessage(ODD, ODD, { ...message, content: markdown(ODD), ...times }, { revision: 'R3' });
      await c.newMessage('t', 'm', { content: markdown('one') }, { now: 20, revision: 'R4' });
      await c.append('t', 'm', appended(` ${ODD}`), { revision: 'R5' });
      await c.markSeen('t', 'cid', null, { now: 30, revision: 'R6' });
      const records = (await exported(from)).filter(({ type }) => CONVERSATION.includes(type));
      const content = (text: string) => [{ type: 'markdown', children: [{ text }] }];
      const shared = { url, metadata: { m: [null, 1.5] }, message_type: 'action_message' };
      const expected: object[] = [
        {
          ...{ type: 'thread', project, group: 'g', id: ODD, name: ODD, url, location, metadata: { n: 1 } },
          ...{ created_at: -5, resolved_at: 7, revision: 'R3' },
        },
        {
          type: 'thread',
          project,
          group: 'g',
          id: 't',
          name: 't',
          created_at: 10,
          revision: 'R6',
        },
        { type: 'participant', project, thread: ODD, user: 'ann', last_seen_at: -4 },
        { type: 'participant', project, thread: 't', user: 'ann', last_seen_at: 20 },
        { type: 'participant', project, thread: 't', user: 'cid', last_seen_at: 30 },
        {
          ...{
            type: 'message',
            project,
            thread: ODD,
            id: ODD,
            author: 'ann',
            content: content(ODD),
            ...shared,
          },
          ...{ created_at: -4, updated_at: 8, deleted_at: 9, revision: 'R3' },
        },
        {
          ...{
            type: 'message',
            project,
            thread: 't',
            id: 'm',
            author: 'ann',
            content: content(`one ${ODD}`),
          },
          ...{ created_at: 20, revision: 'R5' },
        },
      ];
      assert.deepEqual(byText(records), byText(expected));
    }));

  test('messages that were created at the same time stay in the order of their arrival in an import', () =>
    withTwo(async (from, to) => {
      const c = await conversationIn(from);
      await c.newThread('t');
      const ids = ['m', 'c', 'x', 'a', 'q'];
      for (const id of ids) await c.newMessage('t', id, { createdAt: START });
      await c.newMessage('t', 'old', { createdAt: START - 1 });
      await to.transfer.import(from.transfer.export());
      const copy = await copyOf(c, to);
      await copy.newMessage('t', 'b', { createdAt: START });
      const expected = ['old', ...ids, 'b'];
      assert.deepEqual(await copy.messageIds('t', { limit: 2 }), expected);
      assert.deepEqual(await copy.messageIds('t', { order: 'descending', limit: 3 }), expected.toReversed());
    }));

  test('imported threads and messages take every write as those that were exported', () =>
    withTwo(async (from, to) => {
      const conversation = await talk(from);
      await to.transfer.import(from.transfer.export());
      const copy = await copyOf(conversation, to);
      const outcomes = async (c: Conversation) => [
        await c.append('t', 'md', appended(' more', 8)),
        await c.append('t', 'md', appended('!', 8)),
        await c.append('t', 'plain', appended('no')),
        await c.append('t', 'hidden', appended('no')),
        await c.putMessage('t', 'hidden', { deleted: false }),
        await c.append('t', 'hidden', appended(' and back')),
        await c.putMessage('t', 'plain', { deleted: true }, { ifMatch: ['stale'] }),
        await c.putMessage('t', 'plain', { content: plain('changed'), createdAt: START + 1 }),
        await c.putMessage('t', 'new', { authorId: 'bob', content: plain('new') }),
        await c.deleteMessage('t', 'md'),
        await c.markSeen('t', 'bob', 'new'),
        await c.putThread('t', { name: 'renamed', location: null, resolved: true }),
        await c.putThread('late', { groupId: 'h', name: 'late' }),
        await c.deleteThread('h1'),
        await c.putThread('h1', { groupId: 'g', name: 'again' }),
      ];
      assert.deepEqual(await outcomes(copy), await outcomes(conversation));
      assert.deepEqual(await everythingOf(copy), await everythingOf(conversation));
      await copy.deleteGroup('g');
      assert.equal(await copy.findThread('t'), null);
    }));

  test('an export has nothing of deleted threads, of the threads of deleted groups, and of removed messages', () =>
    withStore(async (from) => {
      const c = await talk(from);
      await c.groupOf('gone', 'ann');
      for (const [thread, groupId] of [
        ['removed', 'g'],
        ['of-gone', 'gone'],
      ] as const) {
        await c.newThread(thread, { groupId });
        await c.newMessage(thread, 'm');
      }
      const before = await conversationRecords(from);
      await c.deleteThread('removed');
      await c.deleteGroup('gone');
      await c.deleteMessage('t', 'md');
      const has = (record: TransferRecord, thread: string) => 'thread' in record && record.thread === thread;
      const expected = before.filter(
        (record) =>
          !['removed', 'of-gone'].some(
            (thread) => has(record, thread) || ('id' in record && record.id === thread),
          ) && !(record.type === 'message' && has(record, 't') && record.id === 'md'),
      );
      const withoutRevision = (records: readonly TransferRecord[]) =>
        byText(records.map((record) => ({ ...record, ...(record.type === 'thread' && { revision: '' }) })));
      assert.deepEqual(withoutRevision(await conversationRecords(from)), withoutRevision(expected));
    }));

  test('a batch of an export has at most 100 messages, and all batches have all messages in order', () =>
    withTwo(async (from, to) => {
      const c = await conversationIn(from);
      await c.newThread('t');
      const ids = numbered('m', 250);
      await inBatches(ids, (id) => c.newMessage('t', id, { createdAt: START + Number(id.slice(1)) }));
      const found: string[] = [];
      for await (const batch of from.transfer.export()) {
        const messages = batch.filter((record) => record.type === 'message');
        assert.ok(messages.length <= 100, `a batch has ${messages.length} messages`);
        found.push(...messages.map(({ id }) => id));
      }
      assert.deepEqual(found, ids);
      await to.transfer.import(from.transfer.export());
      const copy = await copyOf(c, to);
      assert.deepEqual(await copy.messageIds('t'), ids);
      assert.deepEqual(await copy.counts('t'), [250, 0, 0]);
    }));

  test('authors, participants and mentioned users who were removed do not stop an import', () =>
    withTwo(async (from, to) => {
      const c = await conversationIn(from);
      await c.newThread('t');
      await c.newMessage('t', 'm', { authorId: 'bob', content: plain('hello', 'cid') });
      await c.markSeen('t', 'cid');
      for (const user of ['bob', 'cid']) await c.deleteUser(user);
      await to.transfer.import(from.transfer.export());
      const copy = await copyOf(c, to);
      assert.deepEqual(await everythingOf(copy), await everythingOf(c));
    }));

  const customer = { type: 'customer', id: 'c', secret: 's', name: 'C', created_at: 1 } as const;
  const project = { ...customer, type: 'project', id: 'p', customer_id: 'c' } as const;
  const group = { type: 'group', project: 'p', id: 'g', name: 'G', revision: 'r' } as const;
  const thread = {
    type: 'thread',
    project: 'p',
    group: 'g',
    id: 't',
    name: 'T',
    created_at: 1,
    revision: 'r',
  } as const;
  const participant = { type: 'participant', project: 'p', thread: 't', user: 'u', last_seen_at: 1 } as const;
  const message: RecordOf<'message'> = {
    ...{ type: 'message', project: 'p', thread: 't', id: 'm', author: 'u', content: [{ text: 'x' }] },
    ...{ created_at: 1, revision: 'r' },
  };
  const whole: readonly TransferRecord[] = [customer, project, group, thread, participant, message];

  test('messages of several threads may alternate in an import, and each thread has its counts', () =>
    withStore(async (to) => {
      const threads = ['t', 'u'].map((id) => ({ ...thread, id }));
      const messages = numbered('m', 6).map((id, index) => ({
        ...{ ...message, id, thread: index % 2 === 0 ? 't' : 'u', created_at: index },
        ...(index === 2 && { deleted_at: 3 }),
        ...(index === 4 && { message_type: 'action_message' as const }),
      }));
      await to.transfer.import(oneByOne([customer, project, group, ...threads, ...messages]));
      const { key } = await projectOf(to, 'p');
      const copy = new Conversation(to, key);
      assert.deepEqual(
        [await copy.counts('t'), await copy.counts('u')],
        [
          [1, 1, 1],
          [3, 0, 0],
        ],
      );
      assert.deepEqual(await copy.threadIds(), ['u', 't']);
      assert.deepEqual((await copy.thread('t')).lastMessageAt, 4);
    }));

  const unknown: readonly (readonly [what: string, wrong: TransferRecord])[] = [
    ['a thread of an unknown group', { ...thread, id: 'other', group: 'h' }],
    ['a participant of an unknown thread', { ...participant, thread: 'other' }],
    ['a message of an unknown thread', { ...message, thread: 'other' }],
  ];
  for (const [what, wrong] of unknown)
    test(`an import with ${what} is rejected with that record, and the store stays empty`, () =>
      expectRejectedByEmpty(lab, [...whole, wrong]));

  for (const twice of [thread, participant, message])
    test(`an import with a ${twice.type} twice is rejected with the second one, and the store stays empty`, () =>
      expectRejectedByEmpty(lab, [...whole, { ...twice }]));

  test('a store that has rejected imports of conversations takes a whole one', () => {
    const rejected = unknown.map(([, wrong]) => [...whole, wrong]);
    return expectTakenAfter(lab, rejected, whole);
  });
}

const CONVERSATION: readonly string[] = ['thread', 'participant', 'message'];

const conversationRecords = async (store: Store) =>
  (await exported(store)).filter(({ type }) => CONVERSATION.includes(type));

const byText = (records: readonly object[]) =>
  records.toSorted((a, b) =>
    JSON.stringify(Object.entries(a).sort()) < JSON.stringify(Object.entries(b).sort()) ? -1 : 1,
  );

/** The conversation of a store that has nothing else. */
async function conversationIn(store: Store): Promise<Conversation> {
  const { key } = await newRoster(store);
  return Conversation.of(store, key);
}

const copyOf = async (original: Conversation, store: Store) =>
  new Conversation(store, (await projectOf(store, await original.projectId())).key, original.writes);

/** Threads of several groups, one of which is deleted, with messages of every kind. */
async function talk(store: Store): Promise<Conversation> {
  const c = await conversationIn(store);
  await c.newThread('t', { location: PAGE, metadata: '{"n":1}' });
  await c.newThread('empty', { resolved: true });
  await c.newThread('h1', { groupId: 'h', location: JSON.stringify({ page: '1' }), url: 'https://a.b/c' });
  await c.newThread('shut1', { groupId: 'shut', createdAt: 1, resolvedAt: 2 });
  await c.newMessage('t', 'plain', { createdAt: START + 1, content: plain('hello', 'bob') });
  await c.newMessage('t', 'md', { content: markdown('md') });
  await c.append('t', 'md', appended(' text'));
  await c.append('t', 'md', appended('!'));
  await c.newMessage('t', 'hidden', {
    authorId: 'bob',
    content: markdown('secret'),
    deletedAt: 5,
    createdAt: 5,
  });
  await c.newMessage('t', 'action', {
    type: 'action_message',
    url: 'https://d.e/',
    metadata: `{"a":${JSON.stringify(ODD)}}`,
  });
  await c.newMessage('t', 'changed');
  await c.putMessage('t', 'changed', { content: plain(ODD) });
  await c.newMessage('shut1', 'm', { createdAt: 3, updatedAt: 4 });
  await c.newMessage('h1', 'm', {}, { now: (await c.thread('t')).lastMessageAt as number });
  await c.markSeen('t', 'bob', 'md');
  return c;
}

/** All that can be read of the threads and messages of {@link talk}. */
async function everythingOf(c: Conversation) {
  const threads = [];
  for (const id of ['t', 'empty', 'h1', 'shut1', 'late', 'none']) {
    const seenBy = await Promise.all(VIEWERS.map((viewer) => c.findThread(id, viewer)));
    const lists = await Promise.all([c.listMessages(id), c.listMessages(id, { order: 'descending' })]);
    const messages = await Promise.all(
      (lists[0]?.messages ?? []).map((message) => c.findMessage(id, message.id)),
    );
    threads.push({ seenBy, lists, messages });
  }
  const lists = await Promise.all([
    c.listThreads(),
    c.listThreads({ groupId: 'g', viewer: 'ann' }),
    c.listThreads({ groupId: 'shut' }),
    c.listThreads({ resolved: true }),
    c.listThreads({ location: { location: PAGE, partial: false } }),
    c.listThreads({ location: { location: JSON.stringify({ page: '1' }), partial: true }, viewer: 'bob' }),
  ]);
  return { threads, lists, ids: await c.threadIds({ limit: 1 }) };
}
