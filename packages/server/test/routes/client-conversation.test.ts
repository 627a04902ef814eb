import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ClientThread, Message } from '@rollcall/protocol';
import { Browser } from '../support/browser.ts';
import {
  messageOf,
  messagePath,
  projectWithThread,
  textContent,
  threadOf,
  threadPath,
  write,
} from '../support/conversation.ts';
import { expectDone, expectError, expectNotFound, expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';

const server = oneServer();

const THREAD = '/v1/client/threads/t';
const MESSAGES = `${THREAD}/messages`;

/** Browsers of u and v, who are members of g, and of w, who is none; the thread t of g. */
async function threeBrowsers() {
  const project = await projectWithThread(server);
  const [u, v, w] = ['u', 'v', 'w'].map((id) => Browser.of(project, id)) as [Browser, Browser, Browser];
  return { project, u, v, w };
}

const unreadOf = async (browser: Browser) => expectOk<ClientThread>(await browser.get(THREAD)).unread;

describe('threads with a client token', () => {
  test("a member reads the group's threads, and a thread of another group is thread_not_found", async () => {
    const { project, v, w } = await threeBrowsers();
    expectDone(await project.put(threadPath('secret'), { groupID: 'h', name: 'S' }));
    const { threads } = expectOk<{ threads: ClientThread[] }>(await v.get('/v1/client/threads?groupID=g'));
    assert.deepEqual(
      threads.map(({ id }) => id),
      ['t'],
    );
    expectError(await v.get('/v1/client/threads/secret'), 404, 'thread_not_found');
    expectError(await v.get('/v1/client/threads?groupID=h'), 404, 'thread_not_found');
    expectError(await w.get(THREAD), 404, 'thread_not_found');
    expectError(await w.get(MESSAGES), 404, 'thread_not_found');
  });

  test('a token of one group opens its threads alone, and lists them without groupID', async () => {
    const { project } = await threeBrowsers();
    const ofH = Browser.of(project, 'u', 'h');
    expectError(await ofH.get(THREAD), 404, 'thread_not_found');
    expectError(await ofH.get('/v1/client/threads?groupID=g'), 404, 'thread_not_found');
    assert.deepEqual(expectOk(await ofH.get('/v1/client/threads')), {
      threads: [],
      pagination: { token: null },
    });
    const ofAll = Browser.of(project, 'u');
    expectError(await ofAll.get('/v1/client/threads'), 400, 'missing_field', 'groupID');
    const malformed = `groupID=g&location=[]&token=${'a'.repeat(32)}`;
    expectError(await ofAll.get(`/v1/client/threads?${malformed}`), 400, 'invalid_field', 'location');
    expectError(await ofAll.get('/v1/client/threads?groupID=%ZZ'), 400, 'invalid_field');
  });

  test('a member creates a thread with id, groupID, name, url, location and metadata, and no other field', async () => {
    const { project, v } = await threeBrowsers();
    const body = { id: 'made', groupID: 'g', name: 'Made', location: { page: '1' }, metadata: { a: 1 } };
    assert.equal((await v.post('/v1/client/threads', body)).status, 201);
    assert.deepEqual((await threadOf(project, 'made')).location, { page: '1' });
    expectError(await v.post('/v1/client/threads', body), 409, 'thread_already_exists');
    expectError(
      await v.post('/v1/client/threads', { ...body, id: 'x', groupID: 'h' }),
      404,
      'thread_not_found',
    );
    for (const field of ['createdTimestamp', 'resolved'])
      expectError(
        await v.post('/v1/client/threads', { ...body, [field]: true }),
        400,
        'unexpected_field',
        field,
      );
  });

  test('a member resolves a thread, and changes nothing else of it', async () => {
    const { project, v } = await threeBrowsers();
    expectDone(await v.put(THREAD, { resolved: true }), 'updated thread t');
    assert.equal((await threadOf(project, 't')).resolved, true);
    expectError(await v.put(THREAD, { name: 'Mine' }), 400, 'unexpected_field', 'name');
  });

  test('a thread of a group set deleted is thread_not_found, and a deleted user sees nothing: user_not_found', async () => {
    const { project, u, v } = await threeBrowsers();
    expectDone(await project.put('/v1/users/v', { status: 'deleted' }));
    for (const path of [THREAD, MESSAGES, '/v1/client/threads?groupID=g', '/v1/client/threads/none'])
      expectNotFound(await v.get(path), 'user_not_found');
    expectNotFound(await v.post(MESSAGES, { content: textContent('x') }), 'user_not_found');
    expectDone(await project.put('/v1/groups/g', { status: 'deleted' }));
    expectError(await u.get(THREAD), 404, 'thread_not_found');
  });
});

describe('messages with a client token', () => {
  test("a member writes messages as the token's user, and reads those of others", async () => {
    const { project, u, v } = await threeBrowsers();
    assert.equal((await v.post(MESSAGES, { id: 'm', content: textContent('Hi') })).status, 201);
    assert.equal((await messageOf(project, 't', 'm')).authorID, 'v');
    assert.equal(expectOk<Message>(await u.get(`${MESSAGES}/m`)).plaintext, 'Hi');
    const { messages } = expectOk<{ messages: Message[] }>(await u.get(MESSAGES));
    assert.deepEqual(
      messages.map(({ id }) => id),
      ['m'],
    );
    for (const field of ['authorID', 'type', 'createdTimestamp'])
      expectError(
        await v.post(MESSAGES, { content: textContent('x'), [field]: 'u' }),
        400,
        'unexpected_field',
        field,
      );
  });

  test("a member changes, deletes and brings back their own messages; another user's is message_not_found", async () => {
    const { project, u, v } = await threeBrowsers();
    expectDone(await write(project, 't', 'm'));
    expectDone(await u.put(`${MESSAGES}/m`, { content: textContent('edited') }), 'updated message m');
    expectDone(await u.put(`${MESSAGES}/m`, { deleted: true }));
    expectDone(await u.put(`${MESSAGES}/m`, { deleted: false }));
    assert.equal((await messageOf(project, 't', 'm')).plaintext, 'edited');
    expectError(await v.put(`${MESSAGES}/m`, { content: textContent('mine') }), 404, 'message_not_found');
    expectError(await v.put(`${MESSAGES}/none`, { deleted: true }), 404, 'message_not_found');
    expectError(await u.put(`${MESSAGES}/m`, { metadata: {} }), 400, 'unexpected_field', 'metadata');
  });

  test('a write of a user who left the group is rejected with thread_not_found', async () => {
    const { project, v } = await threeBrowsers();
    expectDone(await project.post('/v1/groups/g/members', { remove: ['v'] }));
    expectError(await v.post(MESSAGES, { content: textContent('x') }), 404, 'thread_not_found');
  });

  test('a write that loses the race with a deletion of its thread or message is 404, and creates nothing', async () => {
    const { project, u } = await threeBrowsers();
    const statuses = new Set<string>();
    for (let round = 0; round < 30; round += 1) {
      expectDone(await project.put(threadPath('t'), { groupID: 'g', name: 'T' }));
      expectDone(await write(project, 't', 'm'));
      const deleted = round % 2 === 0 ? threadPath('t') : messagePath('t', 'm');
      const [, put, resolved] = await Promise.all([
        project.delete(deleted),
        u.put(`${MESSAGES}/m`, { content: textContent('edited') }),
        u.put(THREAD, { resolved: round % 3 === 0 }),
      ]);
      for (const answer of [put, resolved]) {
        statuses.add(`${answer.status}`);
        assert.ok([200, 404].includes(answer.status), answer.text);
      }
      expectError(
        await project.get(messagePath('t', 'm')),
        404,
        round % 2 === 0 ? 'thread_not_found' : 'message_not_found',
      );
    }
    assert.ok(statuses.has('404'), 'a deletion won');
  });

  test('a mention of an unknown user is user_not_found, also where createThread would make the thread', async () => {
    const { v } = await threeBrowsers();
    const content = [{ type: 'mention', user: { id: 'nobody' }, children: [{ text: '@' }] }];
    const body = { content, createThread: { groupID: 'g', name: 'New' } };
    expectNotFound(await v.post('/v1/client/threads/new/messages', body), 'user_not_found', 'nobody');
    expectError(await v.get('/v1/client/threads/new'), 404, 'thread_not_found');
  });

  test('createThread makes the thread in a group of the user, and is ignored where the thread is there', async () => {
    const { project, v } = await threeBrowsers();
    const path = '/v1/client/threads/new/messages';
    const body = { id: 'm', content: textContent('x'), createThread: { groupID: 'g', name: 'New' } };
    const foreign = { ...body, createThread: { groupID: 'h', name: 'New' } };
    expectError(await v.post(path, foreign), 404, 'thread_not_found');
    assert.equal((await v.post(path, body)).status, 201);
    assert.equal((await threadOf(project, 'new')).groupID, 'g');
    assert.equal((await v.post(MESSAGES, body)).status, 201);
    expectError(
      await v.post('/v1/client/threads/none/messages', { content: textContent('x') }),
      404,
      'thread_not_found',
    );
  });

  test('createThread makes the thread where the one of another group is deleted meanwhile, and is ignored where one is made', async () => {
    const { project, u } = await threeBrowsers();
    const body = { id: 'm', content: textContent('x'), createThread: { groupID: 'h', name: 'New' } };
    const ofG = { groupID: 'g', name: 'T' };
    const isMade = new Set<boolean>();
    for (let round = 0; round < 60; round += 1) {
      const [deleted, made] = [`deleted${round}`, `made${round}`];
      expectDone(await project.put(threadPath(deleted), ofG));
      const post = (id: string) => u.post(`/v1/client/threads/${id}/messages`, body);
      const isFirst = round % 2 === 0;
      const [early, removed] = [isFirst ? post(deleted) : null, project.delete(threadPath(deleted))];
      const [first, second, put] = await Promise.all([
        early ?? post(deleted),
        post(made),
        project.post('/v1/threads', { ...ofG, id: made }),
        removed,
      ]);
      for (const { status, text } of [first, second]) assert.equal(status, 201, text);
      const left = await project.get(threadPath(deleted));
      if (left.status === 200) assert.equal(expectOk<{ groupID: string }>(left).groupID, 'h');
      isMade.add(left.status === 200);
      assert.equal((await threadOf(project, made)).groupID, put.status === 201 ? 'g' : 'h');
    }
    assert.ok(isMade.has(true), 'a deletion won');
  });

  test('a thread of another group is thread_not_found for createThread too, and gets no message', async () => {
    const { project, v } = await threeBrowsers();
    expectDone(await project.put('/v1/groups/other', { name: 'Other', members: ['u', 'v'] }));
    const narrow = Browser.of(project, 'v', 'other');
    const body = { id: 'm', content: textContent('x'), createThread: { groupID: 'other', name: 'New' } };
    expectError(await narrow.post(MESSAGES, body), 404, 'thread_not_found');
    expectError(await v.get(`${MESSAGES}/m`), 404, 'message_not_found');
  });
});

describe('unread and seen', () => {
  test("unread counts messages of others, not deleted, after the user's lastSeenTimestamp", async () => {
    const { project, u, v } = await threeBrowsers();
    for (const [id, createdTimestamp] of [
      ['a', '2026-01-01T00:00:00Z'],
      ['b', '2026-01-02T00:00:00Z'],
      ['c', '2026-01-03T00:00:00Z'],
    ])
      expectDone(await write(project, 't', id as string, { createdTimestamp }));
    assert.deepEqual([await unreadOf(u), await unreadOf(v)], [0, 3]);
    expectDone(await v.put(`${THREAD}/seen`, { messageID: 'b' }), 'thread t');
    assert.equal(await unreadOf(v), 1);
    expectDone(await project.put(messagePath('t', 'c'), { deleted: true }));
    assert.equal(await unreadOf(v), 0);
    expectDone(await project.put(messagePath('t', 'c'), { deleted: false }));
    assert.equal(await unreadOf(v), 1);
    expectDone(await v.put(`${THREAD}/seen`, {}));
    assert.equal(await unreadOf(v), 0);
    expectDone(await v.put(`${THREAD}/seen`, { messageID: 'a' }));
    assert.equal(await unreadOf(v), 0, 'what was seen stays seen');
  });

  test('writing a message marks the thread as seen up to it, and a user who saw it is a participant', async () => {
    const { project, u, v } = await threeBrowsers();
    expectDone(await write(project, 't', 'a'));
    assert.equal(await unreadOf(v), 1);
    assert.equal((await v.post(MESSAGES, { content: textContent('answer') })).status, 201);
    assert.equal(await unreadOf(v), 0);
    assert.equal(await unreadOf(u), 1);
    expectDone(await u.put(`${THREAD}/seen`, {}));
    const { participants } = await threadOf(project, 't');
    assert.deepEqual(participants.map(({ userID }) => userID).sort(), ['u', 'v']);
  });

  test('seen up to a message that is not there is message_not_found', async () => {
    const { v } = await threeBrowsers();
    expectError(await v.put(`${THREAD}/seen`, { messageID: 'none' }), 404, 'message_not_found');
  });
});
