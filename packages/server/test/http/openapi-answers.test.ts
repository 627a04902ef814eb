import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { Browser } from '../support/browser.ts';
import type { Answer } from '../support/http-client.ts';
import { send } from '../support/http-client.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';
import { ApiDescription } from './api-description.ts';

const server = oneServer({ settings: { bodyLimitBytes: 4_096, rateLimitPerSecond: 1_000 } });
let api: ApiDescription;
let project: Project;

before(async () => {
  api = await ApiDescription.of((await server.started).url);
  project = await server.project();
  await project.seed({
    users: [{ id: 'ada' }, { id: 'grace', status: 'deleted' }],
    groups: [{ id: 'analysts', name: 'Analysts', members: ['ada'] }],
  });
});

/** The status and the code, or the status alone of a success. */
const outcome = ({ status, text }: Answer) =>
  text.startsWith('{"error"') ? [status, JSON.parse(text).error] : [status];

const preference = { key: 'notification_channels', value: {} };
const presence = (overrides: object) => ({ groupID: 'analysts', location: { page: '1' }, ...overrides });

/** A request of the operation, and the error that answers it. */
type Rejected = [operationId: string, expected: [number, string?], request: () => Promise<Answer>];

const REJECTED: readonly Rejected[] = [
  ['putGroup', [400, 'invalid_request'], () => project.send('PUT', '/v1/groups/g', '[]')],
  ['putGroup', [400, 'unexpected_field'], () => project.put('/v1/groups/g', { nick: 1 })],
  ['putGroup', [400, 'missing_field'], () => project.put('/v1/groups/g', {})],
  ['putGroup', [400, 'invalid_field'], () => project.put('/v1/groups/g', { name: 7 })],
  ['putGroup', [401, 'user_not_found'], () => project.put('/v1/groups/g', { name: 'G', members: ['x'] })],
  [
    'putGroup',
    [409, 'group_already_exists'],
    () => project.put('/v1/groups/analysts', { name: 'G' }, { 'if-none-match': '*' }),
  ],
  ['putGroup', [412, 'invalid_request'], () => project.put('/v1/groups/analysts', {}, { 'if-match': '"0"' })],
  ['putGroup', [413, 'invalid_request'], () => project.put('/v1/groups/g', { name: 'x'.repeat(5_000) })],
  ['getGroup', [401, 'group_not_found'], () => project.get('/v1/groups/none')],
  ['getGroup', [400, 'unexpected_field'], () => project.get('/v1/groups/analysts?deep=1')],
  ['getGroup', [400, 'invalid_field'], () => project.get('/v1/groups/%00')],
  ['getOrganization', [401, 'organization_not_found'], () => project.get('/v1/organizations/none')],
  [
    'createGroup',
    [409, 'group_already_exists'],
    () => project.post('/v1/groups', { id: 'analysts', name: 'A' }),
  ],
  ['createUser', [409, 'user_already_exists'], () => project.post('/v1/users', { id: 'ada' })],
  ['putUser', [409, 'user_already_exists'], () => project.put('/v1/users/ada', {}, { 'if-none-match': '*' })],
  ['getUser', [401, 'user_not_found'], () => project.get('/v1/users/none')],
  ['deleteUser', [412, 'invalid_request'], () => project.delete('/v1/users/ada', { 'if-match': '"0"' })],
  ['listUsers', [400, 'invalid_field'], () => project.get('/v1/users?limit=0')],
  [
    'changeGroupMembers',
    [401, 'user_not_found'],
    () => project.post('/v1/groups/analysts/members', { add: ['x'] }),
  ],
  [
    'changeGroupMembers',
    [400, 'invalid_field'],
    () => project.post('/v1/groups/analysts/members', { add: ['ada'], remove: ['ada'] }),
  ],
  ['putPreferences', [401, 'user_not_found'], () => project.put('/v1/none/preferences', preference)],
  [
    'putPresence',
    [400, 'missing_field'],
    () => project.put('/v1/users/ada/presence', { location: { page: '1' } }),
  ],
  ['putPresence', [401, 'user_not_found'], () => project.put('/v1/users/grace/presence', presence({}))],
  [
    'putPresence',
    [401, 'group_not_found'],
    () => project.put('/v1/users/ada/presence', presence({ groupID: 'x' })),
  ],
  [
    'putPresence',
    [401, 'organization_not_found'],
    () => project.put('/v1/users/ada/presence', { organizationID: 'x', location: { page: '1' } }),
  ],
  ['getUserPresence', [400, 'missing_field'], () => project.get('/v1/users/ada/presence')],
  ['applyBatch', [400, 'missing_field'], () => project.post('/v1/batch', { users: [{}] })],
  [
    'applyBatch',
    [401, 'user_not_found'],
    () => project.post('/v1/batch', { groups: [{ id: 'g', name: 'G', members: ['x'] }] }),
  ],
  ['revoke', [401, 'invalid_access_token'], () => project.delete('/v1/authorize')],
  [
    'authorize',
    [401, 'invalid_app_token'],
    () => project.post('/v1/authorize', { signed_app_token: 'a.b.c' }),
  ],
  ['putPresences', [400, 'invalid_field'], () => project.put('/v1/presence', { updates: [] })],
  ['putPresences', [400, 'missing_field'], () => project.put('/v1/presence', { updates: [{}] })],
  ['getViewer', [401, 'user_not_found'], () => Browser.of(project, 'grace').viewer()],
  ['getViewer', [401, 'invalid_access_token'], () => project.get('/v1/client/viewer')],
  ['listClientPresence', [400, 'missing_field'], () => Browser.of(project, 'ada').get('/v1/client/presence')],
  [
    'listClientGroupMembers',
    [401, 'group_not_found'],
    () => Browser.of(project, 'ada').get('/v1/client/groups/none/members'),
  ],
  [
    'putClientPresence',
    [401, 'organization_not_found'],
    () => Browser.of(project, 'ada').putPresence({ organizationID: 'none' }),
  ],
  ['healthz', [400, 'unexpected_field'], () => project.get('/healthz?deep=1')],
  ['openapi', [400, 'unexpected_field'], () => project.get('/openapi.json?deep=1')],
];

