import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { ERRORS, type ErrorCode } from '@rollcall/protocol';
import { pino } from 'pino';
import { clockedServer } from '../support/clocked-server.ts';
import { damageStore } from '../support/engine.ts';
import { expectDone, expectError, expectNotFound, expectOk } from '../support/expect.ts';
import type { Answer } from '../support/http-client.ts';
import { jwt } from '../support/jwt.ts';
import { MovedClock } from '../support/moved-clock.ts';
import type { Project } from '../support/project-client.ts';
import { withServer } from '../support/server.ts';

const server = clockedServer();

const THREAD = { groupID: 'g', name: 'T' };
const MESSAGE = { authorID: 'u', content: [{ text: 'plain' }] };

/** The table of the vocabulary, row by row: status, code, and a request that gets it. */
const ROWS: readonly [number, ErrorCode, (project: Project) => Promise<Answer>][] = [
  [400, 'invalid_request', (p) => p.send('PUT', '/v1/groups/g', '[]')],
  [400, 'unexpected_field', (p) => p.put('/v1/groups/g', { nick: 'N' })],
  [400, 'missing_field', (p) => p.put('/v1/groups/new', {})],
  [400, 'invalid_field', (p) => p.put('/v1/groups/g', { name: 7 })],
  [400, 'message_not_appendable', (p) => p.post('/v1/threads/t/messages/plain/append', { text: '!' })],
  [401, 'application_not_found', (p) => signedBy(p, { app_id: 'no-such' })],
  [401, 'project_not_found', (p) => signedBy(p, { project_id: 'no-such' })],
  [401, 'user_not_found', (p) => p.put('/v1/groups/g', { members: ['nobody'] })],
  [401, 'group_not_found', (p) => p.get('/v1/groups/nowhere')],
  [401, 'organization_not_found', (p) => p.get('/v1/organizations/nowhere')],
  [401, 'missing_authorization_header', () => server.call(null, 'GET', '/v1/groups')],
  [401, 'invalid_authorization_header', () => server.call('no-jwt', 'GET', '/v1/groups')],
  [401, 'invalid_app_token', (p) => signedBy({ ...p, secret: 'wrong' }, { app_id: p.id })],
  [401, 'invalid_project_token', (p) => signedBy({ ...p, secret: 'wrong' }, { project_id: p.id })],
  [401, 'invalid_customer_token', () => server.call(server.customerToken({ exp: 1 }), 'GET', '/v1/projects')],
  [401, 'invalid_access_token', (p) => signedBy(p, {})],
  [401, 'expired_access_token', (p) => withRevokedToken(p)],
  [404, 'thread_not_found', (p) => p.get('/v1/threads/nowhere')],
  [404, 'message_not_found', (p) => p.get('/v1/threads/t/messages/nothing')],
  [404, 'webhook_not_found', (p) => p.get('/v1/webhooks/nothing')],
  [409, 'group_already_exists', (p) => p.post('/v1/groups', { id: 'g', name: 'G' })],
  [409, 'user_already_exists', (p) => p.post('/v1/users', { id: 'u' })],
  [409, 'thread_already_exists', (p) => p.post('/v1/threads', { ...THREAD, id: 't' })],
  [409, 'message_already_exists', (p) => p.post('/v1/threads/t/messages', { ...MESSAGE, id: 'plain' })],
];

const signedBy = ({ secret }: Pick<Project, 'secret'>, claims: object) =>
  server.call(jwt({ iat: server.now(), ...claims }, secret), 'GET', '/v1/groups');

async function withRevokedToken({ id, secret }: Project): Promise<Answer> {
  const signed_app_token = jwt({ app_id: id, iat: server.now() }, secret);
  const authorized = await server.call(null, 'POST', '/v1/authorize', { signed_app_token });
  const token = expectOk<{ access_token: string }>(authorized).access_token;
  expectDone(await server.call(token, 'DELETE', '/v1/authorize'));
  return server.call(token, 'GET', '/v1/groups');
}

/** `error` has a test of its own below. */
const reached = new Set<string>(['error']);

