import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { MemberList, Static, Viewer } from '@rollcall/protocol';
import { Browser, clientToken } from '../support/browser.ts';
import { buildIds } from '../support/build.ts';
import { expectDone, expectError, expectNotFound, expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import { type Project, segment } from '../support/project-client.ts';

const server = oneServer();
let project: Project;

beforeEach(async () => {
  project = await server.project();
  await project.seed({
    users: [{ id: 'ada', name: 'Ada', email: 'ada@example.com', metadata: { a: 1 } }, { id: 'bob' }],
    groups: [
      { id: 'open', name: 'Open', members: ['ada', 'bob'] },
      { id: 'closed', name: 'Closed', status: 'deleted', members: ['ada'] },
      { id: 'other', name: 'Other', members: ['bob'] },
    ],
  });
});

const groupsOf = async (browser: Browser) => expectOk<Viewer>(await browser.viewer()).groups;

describe('GET /v1/client/viewer', () => {
  test('GET /v1/client/viewer answers the user as GET /v1/users/<ID> does, with the active groups of the user', async () => {
    const viewer = expectOk<Viewer>(await Browser.of(project, 'ada').viewer());
    assert.deepEqual(viewer, { user: await project.user('ada'), groups: [{ id: 'open', name: 'Open' }] });
  });

  test('GET /v1/client/viewer has the one group that the token names, by group_id or organization_id', async () => {
    await project.seed({ groups: [{ id: 'second', name: 'Second', members: ['ada'] }] });
    assert.deepEqual(await groupsOf(Browser.of(project, 'ada', 'second')), [
      { id: 'second', name: 'Second' },
    ]);
    const token = clientToken(project, { user_id: 'ada', organization_id: 'second' });
    assert.deepEqual(await groupsOf(new Browser(project, token)), [{ id: 'second', name: 'Second' }]);
  });

  test('GET /v1/client/viewer finds the group of the token between neighbours, whatever its ID', async () => {
    const ids = [
      'a',
      'a!',
      'aa',
      'ab',
      'a/b',
      'a b',
      ' ',
      '  ',
      'é',
      'e\u0301',
      '🙂',
      '🙂🙂',
      '\uff5e',
      '\u{10000}',
    ];
    await project.seed({ groups: ids.map((id) => ({ id, name: `Name of ${id}`, members: ['ada'] })) });
    for (const id of ids) {
      assert.deepEqual(await groupsOf(Browser.of(project, 'ada', id)), [{ id, name: `Name of ${id}` }]);
    }
  });

  test('GET /v1/client/viewer streams the groups of a user who is in many, without deleted ones', async () => {
    const ids = buildIds('many-', 1_100);
    const groups = ids.map((id, index) => ({
      id,
      name: id,
      members: ['bob'],
      ...(index % 2 === 1 && { status: 'deleted' as const }),
    }));
    await project.seed({ groups: groups.slice(0, 1_000) });
    await project.seed({ groups: groups.slice(1_000) });
    const shown = (await groupsOf(Browser.of(project, 'bob'))).map(({ id }) => id);
    assert.deepEqual(shown, [...ids.filter((_, index) => index % 2 === 0), 'open', 'other'].sort());
  });

  test('GET /v1/client/viewer has an empty list of groups for a user who is in none', async () => {
    await project.seedUsers('loner');
    assert.deepEqual(await groupsOf(Browser.of(project, 'loner')), []);
  });

  test('GET /v1/client/viewer shows changes of the user and the groups, without another login', async () => {
    const browser = Browser.of(project, 'ada');
    assert.deepEqual(await groupsOf(browser), [{ id: 'open', name: 'Open' }]);
    await project.put('/v1/groups/closed', { status: 'active' });
    expectDone(await project.post('/v1/groups/open/members', { remove: ['ada'] }));
    assert.deepEqual(await groupsOf(browser), [{ id: 'closed', name: 'Closed' }]);
  });

  test('GET /v1/client/viewer accepts no query parameter and no other method', async () => {
    const browser = Browser.of(project, 'ada');
    expectError(await browser.get('/v1/client/viewer?deep=1'), 400, 'unexpected_field', 'deep');
    const answer = await browser.put('/v1/client/viewer', {});
    expectError(answer, 405, 'invalid_request');
    assert.equal(answer.headers.allow, 'GET, HEAD');
  });
});

describe('logging in', () => {
  test('a login as a deleted or unknown user is user_not_found, also on an open session', async () => {
    const browser = Browser.of(project, 'ada', 'open');
    expectOk(await browser.viewer());
    expectDone(await project.put('/v1/users/ada', { status: 'deleted' }));
    for (const answer of [
      await browser.viewer(),
      await browser.putPresence({}),
      await browser.get('/v1/client/groups/open/members'),
    ]) {
      expectNotFound(answer, 'user_not_found', 'ada', 'deleted');
    }
    expectDone(await project.put('/v1/users/ada', { status: 'active' }));
    expectOk(await browser.viewer());
    expectDone(await project.delete('/v1/users/ada'));
    expectNotFound(await browser.viewer(), 'user_not_found', 'ada');
    expectNotFound(await Browser.of(project, 'nobody').viewer(), 'user_not_found', 'nobody');
  });

  test('a deleted or unknown user is user_not_found also where the request names a group that the token does not open', async () => {
    expectDone(await project.put('/v1/users/ada', { status: 'deleted' }));
    for (const user of ['ada', 'nobody']) {
      const browser = Browser.of(project, user, 'open');
      for (const answer of [
        await browser.putPresence({ groupID: 'other' }),
        await browser.putPresence({ groupID: 'other', durable: true }),
        await browser.get('/v1/client/groups/other/members'),
        await browser.get('/v1/client/presence?groupID=other', { accept: 'text/event-stream' }),
        await browser.get('/v1/client/threads?groupID=other'),
        await browser.post('/v1/client/threads', { groupID: 'other', name: 'T' }),
      ]) {
        expectNotFound(answer, 'user_not_found', user);
      }
    }
  });

  test('a login to a group that is set deleted, removed or left is group_not_found, also on an open session', async () => {
    const browser = Browser.of(project, 'ada', 'open');
    const rejected = async () => {
      expectNotFound(await browser.viewer(), 'group_not_found', 'open');
      expectNotFound(await browser.putPresence({}), 'group_not_found', 'open');
      expectNotFound(await browser.get('/v1/client/groups/open/members'), 'group_not_found', 'open');
    };
    expectOk(await browser.viewer());
    expectDone(await project.put('/v1/groups/open', { status: 'deleted' }));
    await rejected();
    expectDone(await project.put('/v1/groups/open', { status: 'active' }));
    expectOk(await browser.viewer());
    expectDone(await project.post('/v1/groups/open/members', { remove: ['ada'] }));
    await rejected();
    expectDone(await project.delete('/v1/groups/open'));
    await rejected();
  });

  test('a login to an organization that does not exist is organization_not_found', async () => {
    const token = clientToken(project, { user_id: 'ada', organization_id: 'other' });
    const browser = new Browser(project, token);
    expectNotFound(await browser.viewer(), 'organization_not_found', 'organization other');
    expectNotFound(await browser.putPresence({}), 'organization_not_found', 'other');
  });

  test('a login has the same group_not_found for a group of others as for one that does not exist', async () => {
    const message = async (id: string) =>
      expectNotFound(await Browser.of(project, 'ada', id).viewer(), 'group_not_found').replace(id, '…');
    assert.equal(await message('other'), await message('nowhere'));
  });
});

describe('GET /v1/client/groups/<ID>/members', () => {
  const list = (browser: Browser, id: string, query = '') =>
    browser.get(`/v1/client/groups/${segment(id)}/members${query}`);

  test('GET /v1/client/groups/<ID>/members answers the members as the host sees them, in pages', async () => {
    const browser = Browser.of(project, 'ada');
    const whole = expectOk(await list(browser, 'open'));
    assert.deepEqual(whole, expectOk(await project.get('/v1/groups/open/members')));
    const first = expectOk<Static<typeof MemberList>>(await list(browser, 'open', '?limit=1'));
    assert.deepEqual(first.users, [{ id: 'ada', name: 'Ada', email: 'ada@example.com' }]);
    const token = String(first.pagination.token);
    const second = expectOk<Static<typeof MemberList>>(
      await list(browser, 'open', `?limit=1&token=${token}`),
    );
    assert.deepEqual(second, {
      users: [{ id: 'bob', name: null, email: null }],
      pagination: { token: null, total: 2 },
    });
    expectError(await list(browser, 'open', '?token=x'), 400, 'invalid_field', 'token');
    expectError(await list(browser, 'open', '?limit=0'), 400, 'invalid_field', 'limit');
  });

  test('GET /v1/client/groups/<ID>/members is group_not_found for a group that the user is not in, or that is set deleted', async () => {
    const browser = Browser.of(project, 'ada');
    for (const id of ['other', 'closed', 'nowhere'])
      expectNotFound(await list(browser, id), 'group_not_found', id);
  });

  test('GET /v1/client/groups/<ID>/members is group_not_found for another group than the token names, though the user is in it', async () => {
    await project.seed({ groups: [{ id: 'second', name: 'Second', members: ['ada'] }] });
    const browser = Browser.of(project, 'ada', 'open');
    expectOk(await list(browser, 'open'));
    expectNotFound(await list(browser, 'second'), 'group_not_found', 'second');
  });
});