describe('errors have the described status, code and body', () => {
  for (const [operationId, expected, request] of REJECTED) {
    test(`the answer of ${operationId} is described: ${expected.join(' ')}`, async () => {
      const answer = await request();
      assert.deepEqual(outcome(answer), expected, answer.text);
      api.expectDescribed(api.operation(operationId), answer);
    });
  }

  const now = () => seconds(Date.now());
  const headers: Record<string, () => string | undefined> = {
    missing_authorization_header: () => undefined,
    invalid_authorization_header: () => 'Basic YTpi',
    project_not_found: () => jwt({ project_id: 'none', iat: now() }, 'x'),
    application_not_found: () => jwt({ app_id: 'none', iat: now() }, 'x'),
    invalid_project_token: () => jwt({ project_id: project.id, iat: now() }, 'x'),
    invalid_app_token: () => jwt({ app_id: project.id, iat: now() }, 'x'),
    invalid_access_token: () => server.running.customerToken,
  };
  for (const [code, token] of Object.entries(headers)) {
    test(`a token failure is described: 401 ${code}`, async () => {
      const value = token();
      const authorization = value === undefined || value.startsWith('Basic') ? value : `Bearer ${value}`;
      const outgoing = authorization === undefined ? {} : { headers: { authorization } };
      const answer = await send(project.url, 'GET', '/v1/groups', outgoing);
      assert.deepEqual(outcome(answer), [401, code]);
      assert.equal(answer.headers['www-authenticate'], 'Bearer');
      api.expectDescribed(api.operation('listGroups'), answer);
    });
  }

  test('a request about a project that the customer does not have is described: 401 project_not_found', async () => {
    const headers = { authorization: `Bearer ${server.running.customerToken}` };
    const answer = await send(project.url, 'GET', '/v1/projects/none', { headers });
    assert.deepEqual(outcome(answer), [401, 'project_not_found']);
    api.expectDescribed(api.operation('getProject'), answer);
  });

  test('a project token on /v1/projects is described: 401 invalid_customer_token', async () => {
    const answer = await project.get('/v1/projects');
    assert.deepEqual(outcome(answer), [401, 'invalid_customer_token']);
    api.expectDescribed(api.operation('listProjects'), answer);
  });
});

describe('headers are as described', () => {
  test('the described ETag of a reading answers the next one with 304', async () => {
    const described = api.operation('getGroup');
    const { value } = api.response(described, 200);
    assert.ok(Object.hasOwn(value.headers ?? {}, 'ETag'));
    const { etag } = (await project.get('/v1/groups/analysts')).headers;
    const answer = await project.get('/v1/groups/analysts', { 'if-none-match': String(etag) });
    assert.equal(answer.status, 304);
    api.expectDescribed(described, answer);
  });

  test('the described Link of a page of groups leads to the next page', async () => {
    await project.seed({ groups: [{ id: 'writers', name: 'Writers' }] });
    const answer = await project.get('/v1/groups?limit=1');
    assert.ok(Object.hasOwn(api.response(api.operation('listGroups'), 200).value.headers ?? {}, 'Link'));
    assert.match(String(answer.headers.link), /; rel="next"$/);
  });

  test('every described header of a success and of a 429 is one that a limited server sends', async () => {
    const limited = Object.keys(api.document.components.responses.TooManyRequests?.headers ?? {});
    const answer = await project.get('/v1/groups');
    const described = Object.keys(api.response(api.operation('listGroups'), 200).value.headers ?? {});
    for (const name of described.filter((each) => each !== 'Link')) {
      assert.ok(answer.headers[name.toLowerCase()] !== undefined, name);
    }
    for (const name of ['Retry-After', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']) {
      assert.ok(limited.includes(name), name);
    }
    // The limit is per project, for all of its tokens.
    for (const { operation, path } of api.operations) {
      const [kind = 'none'] = Object.keys(operation.security?.[0] ?? {});
      const isLimited = kind === 'projectToken' || kind === 'clientToken';
      assert.equal(Object.hasOwn(operation.responses, 429), isLimited, path);
    }
  });
});
