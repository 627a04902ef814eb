import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { Browser, clientToken } from '../support/browser.ts';
import { ClientStream } from '../support/client-stream.ts';
import { clockedServer } from '../support/clocked-server.ts';
import { expectDone, expectError, expectNotFound, expectOk } from '../support/expect.ts';
import { jwt } from '../support/jwt.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { oneServer } from '../support/one-server.ts';
import { Presence } from '../support/presence-client.ts';
import type { Project } from '../support/project-client.ts';
import { expectTokenFailure } from '../support/token-failure.ts';

const PAGE = 'https://app.example.com';
const server = oneServer({ settings: { corsOrigins: PAGE } });
let project: Project;

beforeEach(async () => {
  project = await server.project();
  await seed(project);
});

const seed = (of: Project) =>
  of.seed({
    users: ['ada', 'bob'].map((id) => ({ id })),
    groups: [
      { id: 'g', name: 'G', members: ['ada', 'bob'] },
      { id: 'foreign', name: 'Foreign', members: ['bob'] },
    ],
  });

const open = (browser: Browser, query: Record<string, string> = {}) =>
  browser.get(`/v1/client/presence?${new URLSearchParams(query)}`, { accept: 'text/event-stream' });

describe('the stream of /v1/client/presence', () => {
  test('the stream of /v1/client/presence has the snapshot and the events of the group, with the filters of the reading', async () => {
    await new Presence(project).set('bob', { page: '1' });
    const browser = Browser.of(project, 'ada', 'g');
    using stream = await ClientStream.open(browser, { location: '{"page":"1"}', partial_match: 'true' });
    assert.match(String(stream.headers['content-type']), /^text\/event-stream/);
    const snapshot = await stream.expect('snapshot');
    assert.deepEqual(snapshot, { users: [{ id: 'bob', ephemeral: { locations: [{ page: '1' }] } }] });
    expectDone(await browser.putPresence({ location: { page: '2' } }));
    expectDone(await browser.putPresence({ location: { page: '1', line: '3' } }));
    assert.deepEqual(await stream.expect('arrived'), { id: 'ada', location: { page: '1', line: '3' } });
  });

  test('the stream of /v1/client/presence can be read by the pages that ROLLCALL_CORS_ORIGINS names', async () => {
    const browser = Browser.of(project, 'ada');
    using stream = await ClientStream.open(browser, { groupID: 'g' }, { origin: PAGE });
    assert.equal(stream.headers['access-control-allow-origin'], PAGE);
    assert.equal(stream.headers.vary, 'Origin');
    assert.ok(stream.headers['x-request-id'] !== undefined);
  });

  test('the stream of /v1/client/presence is rejected like the reading for another user or another group', async () => {
    const browser = Browser.of(project, 'ada');
    expectError(await open(browser), 400, 'missing_field', 'groupID');
    expectNotFound(await open(browser, { groupID: 'foreign' }), 'group_not_found', 'foreign');
    expectNotFound(await open(Browser.of(project, 'ada', 'g'), { groupID: 'foreign' }), 'group_not_found');
    expectNotFound(await open(Browser.of(project, 'nobody'), { groupID: 'g' }), 'user_not_found');
    expectError(await open(browser, { groupID: 'g', limit: '1' }), 400, 'invalid_field', 'limit');
    const forged = new Browser(project, jwt({ project_id: project.id, user_id: 'ada', iat: 0 }, 'x'));
    expectTokenFailure(await open(forged, { groupID: 'g' }), 'invalid_project_token');
    const host = new Browser(project, project.token);
    expectTokenFailure(await open(host, { groupID: 'g' }), 'invalid_access_token');
  });

  const ENDS: [what: string, end: (of: Project) => Promise<unknown>, code: string, message: string][] = [
    [
      'the user is set deleted',
      (of) => of.put('/v1/users/ada', { status: 'deleted' }),
      'user_not_found',
      'ada',
    ],
    ['the user is removed', (of) => of.delete('/v1/users/ada'), 'user_not_found', 'ada'],
    [
      'the group is set deleted',
      (of) => of.put('/v1/groups/g', { status: 'deleted' }),
      'group_not_found',
      'g',
    ],
    ['the group is removed', (of) => of.delete('/v1/groups/g'), 'group_not_found', 'g'],
    [
      'the user is taken out',
      (of) => of.post('/v1/groups/g/members', { remove: ['ada'] }),
      'group_not_found',
      'ada',
    ],
    [
      'the members are replaced',
      (of) => of.put('/v1/groups/g', { members: ['bob'] }),
      'group_not_found',
      'ada',
    ],
    [
      'a batch sets the user deleted',
      (of) => of.post('/v1/batch', { users: [{ id: 'ada', status: 'deleted' }] }),
      'user_not_found',
      'ada',
    ],
  ];
  for (const [what, end, code, message] of ENDS) {
    test(`the stream of /v1/client/presence ends at once when ${what}: ${code}`, async () => {
      using stream = await ClientStream.open(Browser.of(project, 'ada', 'g'));
      await stream.expect('snapshot');
      await end(project);
      await stream.expectEnd(code, message);
      assert.equal((await open(Browser.of(project, 'ada', 'g'))).status, 401);
    });
  }

  test('the stream of /v1/client/presence continues when another user leaves', async () => {
    const presence = new Presence(project);
    await presence.set('bob', { page: '1' });
    using stream = await ClientStream.open(Browser.of(project, 'ada', 'g'));
    await stream.expect('snapshot');
    expectDone(await project.put('/v1/users/bob', { status: 'deleted' }));
    assert.equal((await stream.expect('departed')).id, 'bob');
    await presence.set('ada', { page: '2' });
    assert.equal((await stream.expect('arrived')).id, 'ada');
  });
});

describe('an open stream ends with its token', () => {
  const clock = new MovedClock();
  const clocked = clockedServer({ clock });
  const browserOf = (of: Project, claims: object = {}) =>
    new Browser(of, clientToken(of, { user_id: 'ada', group_id: 'g', ...claims }, clock.now()));
  let own: Project;
  beforeEach(async () => {
    own = await clocked.project();
    await seed(own);
  });

  test('an open stream of a client token ends within a minute after the exp of the token', async () => {
    using stream = await ClientStream.open(browserOf(own, { exp: clocked.now() + 60 }));
    await stream.expect('snapshot');
    await new Presence(own).pass(clock, 151);
    await stream.expectEnd('invalid_project_token', 'time');
  });

  test('an open stream of a client token ends at once when its secret is replaced without overlap, or its project is deleted', async () => {
    const rotate = `/v1/projects/${own.id}/rotate-secret`;
    using stream = await ClientStream.open(browserOf(own));
    await stream.expect('snapshot');
    expectOk(await clocked.call(clocked.customerToken(), 'POST', rotate, { overlap_seconds: 0 }));
    await stream.expectEnd('invalid_project_token', 'signed');
    const gone = await clocked.project();
    await seed(gone);
    using other = await ClientStream.open(browserOf(gone));
    await other.expect('snapshot');
    expectDone(await clocked.call(clocked.customerToken(), 'DELETE', `/v1/projects/${gone.id}`));
    await other.expectEnd('project_not_found', gone.id);
  });
});
