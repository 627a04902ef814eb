/** What a client token may not do with threads and messages, and the conditions of what it may. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ClientThread, Message } from '@rollcall/protocol';
import { Browser } from '../support/browser.ts';
import {
  markdown,
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
const MESSAGE = `${MESSAGES}/m`;

const mentioning = (id: string) => [{ type: 'mention', user: { id }, children: [{ text: '@' }] }];

/** The thread t of g with the message m of u, and browsers of the members u and v. */
async function conversation() {
  const project = await projectWithThread(server);
  expectDone(await write(project, 't', 'm'));
  return { project, u: Browser.of(project, 'u'), v: Browser.of(project, 'v') };
}

describe('what a client token has no endpoint for', () => {
  test('no client token appends to a message: the path is 404 invalid_request, and that of hosts invalid_access_token', async () => {
    const { project, u } = await conversation();
    expectDone(await write(project, 't', 'stream', { content: markdown('a') }));
    const append = { text: 'b' };
    expectError(await u.post(`${MESSAGES}/stream/append`, append), 404, 'invalid_request');
    expectError(await u.post(`${messagePath('t', 'stream')}/append`, append), 401, 'invalid_access_token');
    assert.equal((await messageOf(project, 't', 'stream')).plaintext, 'a');
  });

  test('no client token removes a thread or a message: the method is 405 invalid_request, and for hosts invalid_access_token', async () => {
    const { project, u } = await conversation();
    for (const [path, ofHosts] of [
      [THREAD, threadPath('t')],
      [MESSAGE, messagePath('t', 'm')],
    ] as const) {
      const answer = await u.delete(path);
      expectError(answer, 405, 'invalid_request');
      const allowed = String(answer.headers.allow).split(', ');
      assert.ok(allowed.includes('GET') && allowed.includes('PUT') && !allowed.includes('DELETE'));
      expectError(await u.delete(ofHosts), 401, 'invalid_access_token');
    }
    assert.equal((await messageOf(project, 't', 'm')).plaintext, 'm');
  });

  test('authorID, url, type and metadata of the own message are unexpected_field in PUT, which changes nothing', async () => {
    const { project, u } = await conversation();
    const before = await messageOf(project, 't', 'm');
    for (const [field, value] of Object.entries({
      authorID: 'u',
      url: 'https://example.com',
      type: 'action_message',
      metadata: {},
    })) {
      const answer = await u.put(MESSAGE, { content: textContent('other'), [field]: value });
      expectError(answer, 400, 'unexpected_field', field, 'content', 'deleted');
    }
    assert.deepEqual(await messageOf(project, 't', 'm'), before);
  });
});

