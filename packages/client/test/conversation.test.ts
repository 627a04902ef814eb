import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { clientToken } from '../../server/test/support/browser.ts';
import { markdown, projectWithThread, textContent } from '../../server/test/support/conversation.ts';
import { oneServer } from '../../server/test/support/one-server.ts';
import type { Project } from '../../server/test/support/project-client.ts';
import { type ContentNode, type Message, type Page, Rollcall, RollcallClient } from '../src/index.ts';
import { rejects } from './support/rejects.ts';
import { errorBody, respond, withScriptedClient } from './support/scripted-server.ts';

const server = oneServer();
let project: Project;
let rollcall: Rollcall;

before(async () => {
  project = await projectWithThread(server);
  rollcall = new Rollcall({ url: project.url, token: project.token });
});

after(() => rollcall.close());

const idsOf = (items: readonly { readonly id: string }[]) => items.map(({ id }) => id);

describe('threads', () => {
  test('threads are put, read, listed by their filters and deleted', async () => {
    const location = { page: 'intro', part: '1' };
    const done = await rollcall.threads.put('about', { groupID: 'h', name: 'About', location });
    assert.equal(done.message, 'created thread about');
    const { createdTimestamp, ...thread } = await rollcall.threads.get('about');
    assert.ok(Date.parse(createdTimestamp) > 0);
    assert.deepEqual(thread, {
      id: 'about',
      groupID: 'h',
      name: 'About',
      url: null,
      location,
      metadata: {},
      resolved: false,
      resolvedTimestamp: null,
      total: 0,
      userMessages: 0,
      actionMessages: 0,
      deletedMessages: 0,
      lastMessageTimestamp: null,
      participants: [],
    });
    const listed = async (...filter: Parameters<Rollcall['threads']['list']>) =>
      idsOf(await rollcall.threads.list(...filter).toArray());
    assert.deepEqual(await listed(), ['about', 't']);
    assert.deepEqual(await listed({ groupID: 'h' }), ['about']);
    assert.deepEqual(await listed({ location: { page: 'intro' } }), []);
    assert.deepEqual(await listed({ location: { page: 'intro' }, partialMatch: true }), ['about']);
    assert.deepEqual(await listed({ groupID: 'h', resolved: true }), []);
    await rollcall.threads.put('about', { resolved: true });
    assert.deepEqual(await listed({ groupID: 'h', resolved: true }), ['about']);
    await rollcall.threads.delete('about');
    await rejects(rollcall.threads.get('about'), 'thread_not_found', 404);
  });

  test('a thread is created with an ID of the server, and a second one of an ID rejects with thread_already_exists', async () => {
    const { id } = await rollcall.threads.create({ groupID: 'g', name: 'Made' });
    assert.equal((await rollcall.threads.get(id)).name, 'Made');
    await rejects(rollcall.threads.create({ id, groupID: 'g', name: 'M' }), 'thread_already_exists', 409);
    await rollcall.threads.delete(id);
  });

  test('a thread is written with ifMatch, and read only if it changed', async () => {
    const { id } = await rollcall.threads.create({ groupID: 'g', name: 'One' });
    const { etag } = await rollcall.threads.getTagged(id);
    assert.equal(await rollcall.threads.getIfChanged(id, etag), null);
    await rollcall.threads.put(id, { name: 'Two' }, { ifMatch: etag });
    await rejects(rollcall.threads.put(id, { name: 'Three' }, { ifMatch: etag }), 'invalid_request', 412);
    await rejects(rollcall.threads.delete(id, { ifMatch: etag }), 'invalid_request', 412);
    assert.equal((await rollcall.threads.getIfChanged(id, etag))?.value.name, 'Two');
    await rollcall.threads.delete(id);
  });

  test('threads and messages of several pages are read as one list', async () => {
    const group = { groupID: 'many' };
    await rollcall.groups.put('many', { name: 'Many', members: ['u'] });
    for (let index = 0; index < 5; index += 1) await rollcall.threads.create({ ...group, name: 'T' });
    const list = rollcall.threads.list(group);
    const all = idsOf(await list.toArray());
    assert.equal(new Set(all).size, 5);
    const first = await list.page({ limit: 3 });
    const second = await list.page({ limit: 3, token: first.next ?? '' });
    assert.deepEqual([...idsOf(first.items), ...idsOf(second.items)], all);
    assert.deepEqual([first.total, second.next], [null, null]);
    await rejects(list.page({ limit: 1_001 }), 'invalid_field', 400);
    await rejects(rollcall.threads.messages('nowhere').list().toArray(), 'thread_not_found', 404);
    await rollcall.groups.delete('many');
    await rejects(list.toArray(), 'group_not_found', 401);
  });
});

