import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { rollcallOk } from '../cli/cli-process.ts';
import { expectDone, expectError, expectNotFound, expectOk } from '../support/expect.ts';
import { type Answer, send } from '../support/http-client.ts';
import { jwt, seconds } from '../support/jwt.ts';
import { Presence } from '../support/presence-client.ts';
import { Project } from '../support/project-client.ts';
import { customerHeaders, oneCluster, skip, withinASecond } from './cluster-case.ts';

const INTRO = { page: 'intro' };

describe('a write on one process', { skip }, () => {
  const cluster = oneCluster(2);

  /** A project with ada and bob in the group g, as each of the two processes has it. */
  async function two(): Promise<[Project, Project]> {
    const [here, there] = await cluster.project();
    assert.ok(here !== undefined && there !== undefined);
    await here.seedGroup('g', 'ada', 'bob');
    return [here, there];
  }

  const isRejected = async (answering: Promise<Answer>) => (await answering).status === 401;
  const clientToken = ({ id, secret }: Project) =>
    jwt({ project_id: id, user_id: 'ada', iat: seconds(Date.now()) }, secret);
  const viewer = (project: Project, token: string) =>
    send(project.url, 'GET', '/v1/client/viewer', { headers: { authorization: `Bearer ${token}` } });

  test('groups, users, preferences and presence are read on another process at once', async () => {
    const [here, there] = await two();
    assert.deepEqual(await there.group('g'), await here.group('g'));
    expectDone(await here.put('/v1/users/ada', { name: 'Ada' }));
    assert.equal((await there.user('ada')).name, 'Ada');
    const value = { sendViaMessenger: false };
    expectDone(await here.put('/v1/ada/preferences', { key: 'notification_channels', value }));
    assert.deepEqual(expectOk(await there.get('/v1/users/ada/preferences')), [
      { notification_channels: { sendViaMessenger: false, sendViaEmail: true } },
    ]);
    await new Presence(here).set('ada', INTRO);
    await new Presence(here).set('bob', INTRO, { durable: true });
    const [ada, bob] = await new Presence(there).everyone();
    assert.deepEqual(ada?.ephemeral.locations, [INTRO]);
    assert.deepEqual(bob?.durable?.location, INTRO);
    await new Presence(there).setAbsent('ada', INTRO);
    assert.deepEqual(await new Presence(here).ephemeral(), {});
  });

  test('a presence update on another process moves the user within the exclusive region', async () => {
    const [here, there] = await two();
    const exclusiveWithin = INTRO;
    await new Presence(here).set('ada', { ...INTRO, paragraph: '1' }, { exclusiveWithin });
    await new Presence(there).set('ada', { ...INTRO, paragraph: '2' }, { exclusiveWithin });
    assert.deepEqual(await new Presence(here).locationsOf('ada'), [{ ...INTRO, paragraph: '2' }]);
  });

  test('a pagination token of one process works on another', async () => {
    const [here, there] = await two();
    const first = expectOk<{ users: { id: string }[]; pagination: { token: string } }>(
      await here.get('/v1/groups/g/members?limit=1'),
    );
    const next = expectOk<{ users: { id: string }[]; pagination: { token: null } }>(
      await there.get(`/v1/groups/g/members?limit=1&token=${encodeURIComponent(first.pagination.token)}`),
    );
    assert.deepEqual(
      [...first.users, ...next.users].map(({ id }) => id),
      ['ada', 'bob'],
    );
    assert.equal(next.pagination.token, null);
  });

  test('another process accepts the ETag, and rejects a stale one with 412', async () => {
    const [here, there] = await two();
    const etag = `${(await here.get('/v1/groups/g')).headers.etag}`;
    expectDone(await there.put('/v1/groups/g', { name: 'H' }, { 'if-match': etag }));
    expectError(await here.put('/v1/groups/g', { name: 'I' }, { 'if-match': etag }), 412, 'invalid_request');
  });

  test('a user set deleted on one process is rejected on another, for presence, readings and client tokens', async () => {
    const [here, there] = await two();
    const token = clientToken(here);
    await new Presence(there).set('ada', INTRO);
    assert.equal((await viewer(there, token)).status, 200);
    expectDone(await here.put('/v1/users/ada', { status: 'deleted' }));
    await withinASecond('a deleted user', async () => !('ada' in (await new Presence(there).ephemeral())));
    await withinASecond('a deleted user', () =>
      isRejected(new Presence(there).put('ada', { location: INTRO })),
    );
    await withinASecond('a deleted user', () => isRejected(viewer(there, token)));
    expectDone(await here.put('/v1/users/ada', { status: 'active' }));
    await withinASecond('an active user', async () => 'ada' in (await new Presence(there).ephemeral()));
    await withinASecond('an active user', async () => (await viewer(there, token)).status === 200);
  });

  test('a member removed on one process has no presence on another, and cannot be set present', async () => {
    const [here, there] = await two();
    await new Presence(there).set('ada', INTRO);
    expectDone(await here.post('/v1/groups/g/members', { remove: ['ada'] }));
    await withinASecond('a removed member', async () => !('ada' in (await new Presence(there).ephemeral())));
    expectNotFound(
      await new Presence(there).put('ada', { location: INTRO }),
      'user_not_found',
      'not a member',
    );
    expectDone(await here.post('/v1/groups/g/members', { add: ['ada'] }));
    assert.deepEqual(await new Presence(there).ephemeral(), {}, 'presence came back with the membership');
  });

  test('presence in a group set deleted on one process is rejected on another', async () => {
    const [here, there] = await two();
    await new Presence(there).set('ada', INTRO);
    expectDone(await here.put('/v1/groups/g', { status: 'deleted' }));
    await withinASecond('a deleted group', () =>
      isRejected(new Presence(there).put('ada', { location: INTRO })),
    );
  });

  for (const [how, rotate] of [
    ['by the API', rotateByApi],
    ['by the command line', rotateByCommand],
  ] as const) {
    test(`a secret rotated ${how} on one process ends tokens of the old one on another`, async () => {
      const [here, there] = await two();
      // Both processes have cached the token by now.
      for (const project of [here, there]) assert.equal((await project.get('/v1/groups/g')).status, 200);
      const secret = await rotate(here);
      for (const project of [here, there]) {
        await withinASecond('a rotated secret', () => isRejected(project.get('/v1/groups/g')));
        const renewed = jwt({ project_id: project.id, iat: seconds(Date.now()) }, secret);
        const answer = await project.get('/v1/groups/g', { authorization: `Bearer ${renewed}` });
        assert.equal(answer.status, 200, answer.text);
      }
    });
  }

  async function rotateByApi({ url, id }: Project): Promise<string> {
    const answer = await send(url, 'POST', `/v1/projects/${id}/rotate-secret`, {
      headers: customerHeaders(),
      body: '{"overlap_seconds": 0}',
    });
    return expectOk<{ secret: string }>(answer).secret;
  }

  /** Written directly to the store, so the processes get no message. */
  async function rotateByCommand({ id }: Project): Promise<string> {
    const args = ['project', 'rotate-secret', id, '--overlap-seconds', '0', '--json'];
    const env = { ROLLCALL_DATABASE_URL: cluster.servers.databaseUrl };
    return (JSON.parse(await rollcallOk(args, { env })) as { secret: string }).secret;
  }

  test('an access token issued on one process is accepted on another until it is revoked', async () => {
    const [here, there] = await two();
    const appToken = jwt({ app_id: here.id, iat: seconds(Date.now()) }, here.secret);
    const issued = await send(here.url, 'POST', '/v1/authorize', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ signed_app_token: appToken }),
    });
    const { access_token } = expectOk<{ access_token: string }>(issued);
    const headers = { authorization: `Bearer ${access_token}` };
    assert.equal((await there.get('/v1/groups/g', headers)).status, 200);
    expectDone(await send(here.url, 'DELETE', '/v1/authorize', { headers }));
    await withinASecond('a revoked token', () => isRejected(there.get('/v1/groups/g', headers)));
    expectError(await there.get('/v1/groups/g', headers), 401, 'expired_access_token');
  });

  test('the tokens of a project deleted on one process are rejected on another', async () => {
    const [here, there] = await two();
    await new Presence(there).set('ada', INTRO);
    const answer = await send(here.url, 'DELETE', `/v1/projects/${here.id}`, { headers: customerHeaders() });
    expectDone(answer);
    await withinASecond('a deleted project', () => isRejected(there.get('/v1/groups/g')));
    expectError(await there.get('/v1/groups/g'), 401, 'project_not_found');
  });

  test('a client whose every request goes to another process gets consistent answers', async () => {
    const [here] = await two();
    const balanced = new Project(cluster.running.url, here.id, here.secret, here.token);
    const presence = new Presence(balanced);
    for (const paragraph of ['1', '2', '3', '4', '5']) {
      expectDone(await balanced.put('/v1/groups/g', { name: `G${paragraph}` }));
      assert.equal((await balanced.group('g')).name, `G${paragraph}`);
      await presence.set('ada', { ...INTRO, paragraph }, { exclusiveWithin: INTRO });
      assert.deepEqual(await presence.locationsOf('ada'), [{ ...INTRO, paragraph }]);
    }
    balanced.close();
  });
});
