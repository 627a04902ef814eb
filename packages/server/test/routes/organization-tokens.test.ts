/** Client tokens that name their group by its older name: a group that the request does not name is an organization in errors. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Browser, clientToken } from '../support/browser.ts';
import { projectWithThread, textContent } from '../support/conversation.ts';
import { expectDone, expectError, expectNotFound } from '../support/expect.ts';
import type { Claims } from '../support/jwt.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';
import { SocketClient } from '../support/socket-client.ts';
import { StreamReader } from '../support/stream-reader.ts';

const server = oneServer();

const tokenOf = (project: Project, organization: string, claims: Claims = {}) =>
  clientToken(project, { user_id: 'u', organization_id: organization, ...claims });
const leave = async (project: Project, group: string) =>
  expectDone(await project.post(`/v1/groups/${group}/members`, { remove: ['u'] }));

describe('streams of a token with organization_id', () => {
  const paths = ['/v1/client/presence', '/v1/client/threads', '/v1/client/threads/t/messages'];
  for (const path of paths) {
    test(`the stream of ${path} ends with organization_not_found when the user is no member any more`, async () => {
      const project = await projectWithThread(server);
      using reader = await StreamReader.open({ url: project.url, token: tokenOf(project, 'g') }, path);
      await reader.snapshot();
      await leave(project, 'g');
      await reader.ended();
      assert.deepEqual(reader.events.at(-1)?.data, {
        error: 'organization_not_found',
        message: 'organization g has no member u',
      });
    });
  }

  for (const path of paths.slice(0, 2)) {
    test(`the stream of ${path} that names the group as groupID ends with group_not_found`, async () => {
      const project = await projectWithThread(server);
      const token = tokenOf(project, 'g');
      using reader = await StreamReader.open({ url: project.url, token }, `${path}?groupID=g`);
      await reader.snapshot();
      await leave(project, 'g');
      await reader.ended();
      assert.deepEqual(reader.events.at(-1)?.data, {
        error: 'group_not_found',
        message: 'group g has no member u',
      });
    });
  }
});

describe('requests with a token with organization_id', () => {
  test('a list or stream of threads of an organization that is not of the user is thread_not_found of the organization', async () => {
    const project = await projectWithThread(server);
    await project.seed({ groups: [{ id: 'foreign', name: 'F', members: ['v'] }] });
    const browser = new Browser(project, tokenOf(project, 'foreign'));
    for (const accept of ['application/json', 'text/event-stream']) {
      const [older, named] = [
        await browser.get('/v1/client/threads', { accept }),
        await browser.get('/v1/client/threads?groupID=foreign', { accept }),
      ];
      expectError(older, 404, 'thread_not_found', 'no thread of organization foreign');
      expectError(named, 404, 'thread_not_found', 'no thread of group foreign');
    }
  });

  test('presence of an organization that is not of the user is organization_not_found, and group_not_found by groupID', async () => {
    const project = await projectWithThread(server);
    const browser = new Browser(project, tokenOf(project, 'none'));
    const older = [
      await browser.viewer(),
      await browser.get('/v1/client/presence'),
      await browser.putPresence({}),
    ];
    for (const answer of older) expectNotFound(answer, 'organization_not_found', 'organization none');
    const named = [
      await browser.get('/v1/client/presence?groupID=none'),
      await browser.putPresence({ groupID: 'none' }),
      await browser.get('/v1/client/groups/none/members'),
    ];
    for (const answer of named) expectNotFound(answer, 'group_not_found', 'group none');
  });

  const METHODS: [name: string, send: (browser: Browser) => ReturnType<Browser['get']>][] = [
    ['GET /v1/client/threads/<ID>', (browser) => browser.get('/v1/client/threads/t')],
    ['PUT /v1/client/threads/<ID>', (browser) => browser.put('/v1/client/threads/t', { resolved: true })],
    ['PUT …/seen', (browser) => browser.put('/v1/client/threads/t/seen', {})],
    ['POST /v1/client/threads', (browser) => browser.post('/v1/client/threads', { id: 'new', name: 'N' })],
    ['GET …/messages', (browser) => browser.get('/v1/client/threads/t/messages')],
    ['GET …/messages/<ID>', (browser) => browser.get('/v1/client/threads/t/messages/m')],
    [
      'POST …/messages',
      (browser) => browser.post('/v1/client/threads/t/messages', { content: textContent('m') }),
    ],
    [
      'PUT …/messages/<ID>',
      (browser) => browser.put('/v1/client/threads/t/messages/m', { content: textContent('m') }),
    ],
  ];
  for (const [name, send] of METHODS) {
    test(`${name} in an organization that is not of the user is thread_not_found and names no group`, async () => {
      const project = await projectWithThread(server);
      const answer = await send(new Browser(project, tokenOf(project, 'none')));
      expectError(answer, 404, 'thread_not_found');
      assert.doesNotMatch(answer.text, /group/);
    });
  }
});

describe('a socket of a token with organization_id', () => {
  async function logIn(project: Project, organization: string): Promise<SocketClient> {
    const socket = await SocketClient.open(project.url);
    await socket.ok('auth', { token: tokenOf(project, organization) });
    return socket;
  }

  test('auth to an organization that does not exist is organization_not_found, also where it renews a token', async () => {
    const project = await projectWithThread(server);
    using fresh = await SocketClient.open(project.url);
    const token = tokenOf(project, 'none');
    await fresh.fails('organization_not_found', 'auth', { token }, 'organization none');
    using socket = await SocketClient.of(project, 'u', 'g');
    await socket.fails('organization_not_found', 'auth', { token }, 'organization none');
  });

  test('frames that name a group as groupID get errors of the group', async () => {
    const project = await projectWithThread(server);
    using socket = await logIn(project, 'g');
    const other = { groupID: 'h' };
    await socket.fails('group_not_found', 'watch', other, 'group h');
    await socket.fails('group_not_found', 'present', { ...other, location: { page: '1' } }, 'group h');
    await socket.fails('thread_not_found', 'watch_threads', other, 'no thread of group h');
  });

  const WATCHES: [op: string, fields: object][] = [
    ['watch', {}],
    ['watch_threads', {}],
    ['watch_messages', { threadID: 't' }],
  ];
  for (const [op, fields] of WATCHES) {
    test(`a socket with ${op} closes with organization_not_found when the user is no member any more`, async () => {
      const project = await projectWithThread(server);
      using socket = await logIn(project, 'g');
      await socket.ok(op, { ...fields });
      await socket.event('snapshot');
      await leave(project, 'g');
      await socket.closes(4403, 'organization_not_found');
    });

    test(`a watch of ${op} ends with organization_not_found when the renewed token opens another organization`, async () => {
      const project = await projectWithThread(server);
      using socket = await logIn(project, 'g');
      await socket.ok(op, { ...fields });
      await socket.event('snapshot');
      await socket.ok('auth', { token: tokenOf(project, 'h') });
      assert.deepEqual((await socket.event('ended')).data, {
        error: 'organization_not_found',
        message: 'organization g is not the one that the token opens',
      });
    });
  }

  for (const op of ['watch', 'watch_threads']) {
    test(`a watch of ${op} that names groupID ends with group_not_found when the renewed token opens another organization`, async () => {
      const project = await projectWithThread(server);
      using socket = await logIn(project, 'g');
      await socket.ok(op, { groupID: 'g' });
      await socket.event('snapshot');
      await socket.ok('auth', { token: tokenOf(project, 'h') });
      assert.deepEqual((await socket.event('ended')).data, {
        error: 'group_not_found',
        message: 'group g is not the one that the token opens',
      });
    });
  }
});
