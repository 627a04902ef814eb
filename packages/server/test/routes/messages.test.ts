/** Messages over HTTP: writes, creation in a thread, and lists. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ErrorCode } from '@rollcall/protocol';
import {
  messageOf,
  messagePath,
  projectWithThread,
  textContent,
  threadOf,
  threadPath,
  walk,
  write,
} from '../support/conversation.ts';
import { expectDone, expectError, expectNotFound, expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';

const server = oneServer();
const PAST = '2026-01-02T03:04:05.000Z';

describe('PUT /v1/threads/<ID>/messages/<MID>', () => {
  test('a message that was created with authorID and content alone is read with every field of the contract', async () => {
    const project = await projectWithThread(server);
    expectDone(await write(project, 't', 'm'), 'created message m');
    const { createdTimestamp, ...message } = await messageOf(project, 't', 'm');
    assert.ok(Math.abs(Date.parse(createdTimestamp) - Date.now()) < 600_000);
    assert.deepEqual(message, {
      id: 'm',
      threadID: 't',
      groupID: 'g',
      authorID: 'u',
      type: 'user_message',
      content: textContent('m'),
      plaintext: 'm',
      url: null,
      metadata: {},
      updatedTimestamp: null,
      deletedTimestamp: null,
    });
  });

  test('updatedTimestamp is set where content, type, url or metadata change, and not where nothing does', async () => {
    const project = await projectWithThread(server);
    expectDone(await write(project, 't', 'm'));
    expectDone(await project.put(messagePath('t', 'm'), { content: textContent('m') }), 'updated message m');
    assert.equal((await messageOf(project, 't', 'm')).updatedTimestamp, null);
    for (const [id, change] of [
      ['content', { content: textContent('other') }],
      ['type', { type: 'action_message' }],
      ['url', { url: 'https://example.com' }],
      ['metadata', { metadata: { a: 1 } }],
    ] as const) {
      expectDone(await write(project, 't', id));
      expectDone(await project.put(messagePath('t', id), change));
      assert.notEqual((await messageOf(project, 't', id)).updatedTimestamp, null, id);
    }
  });

  test('a deleted message shows empty content, plaintext and metadata, and deleted: false brings them back', async () => {
    const project = await projectWithThread(server);
    expectDone(await write(project, 't', 'm', { metadata: { a: 1 } }));
    expectDone(await project.put(messagePath('t', 'm'), { deleted: true }));
    const deleted = await messageOf(project, 't', 'm');
    assert.deepEqual([deleted.content, deleted.plaintext, deleted.metadata], [[], '', {}]);
    assert.notEqual(deleted.deletedTimestamp, null);
    const { userMessages, deletedMessages, total } = await threadOf(project, 't');
    assert.deepEqual([userMessages, deletedMessages, total], [0, 1, 1]);
    expectDone(await project.put(messagePath('t', 'm'), { deleted: false }));
    const back = await messageOf(project, 't', 'm');
    assert.deepEqual([back.content, back.plaintext, back.metadata], [textContent('m'), 'm', { a: 1 }]);
    assert.equal((await threadOf(project, 't')).deletedMessages, 0);
  });

  test('counts of a thread follow the type of its messages, and participants who wrote are shown', async () => {
    const project = await projectWithThread(server);
    expectDone(await write(project, 't', 'a'));
    expectDone(await write(project, 't', 'b', { type: 'action_message', authorID: 'v' }));
    const { userMessages, actionMessages, total, participants } = await threadOf(project, 't');
    assert.deepEqual([userMessages, actionMessages, total], [1, 1, 2]);
    assert.deepEqual(participants.map(({ userID }) => userID).sort(), ['u', 'v']);
    expectDone(await project.put(messagePath('t', 'a'), { type: 'action_message' }));
    assert.equal((await threadOf(project, 't')).actionMessages, 2);
    expectDone(await project.delete(messagePath('t', 'a')), 'deleted message a');
    assert.equal((await threadOf(project, 't')).total, 1);
  });

  test('what is not found comes in the order thread, message fields, group, author, mentions', async () => {
    const project = await projectWithThread(server);
    const mention = [{ type: 'mention', user: { id: 'nobody' }, children: [{ text: '@' }] }];
    const body = { authorID: 'nobody', content: mention };
    expectError(await project.put(messagePath('none', 'm'), body), 404, 'thread_not_found');
    expectError(await project.put(messagePath('none', 'm'), {}), 400, 'missing_field', 'authorID', 'content');
    expectNotFound(await project.put(messagePath('t', 'm'), body), 'user_not_found', 'nobody');
    expectNotFound(
      await write(project, 't', 'm', { authorID: 'w' }),
      'user_not_found',
      'not a member of group g',
    );
    expectNotFound(await write(project, 't', 'm', { content: mention }), 'user_not_found', 'nobody');
    expectError(await project.get(messagePath('t', 'm')), 404, 'message_not_found', 'm');
    expectDone(await project.put('/v1/groups/g', { status: 'deleted' }));
    expectNotFound(await project.put(messagePath('t', 'm'), body), 'group_not_found');
  });

  test('an import needs an author who exists only, works in a deleted group, and keeps its times', async () => {
    const project = await projectWithThread(server);
    expectDone(await project.put('/v1/groups/g', { status: 'deleted' }));
    const times = { createdTimestamp: PAST, updatedTimestamp: PAST, deletedTimestamp: PAST };
    expectDone(await write(project, 't', 'm', { authorID: 'w', ...times }), 'created');
    const message = await messageOf(project, 't', 'm');
    assert.deepEqual([message.createdTimestamp, message.updatedTimestamp], [PAST, PAST]);
    assert.deepEqual([message.deletedTimestamp, message.content], [PAST, []]);
    expectNotFound(
      await write(project, 't', 'n', { authorID: 'nobody', createdTimestamp: PAST }),
      'user_not_found',
    );
  });

  test('authorID and the times never change: invalid_field', async () => {
    const project = await projectWithThread(server);
    expectDone(await write(project, 't', 'm', { createdTimestamp: PAST }));
    expectError(
      await project.put(messagePath('t', 'm'), { authorID: 'v' }),
      400,
      'invalid_field',
      'authorID',
    );
    const other = { createdTimestamp: '2026-01-01T00:00:00Z' };
    expectError(await project.put(messagePath('t', 'm'), other), 400, 'invalid_field', 'createdTimestamp');
    const all = { authorID: 'v', ...other, updatedTimestamp: PAST, deletedTimestamp: PAST };
    expectError(await project.put(messagePath('t', 'm'), all), 400, 'invalid_field', ...Object.keys(all));
    expectDone(await project.put(messagePath('t', 'm'), { authorID: 'u', createdTimestamp: PAST }));
  });

  test('deletedTimestamp with deleted: false is invalid_field, and creates nothing', async () => {
    const project = await projectWithThread(server);
    const answer = await write(project, 't', 'm', { deleted: false, deletedTimestamp: PAST });
    expectError(answer, 400, 'invalid_field', 'deletedTimestamp');
    expectError(await project.get(messagePath('t', 'm')), 404, 'message_not_found');
    expectDone(await write(project, 't', 'm', { deleted: true, deletedTimestamp: PAST }));
    expectError(
      await project.put(messagePath('t', 'm'), { deleted: false, deletedTimestamp: PAST }),
      400,
      'invalid_field',
      'deletedTimestamp',
    );
  });

  test('messages stay when their author is set deleted or removed for good', async () => {
    const project = await projectWithThread(server);
    expectDone(await write(project, 't', 'm'));
    expectDone(await project.put('/v1/users/u', { status: 'deleted' }));
    assert.equal((await messageOf(project, 't', 'm')).plaintext, 'm');
    expectNotFound(await write(project, 't', 'n'), 'user_not_found', 'deleted');
    expectDone(await project.delete('/v1/users/u'));
    assert.equal((await messageOf(project, 't', 'm')).authorID, 'u');
    expectDone(await project.put(messagePath('t', 'm'), { content: textContent('later') }));
  });

  test('If-Match holds for messages, and DELETE of what is not there is 404 with it too', async () => {
    const project = await projectWithThread(server);
    expectDone(await write(project, 't', 'm'));
    const { etag = '' } = (await project.get(messagePath('t', 'm'))).headers;
    assert.equal((await project.get(messagePath('t', 'm'), { 'if-none-match': etag })).status, 304);
    expectDone(
      await project.put(messagePath('t', 'm'), { url: 'https://example.com' }, { 'if-match': etag }),
    );
    expectError(await project.delete(messagePath('t', 'm'), { 'if-match': etag }), 412, 'invalid_request');
    expectError(
      await project.delete(messagePath('t', 'none'), { 'if-match': etag }),
      404,
      'message_not_found',
    );
  });
});

describe('POST /v1/threads/<ID>/messages', () => {
  test('a message gets the given id, or one that is made, and is 409 message_already_exists after that', async () => {
    const project = await projectWithThread(server);
    const path = `${threadPath('t')}/messages`;
    const answer = await project.post(path, { id: 'p', authorID: 'u', content: textContent('p') });
    assert.deepEqual(
      [answer.status, answer.json()],
      [201, { success: true, message: 'created message p', id: 'p' }],
    );
    const again = await project.post(path, { id: 'p', authorID: 'u', content: textContent('p') });
    expectError(again, 409, 'message_already_exists');
    const other = await project.post(path, { id: 'p', authorID: 'v', content: textContent('p') });
    expectError(other, 409, 'message_already_exists');
    const made = await project.post(path, { authorID: 'u', content: textContent('p') });
    assert.equal((await messageOf(project, 't', made.json<{ id: string }>().id)).plaintext, 'p');
  });

  test('author and mentions that are not there are user_not_found before 409, by POST and by If-None-Match: *', async () => {
    const project = await projectWithThread(server);
    expectDone(await write(project, 't', 'm'));
    expectDone(await project.put('/v1/users/off', { status: 'deleted' }));
    const content = [{ type: 'mention', user: { id: 'nobody' }, children: [{ text: '@' }] }];
    for (const [body, reason] of [
      [{ authorID: 'none', content }, 'user none'],
      [{ authorID: 'off', content }, 'user off'],
      [{ authorID: 'w', content }, 'not a member of group g'],
      [{ authorID: 'u', content }, 'nobody'],
    ] as const) {
      for (const id of ['m', 'new']) {
        const post = await project.post(`${threadPath('t')}/messages`, { id, ...body });
        expectNotFound(post, 'user_not_found', reason);
        const put = await project.put(messagePath('t', id), body, { 'if-none-match': '*' });
        expectNotFound(put, 'user_not_found', reason);
      }
    }
    assert.equal((await messageOf(project, 't', 'm')).plaintext, 'm');
    const taken = { authorID: 'v', content: textContent('x') };
    const put = await project.put(messagePath('t', 'm'), taken, { 'if-none-match': '*' });
    expectError(put, 409, 'message_already_exists');
    expectDone(await project.put('/v1/groups/g', { status: 'deleted' }));
    const post = await project.post(`${threadPath('t')}/messages`, { id: 'm', authorID: 'none', content });
    expectNotFound(post, 'group_not_found', 'g');
  });

  const FUTURE = '2999-01-02T03:04:05.000Z';
  const threads: readonly (readonly [thread: object, code: ErrorCode, field: string])[] = [
    [{ groupID: 'g', name: 'N', createdTimestamp: FUTURE }, 'invalid_field', 'createdTimestamp'],
    [{ groupID: 'g', name: 'N', resolvedTimestamp: FUTURE }, 'invalid_field', 'resolvedTimestamp'],
    [
      { groupID: 'g', name: 'N', resolved: false, resolvedTimestamp: PAST },
      'invalid_field',
      'resolvedTimestamp',
    ],
    [{ groupID: 'g', name: 'N', createdTimestamp: 'today' }, 'invalid_field', 'createdTimestamp'],
    [{ groupID: 'g', name: '' }, 'invalid_field', 'name'],
    [{ groupID: 1, name: 'N' }, 'invalid_field', 'groupID'],
    [{ groupID: 'g', name: 'N', url: 'ftp://x' }, 'invalid_field', 'url'],
    [{ groupID: 'g', name: 'N', location: { a: 1 } }, 'invalid_field', 'location'],
    [{ groupID: 'g', name: 'N', metadata: [] }, 'invalid_field', 'metadata'],
    [{ groupID: 'g', name: 'N', resolved: null }, 'invalid_field', 'resolved'],
    [{ name: 'N' }, 'missing_field', 'groupID'],
    [{ groupID: 'g' }, 'missing_field', 'name'],
    [{ groupID: 'g', name: 'N', id: 'x' }, 'unexpected_field', 'id'],
  ];
  for (const [createThread, code, field] of threads) {
    test(`createThread ${JSON.stringify(createThread)} is ${code} of createThread.${field}`, async () => {
      const project = await projectWithThread(server);
      const body = { authorID: 'u', content: textContent('x'), createThread };
      const answer = await project.post('/v1/threads/new/messages', body);
      expectError(answer, 400, code, `createThread.${field}`);
    });
  }

  test('createThread makes the thread in the same step when it is missing, and is ignored otherwise', async () => {
    const project = await projectWithThread(server);
    const body = {
      id: 'm',
      authorID: 'u',
      content: textContent('m'),
      createThread: { groupID: 'h', name: 'New' },
    };
    assert.equal((await project.post(`${threadPath('new')}/messages`, body)).status, 201);
    assert.equal((await threadOf(project, 'new')).groupID, 'h');
    assert.equal((await project.post(`${threadPath('t')}/messages`, body)).status, 201);
    assert.equal((await threadOf(project, 't')).groupID, 'g');
    const unknown = { ...body, createThread: { groupID: 'none', name: 'New' } };
    expectNotFound(await project.post(`${threadPath('other')}/messages`, unknown), 'group_not_found');
    const stranger = { ...body, authorID: 'w' };
    expectNotFound(await project.post(`${threadPath('other')}/messages`, stranger), 'user_not_found');
    expectError(await project.get(threadPath('other')), 404, 'thread_not_found');
  });
});

describe('GET /v1/threads/<ID>/messages', () => {
  test('messages are listed by createdTimestamp, then arrival, in both orders, each exactly once', async () => {
    const project = await projectWithThread(server);
    const times = ['2026-01-03', '2026-01-01', '2026-01-02', '2026-01-01', '2026-01-03'];
    for (const [index, day] of times.entries())
      expectDone(await write(project, 't', `m${index}`, { createdTimestamp: `${day}T00:00:00Z` }));
    const list = (order: string) =>
      walk((page) => project.get(`${threadPath('t')}/messages?order=${order}&${page}`), 'messages', 2);
    assert.deepEqual(await list('ascending'), ['m1', 'm3', 'm2', 'm0', 'm4']);
    assert.deepEqual(await list('descending'), ['m4', 'm0', 'm2', 'm3', 'm1']);
    const page = expectOk<{ pagination: { total: number } }>(
      await project.get(`${threadPath('t')}/messages`),
    );
    assert.equal(page.pagination.total, 5);
  });

  test('a page of messages ends with the one that makes it larger than 4 MiB', async () => {
    const project = await projectWithThread(server);
    const content = [{ text: 'x'.repeat(120 * 1_024) }];
    for (let index = 0; index < 40; index += 1)
      expectDone(await write(project, 't', `m${index}`, { content }));
    const answer = await project.get(`${threadPath('t')}/messages?limit=1000`);
    const { messages, pagination } = expectOk<{ messages: unknown[]; pagination: { token: string | null } }>(
      answer,
    );
    assert.notEqual(pagination.token, null);
    assert.ok(messages.length < 40);
    const ids = await walk((page) => project.get(`${threadPath('t')}/messages?${page}`), 'messages', 1_000);
    assert.equal(new Set(ids).size, 40);
  });

  test('the list of a thread that does not exist is thread_not_found', async () => {
    const project = await projectWithThread(server);
    expectError(await project.get(`${threadPath('none')}/messages`), 404, 'thread_not_found');
    expectError(await project.get(`${threadPath('t')}/messages?order=random`), 400, 'invalid_field', 'order');
  });
});
