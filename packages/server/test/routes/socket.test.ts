/** GET /v1/client/socket: logging in, watching, and what ends it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Browser } from '../support/browser.ts';
import { expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';
import { SocketClient } from '../support/socket-client.ts';

const server = oneServer();
const AT = { page: '1' };

async function seeded(): Promise<Project> {
  const project = await server.project();
  await project.seed({
    users: ['a', 'b'].map((id) => ({ id })),
    groups: ['g', 'h'].map((id) => ({ id, name: id, members: ['a', 'b'] })),
  });
  return project;
}

describe('auth on a socket', () => {
  test('a frame before auth is missing_authorization_header, and a frame that is no JSON object invalid_request', async () => {
    const { url } = await seeded();
    using socket = await SocketClient.open(url);
    await socket.fails('missing_authorization_header', 'watch', { groupID: 'g' });
    socket.send('[]');
    assert.equal((await socket.answer(null)).error, 'invalid_request');
    await socket.fails('invalid_authorization_header', 'auth', { token: 'x' });
  });

  test('the token of a host, of an unknown user or of a lost group does not log in', async () => {
    const project = await seeded();
    using socket = await SocketClient.open(project.url);
    await socket.fails('invalid_access_token', 'auth', { token: project.token });
    await socket.fails('user_not_found', 'auth', { token: Browser.of(project, 'nobody').token });
    await socket.fails('group_not_found', 'auth', { token: Browser.of(project, 'a', 'other').token });
    await socket.fails('missing_authorization_header', 'watch', { groupID: 'g' });
    await socket.ok('auth', { token: Browser.of(project, 'a').token });
  });

  test('a renewed token is of the same user, and one for a single group ends what is of others', async () => {
    const project = await seeded();
    using socket = await SocketClient.of(project, 'a');
    const watch = await socket.ok('watch', { groupID: 'h' });
    await socket.event('snapshot');
    for (const other of [Browser.of(project, 'b'), Browser.of(await seeded(), 'a')])
      await socket.fails('invalid_field', 'auth', { token: other.token }, 'token');
    await socket.ok('auth', { token: Browser.of(project, 'a', 'g').token });
    const ended = await socket.event('ended');
    assert.deepEqual([ended.watch, ended.data.error], [watch, 'group_not_found']);
    await socket.fails('group_not_found', 'watch', { groupID: 'h' });
    await socket.ok('watch');
  });

  test('a renewed token with another connectionID is invalid_field; with that of the first auth, or none, it is accepted', async () => {
    const project = await seeded();
    const { token } = Browser.of(project, 'a');
    using named = await SocketClient.of(project, 'a', undefined, { connectionID: 'page-1' });
    await named.fails('invalid_field', 'auth', { token, connectionID: 'page-2' }, 'connectionID');
    await named.ok('auth', { token, connectionID: 'page-1' });
    await named.ok('auth', { token });
    using unnamed = await SocketClient.of(project, 'a');
    await unnamed.fails('invalid_field', 'auth', { token, connectionID: 'page-1' }, 'connectionID');
  });

  test('a rotated secret closes the sockets of the project with 4401', async () => {
    const project = await seeded();
    using socket = await SocketClient.of(project, 'a');
    await socket.ok('watch', { groupID: 'g' });
    const { body } = { body: { overlap_seconds: 0 } };
    const headers = { authorization: `Bearer ${server.customerToken()}` };
    expectOk(await project.post(`/v1/projects/${project.id}/rotate-secret`, body, headers));
    await socket.closes(4401, 'invalid_project_token');
  });
});

test('a deleted project closes its open sockets with 4401', async () => {
  const project = await seeded();
  using idle = await SocketClient.of(project, 'a');
  using watching = await SocketClient.of(project, 'a', 'g');
  await watching.ok('watch');
  const headers = { authorization: `Bearer ${server.customerToken()}` };
  expectOk(await project.delete(`/v1/projects/${project.id}`, headers));
  for (const socket of [idle, watching]) await socket.closes(4401, 'project_not_found');
});

describe('watches of a socket', () => {
  test('a watch with expand=user has the user in arrived, and user events when name or picture changes', async () => {
    const project = await seeded();
    const user = { name: 'Ada', profile_picture_url: null };
    expectOk(await project.put('/v1/users/b', { name: user.name }));
    using socket = await SocketClient.of(project, 'a', 'g');
    const watch = await socket.ok('watch', { expand: 'user' });
    await socket.event('snapshot');
    expectOk(await Browser.of(project, 'b', 'g').putPresence({ location: AT }));
    assert.deepEqual((await socket.event('arrived')).data, { id: 'b', location: AT, user });
    expectOk(await project.put('/v1/users/b', { name: 'Bob' }));
    const changed = await socket.event('user');
    assert.deepEqual([changed.watch, changed.data], [watch, { id: 'b', user: { ...user, name: 'Bob' } }]);
    await socket.fails('invalid_field', 'watch', { expand: 'users' }, 'expand');
  });

  test('a watch has the snapshot and the events of the presence stream, with its ref', async () => {
    const project = await seeded();
    const other = Browser.of(project, 'b', 'g');
    using socket = await SocketClient.of(project, 'a', 'g');
    const watch = await socket.ok('watch', { location: AT, partial_match: true });
    const snapshot = await socket.event('snapshot');
    assert.deepEqual([snapshot.watch, snapshot.data], [watch, { users: [] }]);
    expectOk(await other.putPresence({ location: AT }));
    const arrived = await socket.event('arrived');
    assert.deepEqual([arrived.watch, arrived.data], [watch, { id: 'b', location: AT }]);
    expectOk(await other.putPresence({ location: AT, absent: true }));
    assert.equal((await socket.event('departed')).data.reason, 'absent');

    using resumed = await SocketClient.of(project, 'a');
    await resumed.ok('watch', { groupID: 'g', location: AT, partial_match: true, after: arrived.id });
    assert.equal((await resumed.event('departed')).data.id, 'b', 'after resumes without a snapshot');
  });

  test('unwatch ends a watch, and its ref is free again', async () => {
    const project = await seeded();
    using socket = await SocketClient.of(project, 'a', 'g');
    const watch = await socket.ok('watch');
    socket.send({ op: 'watch', ref: watch });
    await socket.fails('invalid_field', 'unwatch', { watch: 99 }, 'watch');
    assert.equal(socket.frames.filter(({ ref }) => ref === watch).at(-1).error, 'invalid_field');
    await socket.ok('unwatch', { watch });
    await socket.fails('invalid_field', 'unwatch', { watch }, 'watch');
    socket.send({ op: 'watch', ref: watch });
    await socket.until(
      'a second snapshot',
      () => socket.frames.filter(({ event }) => event === 'snapshot').length === 2,
    );
  });

  test('no event of a watch comes after its unwatch was answered, also where it was about to catch up', async () => {
    const project = await seeded();
    const other = Browser.of(project, 'b', 'g');
    assert.equal((await other.post('/v1/client/threads', { id: 't', name: 'T' })).status, 201);
    using socket = await SocketClient.of(project, 'a', 'g');
    const watch = await socket.ok('watch_messages', { threadID: 't' });
    const { id: after } = await socket.event('snapshot');
    await socket.ok('unwatch', { watch });
    const content = [{ type: 'p', children: [{ text: 'x' }] }];
    for (const id of ['1', '2', '3'])
      assert.equal((await other.post('/v1/client/threads/t/messages', { id, content })).status, 201);
    const { tcp } = socket;
    tcp.cork();
    socket.send({ op: 'watch_messages', ref: 60, threadID: 't', after });
    socket.send({ op: 'unwatch', ref: 61, watch: 60 });
    socket.send({ op: 'watch', ref: 60, groupID: 'g' });
    tcp.uncork();
    await socket.event('snapshot');
    await socket.ok('present', { location: AT });
    await socket.event('arrived');
    const ended = socket.frames.findIndex(({ ref }) => ref === 61);
    const events = socket.frames.slice(ended).flatMap(({ event }) => event ?? []);
    assert.deepEqual(events, ['snapshot', 'arrived']);
  });

  test('watch_threads and watch_messages have the events of the streams of threads and messages', async () => {
    const project = await seeded();
    const other = Browser.of(project, 'b', 'g');
    using socket = await SocketClient.of(project, 'a', 'g');
    const threads = await socket.ok('watch_threads');
    assert.deepEqual((await socket.event('snapshot')).data.threads, []);
    assert.equal((await other.post('/v1/client/threads', { id: 't', name: 'T' })).status, 201);
    const thread = await socket.event('thread');
    assert.deepEqual([thread.watch, thread.data.id, thread.data.unread], [threads, 't', 0]);
    await socket.ok('unwatch', { watch: threads });
    const content = [{ type: 'markdown', children: [{ text: 'x' }] }];
    for (const id of ['1', '2', '3'])
      assert.equal((await other.post('/v1/client/threads/t/messages', { id, content })).status, 201);
    const messages = await socket.ok('watch_messages', { threadID: 't', limit: 2 });
    const snapshot = await socket.event('snapshot');
    assert.deepEqual(
      snapshot.data.messages.map(({ id }: { id: string }) => id),
      ['2', '3'],
    );
    assert.equal((await other.post('/v1/client/threads/t/messages', { id: '4', content })).status, 201);
    const message = await socket.event('message');
    assert.deepEqual([message.watch, message.data.id], [messages, '4']);
    expectOk(await project.delete('/v1/threads/t'));
    await socket.until('the end', () => socket.frames.at(-1)?.event === 'ended');
    assert.equal(socket.frames.at(-1).data.error, 'thread_not_found');
  });

  test('watches have the filters of the streams, after resumes a watch of threads, and limit is 1 to 1,000', async () => {
    const project = await seeded();
    for (const [id, location, resolved] of [
      ['open', { ...AT, paragraph: '2' }, false],
      ['done', { ...AT, paragraph: '2' }, true],
      ['away', { page: '2' }, false],
    ] as const)
      expectOk(await project.put(`/v1/threads/${id}`, { groupID: 'g', name: id, location, resolved }));
    using socket = await SocketClient.of(project, 'a', 'g');
    const filter = { location: AT, partial_match: true, resolved: false };
    const watch = await socket.ok('watch_threads', filter);
    const snapshot = await socket.event('snapshot');
    assert.deepEqual(
      snapshot.data.threads.map(({ id }: { id: string }) => id),
      ['open'],
    );
    await socket.ok('unwatch', { watch });
    expectOk(await project.put('/v1/threads/open', { name: 'Renamed' }));
    await socket.ok('watch_threads', { ...filter, after: snapshot.id });
    assert.equal((await socket.event('thread')).data.name, 'Renamed');

    expectOk(await project.put('/v1/users/b/presence', { groupID: 'g', location: AT, durable: true }));
    await socket.ok('watch', { exclude_durable: true });
    assert.deepEqual((await socket.event('snapshot')).data.users, []);

    for (const limit of [0, 1_001])
      await socket.fails('invalid_field', 'watch_messages', { threadID: 'open', limit }, 'limit');
    for (const limit of [1, 1_000]) await socket.ok('watch_messages', { threadID: 'open', limit });
  });

  test('a snapshot of more than 16 KB is one message, and events of other watches come whole beside it', async () => {
    const project = await seeded();
    const users = Array.from({ length: 300 }, (_, index) => `u${index}`);
    await project.seed({
      users: users.map((id) => ({ id })),
      groups: [{ id: 'wide', name: 'W', members: ['a', 'b', ...users] }],
    });
    const updates = users.map((userID) => ({ userID, groupID: 'wide', location: { page: '€'.repeat(500) } }));
    expectOk(await project.put('/v1/presence', { updates }));
    using socket = await SocketClient.of(project, 'a');
    await socket.ok('watch', { groupID: 'wide' });
    await socket.ok('watch', { groupID: 'g' });
    expectOk(await Browser.of(project, 'b', 'g').putPresence({ location: AT }));
    await socket.until('the arrival', () => socket.frames.some(({ event }) => event === 'arrived'));
    const snapshot = socket.frames.find(({ event, data }) => event === 'snapshot' && data.users.length > 1);
    assert.equal(snapshot.data.users.length, users.length);
  });
});

describe('rights on a socket', () => {
  test('a client token reaches on a socket what it reaches over HTTP, and nothing else', async () => {
    const project = await seeded();
    await project.seed({ users: [{ id: 'c' }], groups: [{ id: 'x', name: 'x', members: ['c'] }] });
    expectOk(await project.put('/v1/threads/secret', { groupID: 'x', name: 'S' }));
    using socket = await SocketClient.of(project, 'a');
    for (const groupID of ['x', 'none']) {
      await socket.fails('group_not_found', 'watch', { groupID });
      await socket.fails('group_not_found', 'present', { groupID, location: AT });
      await socket.fails('group_not_found', 'present', { groupID, location: AT, durable: true });
      await socket.fails('group_not_found', 'absent', { groupID, location: AT });
      await socket.fails('thread_not_found', 'watch_threads', { groupID });
    }
    for (const threadID of ['secret', 'none'])
      await socket.fails('thread_not_found', 'watch_messages', { threadID });
    await socket.fails('missing_field', 'watch', {}, 'groupID');
    await socket.fails('missing_field', 'present', { location: AT }, 'groupID');
    await socket.fails('unexpected_field', 'present', { groupID: 'g', location: AT, userID: 'b' }, 'userID');
    await socket.fails('invalid_field', 'absent', { groupID: 'g', location: { page: 1 } }, 'location');
    await socket.fails('invalid_field', 'present', {
      groupID: 'g',
      location: AT,
      exclusiveWithin: { a: '1' },
    });
    await socket.fails('invalid_field', 'fly', {}, 'op');
    await socket.fails('missing_field', 'watch_messages', {}, 'threadID');
  });

  test('a group that is lost ends its watches and holds, and the socket goes on in the others', async () => {
    const project = await seeded();
    using socket = await SocketClient.of(project, 'a');
    const watch = await socket.ok('watch', { groupID: 'h' });
    await socket.ok('present', { groupID: 'h', location: AT });
    await socket.event('snapshot');
    await socket.event('arrived');
    expectOk(await project.post('/v1/groups/h/members', { remove: ['a'] }));
    await socket.until('the end', () => socket.frames.some(({ event }) => event === 'ended'));
    const { data, watch: ended } = socket.frames.find(({ event }) => event === 'ended');
    assert.deepEqual([ended, data.error], [watch, 'group_not_found']);
    await socket.ok('watch', { groupID: 'g' });
    expectOk(await project.post('/v1/groups/h/members', { add: ['a'] }));
    const { users } = (await project.get('/v1/groups/h/presence')).json<{ users: unknown[] }>();
    assert.deepEqual(users, []);
  });

  test("a user who is set deleted, and a token's group that is lost, close the socket with 4403 and the code", async () => {
    const project = await seeded();
    using idle = await SocketClient.of(project, 'a');
    using watching = await SocketClient.of(project, 'a', 'g');
    await watching.ok('watch');
    expectOk(await project.put('/v1/users/a', { status: 'deleted' }));
    await idle.closes(4403, 'user_not_found');
    await watching.closes(4403, 'user_not_found');
    using scoped = await SocketClient.of(project, 'b', 'g');
    expectOk(await project.put('/v1/groups/g', { status: 'deleted' }));
    await scoped.closes(4403, 'group_not_found');
  });
});