describe('the error table', () => {
  for (const [status, code, provoke] of ROWS) {
    test(`${code} is reached with ${status}, and its body is exactly error and message`, async () => {
      const project = await server.projectWithGroup('g', 'u');
      expectDone(await project.put('/v1/threads/t', THREAD));
      expectDone(await project.put('/v1/threads/t/messages/plain', MESSAGE));
      const message = expectError(await provoke(project), status, code);
      assert.ok(message.length > 10, `an explanation, not "${message}"`);
      reached.add(code);
    });
  }

  after(() => assert.deepEqual([...reached].sort(), Object.keys(ERRORS).sort(), 'every code is reached'));

  test('group_already_exists and user_already_exists are also the errors of If-None-Match: *', async () => {
    const project = await server.project();
    await project.seed({ users: [{ id: 'u' }], groups: [{ id: 'g', name: 'G' }] });
    const once = { 'if-none-match': '*' };
    expectError(await project.put('/v1/groups/g', { name: 'G' }, once), 409, 'group_already_exists', 'g');
    expectError(await project.put('/v1/users/u', { name: 'U' }, once), 409, 'user_already_exists', 'u');
  });

  test('the same missing group is group_not_found on every route that names it', async () => {
    const project = await server.projectWithUsers('u');
    const update = { groupID: 'nowhere', location: { p: '1' } };
    const answers = await project.unchanged(async () => [
      await project.get('/v1/groups/nowhere'),
      await project.delete('/v1/groups/nowhere'),
      await project.get('/v1/groups/nowhere/members'),
      await project.post('/v1/groups/nowhere/members', {}),
      await project.post('/v1/groups/nowhere/members', { add: ['u'] }),
      await project.get('/v1/groups/nowhere/presence'),
      await project.get('/v1/users/u/presence?groupID=nowhere'),
      await project.put('/v1/users/u/presence', update),
      await project.put('/v1/users/u/presence', { ...update, durable: true }),
      await project.put('/v1/users/u/presence', { ...update, absent: true }),
    ]);
    for (const answer of answers) expectNotFound(answer, 'group_not_found', 'nowhere');
  });

  test('the same missing group under its older name is organization_not_found on every route', async () => {
    const project = await server.projectWithUsers('u');
    const answers = [
      await project.get('/v1/organizations/nowhere'),
      await project.delete('/v1/organizations/nowhere'),
      await project.get('/v1/organizations/nowhere/members'),
      await project.post('/v1/organizations/nowhere/members', { add: ['u'] }),
      await project.put('/v1/users/u/presence', { organizationID: 'nowhere', location: { p: '1' } }),
    ];
    for (const answer of answers) expectError(answer, 401, 'organization_not_found', 'nowhere');
  });

  test('the same missing user is user_not_found on every route that names them', async () => {
    const project = await server.project();
    await project.seed({ groups: [{ id: 'g', name: 'G' }] });
    const preference = { key: 'notification_channels', value: {} };
    const answers = await project.unchanged(async () => [
      await project.get('/v1/users/nobody'),
      await project.delete('/v1/users/nobody'),
      await project.get('/v1/users/nobody/groups'),
      await project.get('/v1/users/nobody/preferences'),
      await project.put('/v1/users/nobody/preferences', preference),
      await project.put('/v1/nobody/preferences', preference),
      await project.get('/v1/users/nobody/presence?groupID=g'),
      await project.put('/v1/users/nobody/presence', { groupID: 'g', location: { p: '1' } }),
      await project.put('/v1/groups/g', { members: ['nobody'] }),
      await project.put('/v1/groups/new', { name: 'New', members: ['nobody'] }),
      await project.post('/v1/groups', { id: 'new', name: 'New', members: ['nobody'] }),
      await project.post('/v1/groups/g/members', { add: ['nobody'] }),
      await project.post('/v1/batch', { groups: [{ id: 'g', members: ['nobody'] }] }),
    ]);
    for (const answer of answers) expectNotFound(answer, 'user_not_found', 'nobody');
  });
});

test('the message of an error is well-formed Unicode, also where it names a field that is not, or only a part of its name', async () => {
  const project = await server.project();
  for (const name of ['a\ud800', '\udc00', `${'x'.repeat(159)}😀`]) {
    const message = expectError(await project.put('/v1/groups/g', { [name]: 1 }), 400, 'unexpected_field');
    assert.ok(message.isWellFormed(), JSON.stringify(message));
  }
});

test('an unexpected failure is 500 error with a fixed message: no stack, no SQL, no secret; the log has the rest', async () => {
  const logged: string[] = [];
  const log = pino({ level: 'error' }, { write: (line: string) => void logged.push(line) });
  const clock = new MovedClock();
  await withServer({ log, clock }, async ({ dataDir, request }) => {
    assert.equal((await request('PUT', '/v1/groups/g', { body: { name: 'G' } })).status, 200);
    await damageStore(dataDir);
    const messages = new Set<string>();
    for (const [method, path, body] of [
      ['GET', '/v1/groups/g', undefined],
      ['GET', '/v1/users', undefined],
      ['PUT', '/v1/groups/g', { name: 'Changed' }],
      ['PUT', '/v1/users/u', { name: 'U' }],
      ['POST', '/v1/batch', { users: [{ id: 'u' }] }],
    ] as const) {
      // Within a second, a further failure of the same kind is only counted.
      clock.move(2_000);
      const answer = await request(method, path, body === undefined ? {} : { body });
      messages.add(expectError(answer as Answer, 500, 'error'));
      const id = String(answer.headers['x-request-id']);
      assert.ok(
        logged.some((line) => line.includes(id)),
        'the log has the failure under its x-request-id',
      );
    }
    assert.equal(messages.size, 1, [...messages].join(' / '));
    assert.doesNotMatch([...messages].join(), /sqlite|select |insert |update |no such|table|\.ts|node:/i);
  });
});
