import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { expectCreated, expectDone, expectError, expectNotFound, expectOk } from '../support/expect.ts';
import type { Answer } from '../support/http-client.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';

const server = oneServer();

const LOCATION = { page: '1' };

/** A project with the user u in the group g. */
async function projectWithGroup(): Promise<Project> {
  const project = await server.project();
  await project.seed({ users: [{ id: 'u', name: 'Ann' }], groups: [{ id: 'g', name: 'G', members: ['u'] }] });
  return project;
}

describe('/v1/organizations names groups', () => {
  test('a group that is written under /v1/organizations is read under /v1/groups, and the reverse', async () => {
    const project = await projectWithGroup();
    expectDone(await project.put('/v1/organizations/o', { name: 'O', metadata: { a: 1 } }), 'created', 'o');
    expectDone(await project.post('/v1/organizations/o/members', { add: ['u'] }));
    const group = await project.group('o');
    assert.deepEqual([group.name, group.metadata, group.members], ['O', { a: 1 }, ['u']]);
    expectDone(await project.put('/v1/groups/o', { name: 'P' }), 'updated group o');
    assert.equal(expectOk<{ name: string }>(await project.get('/v1/organizations/o')).name, 'P');
    expectDone(await project.delete('/v1/organizations/o'), 'deleted', 'o');
    expectNotFound(await project.get('/v1/groups/o'), 'group_not_found');
  });

  for (const path of ['', '/g', '/g/members', '/g/presence']) {
    test(`GET /v1/organizations${path} answers what GET /v1/groups${path} does`, async () => {
      const project = await projectWithGroup();
      expectDone(await project.put('/v1/users/u/presence', { groupID: 'g', location: LOCATION }));
      const [named, alias] = await Promise.all(
        ['groups', 'organizations'].map((noun) => project.get(`/v1/${noun}${path}`)),
      );
      assert.deepEqual(expectOk(alias as Answer), expectOk(named as Answer));
      assert.equal(alias?.headers.etag, named?.headers.etag);
    });
  }

  test('POST /v1/organizations creates, and is 409 for an existing organization', async () => {
    const project = await projectWithGroup();
    expectCreated(await project.post('/v1/organizations', { id: 'o', name: 'O' }), 'o');
    const answer = await project.post('/v1/organizations', { id: 'g', name: 'O' });
    expectError(answer, 409, 'group_already_exists', 'g');
  });

  test('GET /v1/organizations pages through the Link header', async () => {
    const project = await projectWithGroup();
    await project.seed({ groups: [{ id: 'h', name: 'H' }] });
    const first = await project.get('/v1/organizations?limit=1');
    assert.equal(expectOk<unknown[]>(first).length, 1);
    const target = /^<([^>]+)>; rel="next"$/.exec(String(first.headers.link))?.[1];
    const { pathname, search } = new URL(String(target), 'http://host');
    const [last] = expectOk<{ id: string }[]>(await project.get(pathname + search));
    assert.equal(last?.id, 'h');
  });

  test('If-Match works under /v1/organizations too', async () => {
    const project = await projectWithGroup();
    const stale = { 'if-match': '"stale"' };
    const answer = await project.unchanged(() => project.put('/v1/organizations/g', { name: 'O' }, stale));
    expectError(answer, 412, 'invalid_request');
  });

  const missing: [name: string, send: (project: Project) => Promise<Answer>][] = [
    ['GET /v1/organizations/<ID>', (project) => project.get('/v1/organizations/nowhere')],
    ['DELETE /v1/organizations/<ID>', (project) => project.delete('/v1/organizations/nowhere')],
    ['GET …/members', (project) => project.get('/v1/organizations/nowhere/members')],
    ['POST …/members', (project) => project.post('/v1/organizations/nowhere/members', { add: ['u'] })],
    ['GET …/presence', (project) => project.get('/v1/organizations/nowhere/presence')],
    [
      'PUT presence with organizationID',
      (project) => project.put('/v1/users/u/presence', { organizationID: 'nowhere', location: LOCATION }),
    ],
  ];
  for (const [name, send] of missing) {
    test(`${name} of a missing organization is organization_not_found`, async () => {
      const project = await projectWithGroup();
      expectNotFound(await project.unchanged(() => send(project)), 'organization_not_found', 'nowhere');
    });
  }

  test('a missing user under /v1/organizations is user_not_found', async () => {
    const project = await projectWithGroup();
    const answer = await project.put('/v1/organizations/g', { members: ['nobody'] });
    expectNotFound(answer, 'user_not_found', 'nobody');
  });
});

describe('organizationID in a presence body', () => {
  test('organizationID in a presence body names the group', async () => {
    const project = await projectWithGroup();
    expectDone(await project.put('/v1/users/u/presence', { organizationID: 'g', location: LOCATION }));
    const { users } = expectOk<{ users: unknown[] }>(await project.get('/v1/groups/g/presence'));
    assert.deepEqual(users, [{ id: 'u', ephemeral: { locations: [LOCATION] } }]);
    const absence = { organizationID: 'g', location: LOCATION, absent: true };
    expectDone(await project.put('/v1/users/u/presence', absence));
    assert.deepEqual(expectOk<{ users: unknown[] }>(await project.get('/v1/groups/g/presence')).users, []);
  });

  test('a presence update in a deleted organization is organization_not_found', async () => {
    const project = await projectWithGroup();
    expectDone(await project.put('/v1/groups/g', { status: 'deleted' }));
    const answer = await project.put('/v1/users/u/presence', { organizationID: 'g', location: LOCATION });
    expectNotFound(answer, 'organization_not_found', 'g');
  });

  test('organizationID of null or a wrong type is invalid_field; a body without either name is missing_field', async () => {
    const project = await projectWithGroup();
    for (const organizationID of [null, 7, '']) {
      const answer = await project.put('/v1/users/u/presence', { organizationID, location: LOCATION });
      expectError(answer, 400, 'invalid_field', 'organizationID');
    }
    expectError(
      await project.put('/v1/users/u/presence', { location: LOCATION }),
      400,
      'missing_field',
      'groupID',
    );
  });
});