describe('messages', () => {
  /** One of each node. */
  const content: ContentNode[] = [
    {
      type: 'p',
      children: [
        { text: 'See ', bold: true },
        { type: 'link', url: 'https://example.com/', children: [{ text: 'this', italic: true }] },
        { type: 'mention', user: { id: 'v' }, children: [{ text: '@v', code: true }] },
        { type: 'assignee', user: { id: 'v' }, children: [{ text: '@v', underline: true }] },
      ],
    },
    { type: 'quote', children: [{ text: 'q' }] },
    { type: 'code', children: [{ text: 'c' }] },
    { type: 'bullet', indent: 1, children: [{ text: 'b' }] },
    { type: 'number_bullet', bulletNumber: 1, children: [{ text: 'n' }] },
    { type: 'todo', todoID: 'x', done: false, children: [{ text: 't' }] },
    { type: 'markdown', children: [{ text: '*m*' }] },
  ];

  test('messages are put, read, changed, hidden, brought back and deleted', async () => {
    const messages = rollcall.threads.messages('t');
    const { message } = await messages.put('1', { authorID: 'u', content, type: 'action_message' });
    assert.equal(message, 'created message 1');
    const read = await messages.get('1');
    assert.deepEqual(read.content, content);
    assert.deepEqual(
      [read.type, read.threadID, read.groupID, read.authorID],
      ['action_message', 't', 'g', 'u'],
    );
    assert.equal(read.plaintext, 'See this@v@v\nq\nc\nb\nn\nt\n*m*');
    await messages.put('1', { content: textContent('changed') });
    await messages.put('1', { deleted: true });
    assert.deepEqual((await messages.get('1')).content, []);
    await messages.put('1', { deleted: false });
    const { value, etag } = await messages.getTagged('1');
    assert.equal(value.plaintext, 'changed');
    assert.equal(await messages.getIfChanged('1', etag), null);
    await messages.delete('1', { ifMatch: etag });
    await rejects(messages.get('1'), 'message_not_found', 404);
  });

  test('messages are listed from both ends, with their total', async () => {
    const messages = rollcall.threads.messages('talk');
    const createThread = { groupID: 'g', name: 'Talk' };
    const written: string[] = [];
    for (const text of ['a', 'b', 'c']) {
      const { id } = await messages.create({ authorID: 'u', content: textContent(text), createThread });
      written.push(id);
    }
    await rejects(
      messages.create({ id: written[0] as string, authorID: 'u', content: textContent('a') }),
      'message_already_exists',
      409,
    );
    assert.deepEqual(idsOf(await messages.list().toArray()), written);
    assert.deepEqual(idsOf(await messages.list({ order: 'descending' }).toArray()), written.toReversed());
    const page: Page<Message> = await messages.list({ order: 'descending' }).page({ limit: 2 });
    assert.equal(page.total, 3);
    const rest = await messages.list({ order: 'descending' }).page({ limit: 2, token: page.next ?? '' });
    assert.deepEqual(idsOf(rest.items), written.slice(0, 1));
    await rollcall.threads.delete('talk');
  });

  test('a text is appended once with its offset, and to markdown alone: message_not_appendable', async () => {
    const messages = rollcall.threads.messages('t');
    await messages.put('answer', { authorID: 'u', content: markdown('In') });
    const { length } = await messages.append('answer', { text: ' June 🙂', offset: 2 });
    assert.equal(length, 9);
    await rejects(messages.append('answer', { text: ' June 🙂', offset: 2 }), 'invalid_request', 412);
    assert.equal((await messages.get('answer')).plaintext, 'In June 🙂');
    const { etag } = await messages.getTagged('answer');
    await messages.append('answer', { text: '.' }, { ifMatch: etag });
    await rejects(messages.append('answer', { text: '!' }, { ifMatch: etag }), 'invalid_request', 412);
    await messages.put('plain', { authorID: 'u', content: textContent('In') });
    await rejects(messages.append('plain', { text: '!' }), 'message_not_appendable', 400);
    await messages.delete('answer');
    await messages.delete('plain');
  });

  test('an append and a creation are never retried', async () => {
    await withScriptedClient(
      (request) => respond(request, 503, errorBody('error'), { 'retry-after': '0' }),
      async ({ threads }, { received }) => {
        await rejects(threads.messages('t').append('m', { text: 'a', offset: 0 }), 'error', 503);
        await rejects(
          threads.messages('t').create({ authorID: 'u', content: textContent('a') }),
          'error',
          503,
        );
        assert.deepEqual(
          received.map(({ url, body }) => [url, JSON.parse(body)]),
          [
            ['/v1/threads/t/messages/m/append', { text: 'a', offset: 0 }],
            ['/v1/threads/t/messages', { authorID: 'u', content: textContent('a') }],
          ],
        );
      },
    );
  });

  test('IDs of threads and messages are percent-encoded in the path', async () => {
    const odd = { thread: 'a/b?c é🙂', message: '100%' };
    const messages = rollcall.threads.messages(odd.thread);
    await messages.create({
      id: odd.message,
      authorID: 'u',
      content: textContent('a'),
      createThread: { groupID: 'g', name: 'Odd' },
    });
    assert.equal((await messages.get(odd.message)).threadID, odd.thread);
    await rollcall.threads.delete(odd.thread);
    await assert.rejects(rollcall.threads.messages('..').get('a'), { code: 'invalid_field', status: 0 });
  });
});