describe('what a client token may not write', () => {
  test('a user who left the group neither edits nor deletes their messages there, nor marks or resolves: thread_not_found', async () => {
    const { project, u } = await conversation();
    expectDone(await project.post('/v1/groups/g/members', { remove: ['u'] }));
    const [message, thread] = [await messageOf(project, 't', 'm'), await threadOf(project, 't')];
    expectError(await u.put(MESSAGE, { content: textContent('other') }), 404, 'thread_not_found');
    expectError(await u.put(MESSAGE, { deleted: true }), 404, 'thread_not_found');
    expectError(await u.put(`${THREAD}/seen`, {}), 404, 'thread_not_found');
    expectError(await u.put(THREAD, { resolved: true }), 404, 'thread_not_found');
    assert.deepEqual([await messageOf(project, 't', 'm'), await threadOf(project, 't')], [message, thread]);
  });

  test("`seen` in a group that is not one of the user's is thread_not_found, and of a deleted user user_not_found", async () => {
    const { project, v } = await conversation();
    expectDone(await project.put(threadPath('foreign'), { groupID: 'h', name: 'F' }));
    expectError(await v.put('/v1/client/threads/foreign/seen', {}), 404, 'thread_not_found');
    expectError(await Browser.of(project, 'u', 'h').put(`${THREAD}/seen`, {}), 404, 'thread_not_found');
    expectDone(await project.put('/v1/users/v', { status: 'deleted' }));
    for (const body of [{}, { messageID: 'm' }, { messageID: 'none' }])
      expectNotFound(await v.put(`${THREAD}/seen`, body), 'user_not_found', 'v');
    assert.deepEqual((await threadOf(project, 'foreign')).participants, []);
    assert.deepEqual(
      (await threadOf(project, 't')).participants.map(({ userID }) => userID),
      ['u'],
    );
  });

  test('a deleted user changes neither a message nor a thread: user_not_found', async () => {
    const { project, u } = await conversation();
    expectDone(await project.put('/v1/users/u', { status: 'deleted' }));
    expectNotFound(await u.put(MESSAGE, { content: textContent('other') }), 'user_not_found');
    expectNotFound(await u.put(MESSAGE, { deleted: true }), 'user_not_found');
    expectNotFound(await u.put(THREAD, { resolved: true }), 'user_not_found');
    expectNotFound(await u.post('/v1/client/threads', { groupID: 'g', name: 'N' }), 'user_not_found');
    assert.equal((await messageOf(project, 't', 'm')).plaintext, 'm');
  });

  test('a user who is mentioned in PUT must exist, else user_not_found, and need not be a member', async () => {
    const { project, u } = await conversation();
    expectNotFound(await u.put(MESSAGE, { content: mentioning('nobody') }), 'user_not_found', 'nobody');
    assert.equal((await messageOf(project, 't', 'm')).plaintext, 'm');
    expectDone(await u.put(MESSAGE, { content: mentioning('w') }), 'updated message m');
  });

  test('what is not found comes before 409 with a client token too', async () => {
    const { project, u, v } = await conversation();
    const message = { id: 'm', content: mentioning('nobody') };
    expectNotFound(await v.post(MESSAGES, message), 'user_not_found', 'nobody');
    const taken = { id: 'm', content: textContent('x') };
    expectError(await v.post(MESSAGES, taken), 409, 'message_already_exists');
    const thread = { id: 't', name: 'N' };
    expectError(await v.post('/v1/client/threads', { ...thread, groupID: 'h' }), 404, 'thread_not_found');
    expectError(await v.post('/v1/client/threads', { ...thread, groupID: 'none' }), 404, 'thread_not_found');
    expectError(
      await u.post('/v1/client/threads', { ...thread, groupID: 'h' }),
      409,
      'thread_already_exists',
    );
    expectDone(await project.post('/v1/groups/g/members', { remove: ['v'] }));
    expectError(await v.post(MESSAGES, taken), 404, 'thread_not_found');
  });
});

