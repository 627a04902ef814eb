import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  messagePath,
  projectWithThread,
  threadOf,
  threadPath,
  walk,
  write,
} from '../support/conversation.ts';
import { expectDone, expectError, expectNotFound, expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';

const server = oneServer();

const PAST = '2026-01-02T03:04:05.000Z';
const EARLIER = '2026-01-01T00:00:00.000Z';

describe('PUT /v1/threads/<ID>', () => {
  test('a thread that was created with groupID and name alone is read with every field of the contract', async () => {
    const project = await projectWithThread(server);
    const { createdTimestamp, ...thread } = await threadOf(project, 't');
    assert.ok(Math.abs(Date.parse(createdTimestamp) - Date.now()) < 600_000);
    assert.deepEqual(thread, {
      id: 't',
      groupID: 'g',
      name: 'T',
      url: null,
      location: null,
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
  });

  test('only supplied fields of a thread change, and null clears url and location', async () => {
    const project = await projectWithThread(server);
    const fields = { url: 'https://example.com/a', location: { page: '1' }, metadata: { a: [1] } };
    expectDone(await project.put(threadPath('t'), fields), 'updated thread t');
    expectDone(await project.put(threadPath('t'), { name: 'Renamed' }), 'updated thread t');
    const { name, url, location, metadata } = await threadOf(project, 't');
    assert.deepEqual({ name, url, location, metadata }, { name: 'Renamed', ...fields });
    expectDone(await project.put(threadPath('t'), { url: null, location: null }));
    const cleared = await threadOf(project, 't');
    assert.deepEqual([cleared.url, cleared.location], [null, null]);
  });

  test('a thread that does not exist and comes without groupID or name is missing_field, before what is invalid', async () => {
    const project = await projectWithThread(server);
    expectError(await project.put(threadPath('new'), { name: 'N' }), 400, 'missing_field', 'groupID');
    expectError(await project.put(threadPath('new'), { groupID: 'g' }), 400, 'missing_field', 'name');
    expectError(await project.put(threadPath('new'), { url: 'no' }), 400, 'missing_field', 'groupID', 'name');
    expectError(await project.put(threadPath('t'), { url: 'no' }), 400, 'invalid_field', 'url');
  });

  test('a thread of a group that does not exist is group_not_found', async () => {
    const project = await projectWithThread(server);
    const answer = await project.put(threadPath('new'), { groupID: 'nowhere', name: 'N' });
    expectNotFound(answer, 'group_not_found', 'nowhere');
  });

  test('groupID never changes: another one is invalid_field, the same one may be repeated', async () => {
    const project = await projectWithThread(server);
    expectError(await project.put(threadPath('t'), { groupID: 'h' }), 400, 'invalid_field', 'groupID');
    expectDone(await project.put(threadPath('t'), { groupID: 'g' }));
  });

  test('a time in the future is invalid_field', async () => {
    const project = await projectWithThread(server);
    const future = new Date(Date.now() + 3_600_000).toISOString();
    for (const field of ['createdTimestamp', 'resolvedTimestamp']) {
      const body = { groupID: 'g', name: 'N', [field]: future };
      expectError(await project.put(threadPath('new'), body), 400, 'invalid_field', field);
      const both = { ...body, name: 1 };
      expectError(await project.post('/v1/threads', both), 400, 'invalid_field', field, 'name');
    }
  });

  test('a createdTimestamp that is no date and time of a calendar, or before the year 0, is invalid_field', async () => {
    const project = await projectWithThread(server);
    for (const createdTimestamp of [
      '2026-02-30T00:00:00Z',
      '2025-02-29T00:00:00+01:00',
      '2026-02-03T24:00:00Z',
      '2026-02-03T23:59:60Z',
      '2026-02-03T00:00:00',
      '0000-01-01T00:00:00+00:01',
    ]) {
      const body = { groupID: 'g', name: 'N', createdTimestamp };
      expectError(await project.put(threadPath('new'), body), 400, 'invalid_field', 'createdTimestamp');
    }
    const body = { groupID: 'g', name: 'N', createdTimestamp: '2024-02-29T00:30:00.5+01:00' };
    expectDone(await project.put(threadPath('new'), body), 'created');
    assert.equal((await threadOf(project, 'new')).createdTimestamp, '2024-02-28T23:30:00.500Z');
  });

  test('an import keeps its createdTimestamp and resolvedTimestamp, which may be repeated and not changed', async () => {
    const project = await projectWithThread(server);
    const body = {
      groupID: 'g',
      name: 'Old',
      createdTimestamp: EARLIER,
      resolved: true,
      resolvedTimestamp: PAST,
    };
    expectDone(await project.put(threadPath('old'), body), 'created');
    expectDone(await project.put(threadPath('old'), body), 'updated');
    const { createdTimestamp, resolvedTimestamp, resolved } = await threadOf(project, 'old');
    assert.deepEqual([createdTimestamp, resolvedTimestamp, resolved], [EARLIER, PAST, true]);
    const other = await project.put(threadPath('old'), { createdTimestamp: PAST });
    expectError(other, 400, 'invalid_field', 'createdTimestamp');
  });

  test('the message of invalid_field names all fields that never change and have another value', async () => {
    const project = await projectWithThread(server);
    const body = { groupID: 'h', createdTimestamp: EARLIER, resolvedTimestamp: EARLIER };
    const answer = await project.put(threadPath('t'), body);
    expectError(answer, 400, 'invalid_field', ...Object.keys(body));
  });

  test('a thread is resolved with the time of the write, and opened again', async () => {
    const project = await projectWithThread(server);
    expectDone(await project.put(threadPath('t'), { resolved: true }));
    const resolved = await threadOf(project, 't');
    assert.equal(resolved.resolved, true);
    expectDone(await project.put(threadPath('t'), { resolved: true }));
    assert.equal((await threadOf(project, 't')).resolvedTimestamp, resolved.resolvedTimestamp);
    expectDone(await project.put(threadPath('t'), { resolved: false }));
    const { resolved: isResolved, resolvedTimestamp } = await threadOf(project, 't');
    assert.deepEqual([isResolved, resolvedTimestamp], [false, null]);
  });

  test('a thread of a deleted group is group_not_found; reading, DELETE and imports work there', async () => {
    const project = await projectWithThread(server);
    expectDone(await project.put('/v1/groups/g', { status: 'deleted' }));
    expectNotFound(await project.put(threadPath('t'), { name: 'N' }), 'group_not_found');
    expectNotFound(await project.put(threadPath('new'), { groupID: 'g', name: 'N' }), 'group_not_found');
    const imported = { groupID: 'g', name: 'Old', createdTimestamp: PAST };
    expectDone(await project.put(threadPath('old'), imported), 'created');
    assert.equal((await threadOf(project, 't')).name, 'T');
    expectDone(await project.delete(threadPath('t')), 'deleted thread t');
  });
});

describe('a thread as a resource', () => {
  test('POST /v1/threads creates with the given id, or one that is made, and is 409 thread_already_exists after that', async () => {
    const project = await projectWithThread(server);
    const answer = await project.post('/v1/threads', { id: 'p', groupID: 'g', name: 'P' });
    assert.deepEqual(
      [answer.status, answer.json()],
      [201, { success: true, message: 'created thread p', id: 'p' }],
    );
    const again = await project.post('/v1/threads', { id: 'p', groupID: 'g', name: 'P' });
    expectError(again, 409, 'thread_already_exists');
    const elsewhere = await project.post('/v1/threads', { id: 'p', groupID: 'h', name: 'P' });
    expectError(elsewhere, 409, 'thread_already_exists');
    const made = await project.post('/v1/threads', { groupID: 'g', name: 'Made' });
    assert.equal((await threadOf(project, made.json<{ id: string }>().id)).name, 'Made');
  });

  test('what is created in a group that is not there is group_not_found before 409, by POST and by If-None-Match: *', async () => {
    const project = await projectWithThread(server);
    const before = await threadOf(project, 't');
    const body = { groupID: 'none', name: 'N' };
    expectNotFound(await project.post('/v1/threads', { id: 't', ...body }), 'group_not_found', 'none');
    const put = await project.put(threadPath('t'), body, { 'if-none-match': '*' });
    expectNotFound(put, 'group_not_found', 'none');
    expectDone(await project.put('/v1/groups/h', { status: 'deleted' }));
    const ofDeleted = { id: 't', groupID: 'h', name: 'N' };
    expectNotFound(await project.post('/v1/threads', ofDeleted), 'group_not_found', 'h', 'deleted');
    const imported = { ...ofDeleted, createdTimestamp: PAST };
    expectError(await project.post('/v1/threads', imported), 409, 'thread_already_exists');
    assert.deepEqual(await threadOf(project, 't'), before);
  });

  test('a thread that does not exist is 404 thread_not_found, for DELETE with If-Match too', async () => {
    const project = await projectWithThread(server);
    expectError(await project.get(threadPath('none')), 404, 'thread_not_found', 'none');
    expectError(await project.delete(threadPath('none'), { 'if-match': '"x"' }), 404, 'thread_not_found');
  });

  test('If-Match and If-None-Match hold for threads as for groups, and a message changes the ETag', async () => {
    const project = await projectWithThread(server);
    const { etag = '' } = (await project.get(threadPath('t'))).headers;
    assert.equal((await project.get(threadPath('t'), { 'if-none-match': etag })).status, 304);
    expectDone(await write(project, 't', 'm'));
    assert.equal((await project.get(threadPath('t'), { 'if-none-match': etag })).status, 200);
    const stale = await project.put(threadPath('t'), { name: 'N' }, { 'if-match': etag });
    expectError(stale, 412, 'invalid_request');
    const exists = await project.put(threadPath('t'), { name: 'N' }, { 'if-none-match': '*' });
    expectError(exists, 409, 'thread_already_exists');
    expectError(await project.put(threadPath('new'), {}, { 'if-match': etag }), 412, 'invalid_request');
  });

  test('the thread `preferences` is a thread, not the preferences of the user `threads`', async () => {
    const project = await projectWithThread(server);
    expectDone(
      await project.put('/v1/threads/preferences', { groupID: 'g', name: 'P' }),
      'created thread preferences',
    );
  });

  test('deleting a thread deletes its messages, and its ID can be used again', async () => {
    const project = await projectWithThread(server);
    expectDone(await write(project, 't', 'm'));
    expectDone(await project.delete(threadPath('t')), 'deleted thread t');
    expectError(await project.get(messagePath('t', 'm')), 404, 'thread_not_found');
    expectDone(await project.put(threadPath('t'), { groupID: 'h', name: 'Again' }), 'created');
    expectError(await project.get(messagePath('t', 'm')), 404, 'message_not_found');
    assert.equal((await threadOf(project, 't')).total, 0);
  });

  test('deleting a group deletes its threads and messages at once; a group of the same ID has none of them', async () => {
    const project = await projectWithThread(server);
    expectDone(await write(project, 't', 'm'));
    expectDone(await project.delete('/v1/groups/g'));
    expectError(await project.get(threadPath('t')), 404, 'thread_not_found');
    expectError(await project.get(messagePath('t', 'm')), 404, 'thread_not_found');
    assert.deepEqual(expectOk(await project.get('/v1/threads')), {
      threads: [],
      pagination: { token: null },
    });
    await project.seed({ groups: [{ id: 'g', name: 'G', members: ['u'] }] });
    expectError(await project.get(threadPath('t')), 404, 'thread_not_found');
    expectDone(await project.put(threadPath('t'), { groupID: 'g', name: 'Again' }), 'created');
    assert.equal((await threadOf(project, 't')).total, 0);
  });
});

describe('GET /v1/threads', () => {
  const ids = (query: string, project: Awaited<ReturnType<typeof projectWithThread>>) =>
    walk((page) => project.get(`/v1/threads?${query}&${page}`), 'threads', 2);

  test('threads are listed by the latest activity first: the last message, or the creation', async () => {
    const project = await projectWithThread(server);
    for (const [id, createdTimestamp] of [
      ['a', '2026-01-01T00:00:00Z'],
      ['b', '2026-01-02T00:00:00Z'],
      ['c', '2026-01-03T00:00:00Z'],
    ])
      expectDone(await project.put(threadPath(id as string), { groupID: 'h', name: 'N', createdTimestamp }));
    assert.deepEqual(await ids('groupID=h', project), ['c', 'b', 'a']);
    expectDone(await write(project, 'a', 'm'));
    assert.deepEqual(await ids('groupID=h', project), ['a', 'c', 'b']);
  });

  test('filters of group, location, partial match and resolved select threads', async () => {
    const project = await projectWithThread(server);
    const page = { page: '1' };
    const part = { page: '1', paragraph: '2' };
    for (const [id, groupID, location, resolved] of [
      ['page', 'g', page, false],
      ['part', 'g', part, false],
      ['done', 'g', page, true],
      ['other', 'h', page, false],
    ] as const)
      expectDone(await project.put(threadPath(id), { groupID, name: 'N', location, resolved }));
    const at = (location: object) => `location=${encodeURIComponent(JSON.stringify(location))}`;
    const select = async (query: string) => (await ids(query, project)).sort();
    assert.deepEqual(await select(at(page)), ['done', 'other', 'page']);
    assert.deepEqual(await select(`${at(page)}&partial_match=true`), ['done', 'other', 'page', 'part']);
    assert.deepEqual(await select(`${at(page)}&partial_match=true&groupID=g`), ['done', 'page', 'part']);
    assert.deepEqual(await select(`${at(page)}&groupID=g&resolved=false`), ['page']);
    assert.deepEqual(await select('resolved=true'), ['done']);
    assert.deepEqual(await select('groupID=g'), ['done', 'page', 'part', 't']);
    assert.deepEqual(await select(`${at(part)}&groupID=h`), []);
  });

  test('a group that does not exist is group_not_found, and a token of another filter invalid_field', async () => {
    const project = await projectWithThread(server);
    expectNotFound(await project.get('/v1/threads?groupID=none'), 'group_not_found');
    expectDone(await project.put(threadPath('t2'), { groupID: 'g', name: 'N' }));
    const page = await project.get('/v1/threads?groupID=g&limit=1');
    const { token } = page.json<{ pagination: { token: string } }>().pagination;
    assert.equal((await project.get(`/v1/threads?groupID=g&token=${token}`)).status, 200);
    expectError(await project.get(`/v1/threads?token=${token}`), 400, 'invalid_field', 'token');
    expectError(await project.get('/v1/threads?limit=1001'), 400, 'invalid_field', 'limit');
  });

  test('a walk has every thread exactly once while others are written', async () => {
    const project = await projectWithThread(server);
    const all = Array.from({ length: 30 }, (_, index) => `x${index}`);
    await Promise.all(all.map((id) => project.put(threadPath(id), { groupID: 'h', name: 'N' })));
    const found: string[] = [];
    let token = '';
    for (let page = 0; page < 10; page += 1) {
      const answer = await project.get(`/v1/threads?groupID=h&limit=3${token}`);
      const body = expectOk<{ threads: { id: string }[]; pagination: { token: string } }>(answer);
      found.push(...body.threads.map(({ id }) => id));
      token = `&token=${body.pagination.token}`;
      expectDone(await project.put(threadPath(`later${page}`), { groupID: 'h', name: 'N' }));
    }
    assert.deepEqual(found.sort(), all.sort());
  });
});
