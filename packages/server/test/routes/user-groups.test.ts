import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildGroup, buildIds } from '../support/build.ts';
import { expectDone, expectError, expectNotFound, expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import type { PageInfo, Project } from '../support/project-client.ts';

const server = oneServer();

type UserGroups = { groups: { id: string; name: string; status: string }[]; pagination: PageInfo };

/** A project with the user u in the groups a, b (deleted) and c, and not in d. */
async function projectWithGroups(): Promise<Project> {
  const project = await server.project();
  await project.seed({
    users: [{ id: 'u' }, { id: 'v' }],
    groups: [
      { id: 'c', name: 'Cc', members: ['u', 'v'] },
      { id: 'a', name: 'Aa', members: ['u'] },
      { id: 'b', name: 'Bb', members: ['u'], status: 'deleted' },
      { id: 'd', name: 'Dd', members: ['v'] },
    ],
  });
  return project;
}

const groupsOf = async (project: Project, query = '') =>
  expectOk<UserGroups>(await project.get(`/v1/users/u/groups${query}`));
const idsOf = ({ groups }: UserGroups) => groups.map(({ id }) => id);

describe('GET /v1/users/<ID>/groups', () => {
  test('GET /v1/users/<ID>/groups answers exactly id, name and status of each group, deleted ones too, and the pagination', async () => {
    const project = await projectWithGroups();
    assert.deepEqual(await groupsOf(project), {
      groups: [
        { id: 'a', name: 'Aa', status: 'active' },
        { id: 'b', name: 'Bb', status: 'deleted' },
        { id: 'c', name: 'Cc', status: 'active' },
      ],
      pagination: { token: null, total: 3 },
    });
  });

  test('GET /v1/users/<ID>/groups of a user of no group is an empty list', async () => {
    const project = await server.projectWithUsers('u');
    assert.deepEqual(await groupsOf(project), { groups: [], pagination: { token: null, total: 0 } });
  });

  test('GET /v1/users/<ID>/groups shows every way to become and stop being a member', async () => {
    const project = await projectWithGroups();
    expectDone(await project.post('/v1/groups/d/members', { add: ['u'] }));
    expectDone(await project.post('/v1/groups/a/members', { remove: ['u'] }));
    assert.deepEqual(idsOf(await groupsOf(project)), ['b', 'c', 'd']);
    expectDone(await project.put('/v1/groups/c', { members: ['v'] }));
    expectDone(await project.delete('/v1/groups/b'));
    assert.deepEqual(idsOf(await groupsOf(project)), ['d']);
    await project.seed({ groups: [{ id: 'e', name: 'Ee', members: ['u'] }] });
    assert.deepEqual((await groupsOf(project)).pagination, { token: null, total: 2 });
  });

  test('a user with status deleted still has groups', async () => {
    const project = await projectWithGroups();
    expectDone(await project.put('/v1/users/u', { status: 'deleted' }));
    assert.deepEqual(idsOf(await groupsOf(project)), ['a', 'b', 'c']);
  });

  test('GET /v1/users/<ID>/groups has pages with limit and token', async () => {
    const project = await projectWithGroups();
    const first = await groupsOf(project, '?limit=2');
    assert.deepEqual([idsOf(first), first.pagination.total], [['a', 'b'], 3]);
    const token = encodeURIComponent(String(first.pagination.token));
    const rest = await groupsOf(project, `?limit=2&token=${token}`);
    assert.deepEqual([idsOf(rest), rest.pagination], [['c'], { token: null, total: 3 }]);
  });

  test('the default page of GET /v1/users/<ID>/groups is 1,000 groups', async () => {
    const project = await server.project();
    const ids = buildIds('g', 1_001);
    const groups = ids.map((id) => buildGroup({ id, members: ['u'] }));
    await project.seed({ users: [{ id: 'u' }], groups: groups.slice(0, 1_000) });
    await project.seed({ groups: groups.slice(1_000) });
    const first = await groupsOf(project);
    assert.deepEqual([idsOf(first), first.pagination.total], [ids.slice(0, 1_000), 1_001]);
    const last = await groupsOf(project, `?token=${encodeURIComponent(String(first.pagination.token))}`);
    assert.deepEqual([idsOf(last), last.pagination.token], [ids.slice(1_000), null]);
  });

  test('GET /v1/users/<ID>/groups of a missing user is user_not_found', async () => {
    const project = await projectWithGroups();
    expectNotFound(await project.get('/v1/users/nobody/groups'), 'user_not_found', 'nobody');
  });

  test('GET /v1/users/<ID>/groups with an unknown query parameter is unexpected_field, and the message lists the expected ones', async () => {
    const project = await projectWithGroups();
    const answer = await project.get('/v1/users/u/groups?status=active');
    expectError(answer, 400, 'unexpected_field', 'status', 'limit', 'token');
  });
});