describe('threads and messages with a client token', () => {
  const asUser = (user: string, claims = {}) =>
    new RollcallClient({ url: project.url, token: clientToken(project, { user_id: user, ...claims }) });

  test('threads are created, listed, resolved and marked as seen', async () => {
    const [u, v] = [asUser('u', { group_id: 'g' }), asUser('v')];
    const { id } = await u.threads.create({ name: 'Plans', location: { page: 'a' } });
    await u.threads.messages(id).create({ id: '1', content: textContent('Yes?') });
    const [listed] = await v.threads.list({ groupID: 'g', location: { page: 'a' } }).toArray();
    assert.deepEqual([listed?.id, listed?.unread], [id, 1]);
    assert.equal((await u.threads.get(id)).unread, 0);
    await v.threads.markSeen(id, { messageID: '1' });
    assert.equal((await v.threads.get(id)).unread, 0);
    await v.threads.markSeen(id);
    await rejects(v.threads.markSeen(id, { messageID: 'nothing' }), 'message_not_found', 404);
    await v.threads.put(id, { resolved: true });
    assert.deepEqual(idsOf(await u.threads.list({ resolved: true }).toArray()), [id]);
    await rejects(v.threads.list({ groupID: 'h' }).toArray(), 'thread_not_found', 404);
    await rejects(asUser('w').threads.get(id), 'thread_not_found', 404);
    await rollcall.threads.delete(id);
  });

  test('threads and messages of the user are written with the ETag of getTagged as ifMatch', async () => {
    const u = asUser('u', { group_id: 'g' });
    const { id } = await u.threads.create({ name: 'Plans' });
    const { value, etag } = await u.threads.getTagged(id);
    assert.equal(value.unread, 0);
    await u.threads.put(id, { resolved: true }, { ifMatch: etag });
    await rejects(u.threads.put(id, { resolved: false }, { ifMatch: etag }), 'invalid_request', 412);
    await rejects(u.threads.markSeen(id, {}, { ifMatch: etag }), 'invalid_request', 412);
    await u.threads.markSeen(id, {}, { ifMatch: (await u.threads.getTagged(id)).etag });
    const messages = u.threads.messages(id);
    await messages.create({ id: '1', content: textContent('Yes?') });
    const before = await messages.getTagged('1');
    assert.equal(before.value.plaintext, 'Yes?');
    await messages.put('1', { deleted: true }, { ifMatch: before.etag });
    await rejects(messages.put('1', { deleted: false }, { ifMatch: before.etag }), 'invalid_request', 412);
    await rollcall.threads.delete(id);
  });

  test('messages are written as the user, who changes and hides their own ones alone', async () => {
    const [u, v] = [asUser('u').threads.messages('t'), asUser('v').threads.messages('t')];
    const { id } = await u.create({ content: textContent('In May') });
    assert.equal((await v.get(id)).authorID, 'u');
    await u.put(id, { content: textContent('In June') });
    await rejects(v.put(id, { content: textContent('No') }), 'message_not_found', 404);
    await u.put(id, { deleted: true });
    assert.deepEqual(
      (await v.list({ order: 'descending' }).toArray()).map(({ plaintext }) => plaintext),
      [''],
    );
    await u.put(id, { deleted: false });
    assert.equal((await v.get(id)).plaintext, 'In June');
    const made = asUser('u').threads.messages('made');
    await made.create({ content: textContent('a'), createThread: { groupID: 'g', name: 'Made' } });
    assert.equal((await rollcall.threads.get('made')).userMessages, 1);
    await rollcall.threads.delete('made');
    await rollcall.threads.messages('t').delete(id);
  });
});