describe('conditions of requests with a client token', () => {
  test('the ETag of a client thread is that of hosts, and PUT with If-Match takes it, or is 412', async () => {
    const { project, u, v } = await conversation();
    const { etag = '' } = (await u.get(THREAD)).headers;
    assert.match(etag, /^"[^"]+"$/);
    assert.equal((await v.get(THREAD)).headers.etag, etag);
    assert.equal((await project.get(threadPath('t'))).headers.etag, etag);
    expectDone(await u.put(THREAD, { resolved: true }, { 'if-match': etag }));
    expectError(await u.put(THREAD, { resolved: false }, { 'if-match': etag }), 412, 'invalid_request');
    assert.equal((await threadOf(project, 't')).resolved, true);
    const { etag: next = '' } = (await u.get(THREAD)).headers;
    expectDone(await v.put(THREAD, { resolved: false }, { 'if-match': next }));
  });

  test('POST with If-Match creates nothing, as for hosts: 409 where it exists, and else 412', async () => {
    const { project, u } = await conversation();
    for (const tag of ['*', '"other"']) {
      const match = { 'if-match': tag };
      const thread = { groupID: 'g', name: 'N' };
      const message = { content: textContent('x') };
      for (const post of [
        (id: string) => u.post('/v1/client/threads', { id, ...thread }, match),
        (id: string) => project.post('/v1/threads', { id, ...thread }, match),
      ]) {
        expectError(await post('t'), 409, 'thread_already_exists');
        expectError(await post('new'), 412, 'invalid_request');
        expectError(await project.get(threadPath('new')), 404, 'thread_not_found');
      }
      const authored = { authorID: 'u', ...message };
      for (const post of [
        (id: string) => u.post(MESSAGES, { id, ...message }, match),
        (id: string) => project.post(`${threadPath('t')}/messages`, { id, ...authored }, match),
      ]) {
        expectError(await post('m'), 409, 'message_already_exists');
        expectError(await post('new'), 412, 'invalid_request');
        expectError(await project.get(messagePath('t', 'new')), 404, 'message_not_found');
      }
      const createThread = { groupID: 'g', name: 'N' };
      const made = await u.post('/v1/client/threads/new/messages', { ...message, createThread }, match);
      expectError(made, 412, 'invalid_request');
      expectError(await project.get(threadPath('new')), 404, 'thread_not_found');
    }
  });

  test('a thread is marked as seen only where If-Match holds, else 412 after what is not found', async () => {
    const { u, v } = await conversation();
    const { etag = '' } = (await v.get(THREAD)).headers;
    expectDone(await u.put(THREAD, { resolved: true }));
    const seen = (body: object, tag: string) => v.put(`${THREAD}/seen`, body, { 'if-match': tag });
    expectError(await seen({}, etag), 412, 'invalid_request');
    expectError(await seen({ messageID: 'm' }, etag), 412, 'invalid_request');
    expectError(await seen({ messageID: 'none' }, etag), 404, 'message_not_found');
    const unread = async () => expectOk<ClientThread>(await v.get(THREAD)).unread;
    assert.equal(await unread(), 1);
    const { etag: now = '' } = (await v.get(THREAD)).headers;
    expectDone(await seen({ messageID: 'm' }, now));
    assert.equal(await unread(), 0);
  });

  test('a client thread is never 304: users who have the same ETag have different `unread`', async () => {
    const { u, v } = await conversation();
    const { etag = '' } = (await u.get(THREAD)).headers;
    const [own, others] = await Promise.all(
      [u, v].map(async (browser) =>
        expectOk<ClientThread>(await browser.get(THREAD, { 'if-none-match': etag })),
      ),
    );
    assert.deepEqual([own?.unread, others?.unread], [0, 1]);
  });

  test('the ETag of a thread changes with everything that changes `unread`', async () => {
    const { project, u, v } = await conversation();
    const tagOf = async () => String((await v.get(THREAD)).headers.etag);
    const tags = [await tagOf()];
    for (const change of [
      () => u.put(MESSAGE, { deleted: true }),
      () => u.put(MESSAGE, { deleted: false }),
      () => v.put(`${THREAD}/seen`, {}),
      () => write(project, 't', 'n'),
      () => project.delete(messagePath('t', 'n')),
    ]) {
      expectDone(await change());
      tags.push(await tagOf());
    }
    assert.equal(new Set(tags).size, tags.length, tags.join());
  });

  test('If-None-Match and If-Match hold for a client message as for one of hosts', async () => {
    const { project, u, v } = await conversation();
    const { etag = '' } = (await u.get(MESSAGE)).headers;
    assert.equal((await project.get(messagePath('t', 'm'))).headers.etag, etag);
    assert.equal((await v.get(MESSAGE, { 'if-none-match': etag })).status, 304);
    expectDone(await u.put(MESSAGE, { content: textContent('other') }, { 'if-match': etag }));
    expectError(await u.put(MESSAGE, { deleted: true }, { 'if-match': etag }), 412, 'invalid_request');
    assert.equal(expectOk<Message>(await v.get(MESSAGE, { 'if-none-match': etag })).plaintext, 'other');
    const ofAnother = await v.put(MESSAGE, { deleted: true }, { 'if-match': '"x"' });
    expectError(ofAnother, 404, 'message_not_found');
    const missing = await u.put(`${MESSAGES}/none`, { deleted: true }, { 'if-match': '*' });
    expectError(missing, 404, 'message_not_found');
    expectDone(await project.post('/v1/groups/g/members', { remove: ['v'] }));
    expectError(await v.get(MESSAGE, { 'if-none-match': etag }), 404, 'thread_not_found');
  });
});
