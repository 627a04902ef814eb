import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Browser } from '../support/browser.ts';
import { buildGroup, buildIds } from '../support/build.ts';
import { projectWithThread, threadPath, write } from '../support/conversation.ts';
import { expectDone, expectError, expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import { LISTS, tokenOf, withToken } from '../support/paged-lists.ts';
import type { PageInfo, Project } from '../support/project-client.ts';

const server = oneServer();

const SEVEN = buildIds('e', 7);

for (const list of LISTS) {
  describe(`a token of ${list.name}`, () => {
    test(`a page token of ${list.name} continues also when the entries before and after it are gone`, async () => {
      const project = await server.project();
      await list.add(project, SEVEN);
      const token = await tokenOf(project, list);
      for (const id of SEVEN.slice(0, 2)) expectOk(await list.remove(project, id));
      assert.deepEqual(list.read(await withToken(project, list, token), list.path).ids, SEVEN.slice(2, 3));
    });

    test(`a page token of ${list.name} can be used again and with another limit`, async () => {
      const project = await server.project();
      await list.add(project, SEVEN);
      const token = encodeURIComponent(await tokenOf(project, list));
      for (const limit of [6, 2, 6]) {
        const path = `${list.path}?limit=${limit}&token=${token}`;
        assert.deepEqual(list.read(await list.get(project, path), path).ids, SEVEN.slice(1, 1 + limit));
      }
    });

    test(`a text that is no page token of ${list.name} is invalid_field`, async () => {
      const project = await server.project();
      await list.add(project, SEVEN);
      const wrong = [
        '',
        'e1',
        'null',
        '%00',
        'e30=',
        'AAAAAAAAAAAAAAAA',
        '..',
        '%F0%9F%98%80',
        'A'.repeat(4_000),
        '0',
        'dQ',
        'eyJsYXN0IjoidSJ9',
        'eyJhZnRlciI6InUifQ==',
        encodeURIComponent('{}'),
        project.token,
      ];
      for (const token of wrong) {
        const answer = await list.get(project, `${list.path}?token=${token}`);
        expectError(answer, 400, 'invalid_field', 'token');
      }
      const token = encodeURIComponent(await tokenOf(project, list));
      const twice = await list.get(project, `${list.path}?token=${token}&token=${token}`);
      expectError(twice, 400, 'invalid_field', 'token');
    });

    test(`a page token of another project is invalid_field for ${list.name}`, async () => {
      const [project, other] = await Promise.all([server.project(), server.project()]);
      await Promise.all([list.add(project, SEVEN), list.add(other, SEVEN)]);
      const token = await tokenOf(other, list);
      assert.equal((await withToken(other, list, token)).status, 200);
      expectError(await withToken(project, list, token), 400, 'invalid_field', 'token');
    });

    test(`a page token of another list is invalid_field for ${list.name}`, async () => {
      const project = await server.project();
      for (const each of LISTS) await each.add(project, SEVEN);
      for (const other of LISTS.filter((each) => each !== list)) {
        const token = await tokenOf(project, other);
        expectError(await withToken(project, list, token), 400, 'invalid_field', 'token');
      }
    });

    test(`a page token of ${list.name} with any character changed, added or removed is invalid_field`, async () => {
      const project = await server.project();
      await list.add(project, SEVEN);
      const token = await tokenOf(project, list);
      const changed = [...token].map((character, index) => {
        const other = character === 'A' ? 'B' : 'A';
        return token.slice(0, index) + other + token.slice(index + 1);
      });
      const answers = await Promise.all(
        [...changed, `${token}A`, token.slice(0, -1), token.slice(1)].map((each) =>
          withToken(project, list, each),
        ),
      );
      for (const answer of answers) expectError(answer, 400, 'invalid_field', 'token');
    });
  });
}

describe('a token is of one list', () => {
  test('a page token of the members of one group is not one of another group', async () => {
    const project = await server.projectWithUsers(...SEVEN);
    await project.seed({ groups: ['g', 'h'].map((id) => buildGroup({ id, members: SEVEN })) });
    const page = expectOk<{ pagination: PageInfo }>(await project.get('/v1/groups/g/members?limit=2'));
    const token = encodeURIComponent(String(page.pagination.token));
    expectOk(await project.get(`/v1/groups/g/members?token=${token}`));
    expectError(await project.get(`/v1/groups/h/members?token=${token}`), 400, 'invalid_field', 'token');
  });

  test('a page token of the groups of one user is not one of another user', async () => {
    const project = await server.projectWithUsers('u', 'v');
    await project.seed({ groups: SEVEN.map((id) => buildGroup({ id, members: ['u', 'v'] })) });
    const page = expectOk<{ pagination: PageInfo }>(await project.get('/v1/users/u/groups?limit=2'));
    const token = encodeURIComponent(String(page.pagination.token));
    expectOk(await project.get(`/v1/users/u/groups?token=${token}`));
    expectError(await project.get(`/v1/users/v/groups?token=${token}`), 400, 'invalid_field', 'token');
  });

  const tokenAt = async (project: Project, path: string) => {
    const page = expectOk<{ pagination: PageInfo }>(await project.get(path));
    return encodeURIComponent(String(page.pagination.token));
  };

  test('a page token of the messages of one thread is not one of another thread', async () => {
    const project = await projectWithThread(server);
    expectDone(await project.put(threadPath('other'), { groupID: 'g', name: 'O' }));
    for (const thread of ['t', 'other'])
      for (const id of ['m', 'n']) expectDone(await write(project, thread, id));
    const token = await tokenAt(project, '/v1/threads/t/messages?limit=1');
    expectOk(await project.get(`/v1/threads/t/messages?token=${token}`));
    const ofUser = Browser.of(project, 'u');
    expectOk(await ofUser.get(`/v1/client/threads/t/messages?token=${token}`));
    for (const answer of [
      await project.get(`/v1/threads/other/messages?token=${token}`),
      await ofUser.get(`/v1/client/threads/other/messages?token=${token}`),
    ])
      expectError(answer, 400, 'invalid_field', 'token');
  });

  test('a page token of messages in one order is not one of the other order', async () => {
    const project = await projectWithThread(server);
    for (const id of ['m', 'n', 'o']) expectDone(await write(project, 't', id));
    const at = (order: string) => `/v1/threads/t/messages?limit=1&order=${order}`;
    for (const [order, other] of [
      ['ascending', 'descending'],
      ['descending', 'ascending'],
    ] as const) {
      const token = await tokenAt(project, at(order));
      const page = expectOk<{ messages: { id: string }[] }>(await project.get(`${at(order)}&token=${token}`));
      assert.deepEqual(
        page.messages.map(({ id }) => id),
        ['n'],
      );
      expectError(await project.get(`${at(other)}&token=${token}`), 400, 'invalid_field', 'token');
    }
    const token = await tokenAt(project, at('ascending'));
    expectOk(await project.get(`/v1/threads/t/messages?token=${token}`));
  });

  test('a page token of threads is not one of another group or another filter', async () => {
    const project = await projectWithThread(server);
    for (const [groupID, id] of [
      ['g', 'g2'],
      ['h', 'h1'],
      ['h', 'h2'],
    ])
      expectDone(await project.put(threadPath(String(id)), { groupID, name: 'T' }));
    const token = await tokenAt(project, '/v1/threads?groupID=g&limit=1');
    const ofUser = Browser.of(project, 'u');
    expectOk(await project.get(`/v1/threads?groupID=g&token=${token}`));
    expectOk(await ofUser.get(`/v1/client/threads?groupID=g&token=${token}`));
    for (const query of [
      'groupID=h',
      'groupID=g&resolved=false',
      'groupID=g&location=%7B%22page%22:%221%22%7D',
    ]) {
      const path = `threads?${query}&token=${token}`;
      expectError(await project.get(`/v1/${path}`), 400, 'invalid_field', 'token');
      expectError(await ofUser.get(`/v1/client/${path}`), 400, 'invalid_field', 'token');
    }
  });
});
