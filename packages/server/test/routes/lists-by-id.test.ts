import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { expectError, expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import type { UserPage } from '../support/project-client.ts';

const server = oneServer();

describe('lists by ID', () => {
  test('GET /v1/users?id= answers the users with these IDs and leaves out unknown ones', async () => {
    const project = await server.projectWithUsers('ada', 'bob', 'cid');
    const page = expectOk<UserPage>(await project.get('/v1/users?id=cid&id=none&id=ada&id=cid'));
    assert.deepEqual(page, {
      users: [await project.user('ada'), await project.user('cid')],
      pagination: { token: null, total: 2 },
    });
    const one = expectOk<UserPage>(await project.get('/v1/users?id=bob'));
    assert.deepEqual(
      one.users.map(({ id }) => id),
      ['bob'],
    );
  });

  test('GET /v1/groups?id= answers the groups with these IDs and leaves out unknown ones', async () => {
    const project = await server.project();
    await project.seed({ groups: ['a', 'b', 'c'].map((id) => ({ id, name: id })) });
    const all = await project.groups();
    assert.deepEqual(
      expectOk(await project.get('/v1/groups?id=c&id=none&id=a')),
      all.filter(({ id }) => id !== 'b'),
    );
    assert.deepEqual(expectOk(await project.get('/v1/groups?id=none')), []);
  });

  test('more than 100 IDs, an ID that is none, and a page of a list by ID are rejected with invalid_field', async () => {
    const project = await server.project();
    const ids = (count: number) => Array.from({ length: count }, (_, index) => `id=u${index}`).join('&');
    expectOk(await project.get(`/v1/users?${ids(100)}`));
    for (const list of ['users', 'groups']) {
      for (const query of [ids(101), 'id=', 'id=a&limit=5', 'id=a&token=x'])
        expectError(await project.get(`/v1/${list}?${query}`), 400, 'invalid_field');
    }
  });
});
