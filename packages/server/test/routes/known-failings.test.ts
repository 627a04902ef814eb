/** What older systems of this kind got wrong, one test each, named after the failing. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildGroup, buildIds, buildUser } from '../support/build.ts';
import { expectDone, expectNotFound, expectOk, expectRefused } from '../support/expect.ts';
import { type Answer, send } from '../support/http-client.ts';
import { jwt, rsaJwt, seconds } from '../support/jwt.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';

const server = oneServer();

const PRESENCE = { groupID: 'g', location: { page: '1' } };

/** A project with the user u in the group g. */
async function projectWithBoth(): Promise<Project> {
  const project = await server.project();
  await project.seed({ users: [{ id: 'u', name: 'Ann' }], groups: [{ id: 'g', name: 'G', members: ['u'] }] });
  return project;
}

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n));

describe('states', () => {
  test('updating the name of a deleted group does not reactivate it', async () => {
    const project = await projectWithBoth();
    expectDone(await project.put('/v1/groups/g', { status: 'deleted' }));
    expectDone(await project.put('/v1/groups/g', { name: 'Renamed' }));
    await project.seed({ groups: [{ id: 'g', name: 'Renamed again' }] });
    const { name, status } = await project.group('g');
    assert.deepEqual([name, status], ['Renamed again', 'deleted']);
    expectNotFound(await project.put('/v1/users/u/presence', PRESENCE), 'group_not_found', 'g');
  });

  test('deleted is not ignored for users and groups that a batch creates', async () => {
    const project = await server.project();
    await project.seed({
      users: [{ id: 'u', status: 'deleted' }],
      groups: [{ id: 'g', name: 'G', status: 'deleted', members: ['u'] }],
    });
    assert.equal((await project.user('u')).status, 'deleted');
    assert.equal((await project.group('g')).status, 'deleted');
  });

  test('a preference write does not lose the other channel', async () => {
    const project = await projectWithBoth();
    const write = (value: object) =>
      project.put('/v1/u/preferences', { key: 'notification_channels', value });
    expectDone(await write({ sendViaMessenger: false }));
    expectDone(await write({ sendViaEmail: false }));
    expectDone(await write({ sendViaEmail: true }));
    assert.deepEqual(expectOk(await project.get('/v1/users/u/preferences')), [
      { notification_channels: { sendViaMessenger: false, sendViaEmail: true } },
    ]);
  });

  test('repeated IDs in a member list are not refused', async () => {
    const project = await projectWithBoth();
    expectDone(await project.put('/v1/groups/g', { members: ['u', 'u'] }));
    expectDone(await project.put('/v1/groups/h', { name: 'H', members: ['u', 'u'] }));
    expectDone(await project.post('/v1/groups/h/members', { add: ['u', 'u'] }));
    await project.seed({ groups: [{ id: 'i', name: 'I', members: ['u', 'u'] }] });
    for (const id of ['g', 'h', 'i']) assert.deepEqual((await project.group(id)).members, ['u']);
    expectDone(await project.post('/v1/groups/h/members', { remove: ['u', 'u'] }));
    assert.deepEqual((await project.group('h')).members, []);
  });
});

describe('load', () => {
  test('twenty racing creations of one group are all answered well, and one of them created it', async () => {
    const project = await server.project();
    const answers = await Promise.all(times(20, () => project.put('/v1/groups/g', { name: 'G' })));
    for (const answer of answers) expectDone(answer);
    const created = answers.filter((answer) => answer.text.includes('created group g'));
    assert.equal(created.length, 1);
  });

  test('racing batches do not deadlock', async () => {
    const project = await server.project();
    const ids = buildIds('x', 30);
    const answers = await Promise.all(
      times(16, (n) => {
        const order = n % 2 === 0 ? ids : ids.toReversed();
        const groups = order.map((id) => ({ id, name: `by ${n}`, members: order.slice(n) }));
        return project.post('/v1/batch', { users: order.map((id) => ({ id, name: `by ${n}` })), groups });
      }),
    );
    for (const answer of answers) expectOk(answer);
  });

  test('sixty creations at once exhaust nothing: all are done, and the server answers as before', async () => {
    const project = await server.project();
    const answers = await Promise.all(times(60, (n) => project.put(`/v1/groups/g${n}`, { name: `G ${n}` })));
    for (const [n, answer] of answers.entries()) expectDone(answer, `created group g${n}`);
    assert.equal((await project.groups()).length, 60);
  });

  test('the documented largest batch is done', async () => {
    const project = await server.project();
    const users = buildIds('u', 10_000);
    const groups = buildIds('g', 1_000).map((id, n) => {
      const members = times(100, (m) => users[(n * 97 + m * 101) % users.length] as string);
      return buildGroup({ id, members });
    });
    const body = { users: users.map((id) => buildUser({ id })), groups };
    const done = expectOk<{ users: { created: number }; groups: { created: number } }>(
      await project.post('/v1/batch', body),
    );
    assert.deepEqual([done.users.created, done.groups.created], [10_000, 1_000]);
    for (const { id, members = [] } of groups.filter((_, n) => n % 250 === 0)) {
      assert.deepEqual((await project.group(id)).members, members.toSorted());
    }
  });
});

describe('bad input is the contract’s refusal and not an error of the server', () => {
  test('a missing groupID', async () => {
    const project = await projectWithBoth();
    const answer = await project.put('/v1/users/u/presence', { location: { page: '1' } });
    expectRefused(answer, 400, 'missing_field', 'groupID');
    expectRefused(await project.get('/v1/users/u/presence'), 400, 'missing_field', 'groupID');
  });

  test('limit=-1', async () => {
    const project = await projectWithBoth();
    for (const path of ['groups', 'users', 'groups/g/members', 'users/u/groups', 'groups/g/presence']) {
      expectRefused(await project.get(`/v1/${path}?limit=-1`), 400, 'invalid_field', 'limit');
    }
  });

  test('a well-formed foreign token in the Authorization header', async () => {
    const project = await projectWithBoth();
    const iat = seconds(Date.now());
    const foreign: [token: string, code: string][] = [
      [jwt({ sub: 'u', iss: 'https://elsewhere.example', iat }, 'their secret'), 'invalid_access_token'],
      [rsaJwt({ sub: 'u', iss: 'https://elsewhere.example', iat }), 'invalid_access_token'],
      [jwt({ project_id: 'theirs', iat }, 'their secret'), 'project_not_found'],
      [jwt({ app_id: 'theirs', iat }, 'their secret'), 'application_not_found'],
      [jwt({ project_id: project.id, iat }, 'their secret'), 'invalid_project_token'],
      [jwt({ customer_id: 'theirs', iat }, 'their secret'), 'invalid_access_token'],
      [jwt({}, 'their secret'), 'invalid_access_token'],
    ];
    for (const [token, code] of foreign) {
      const answer = await project.get('/v1/groups', { authorization: `Bearer ${token}` });
      assert.deepEqual([answer.status, answer.json<{ error: string }>().error], [401, code], answer.text);
    }
  });

  test('a well-formed foreign token of a page', async () => {
    const project = await projectWithBoth();
    const foreign = [
      'dQ',
      'eyJsYXN0IjoidSJ9',
      '0',
      Buffer.from('{"after":"u"}').toString('base64'),
      project.token,
    ];
    for (const path of ['groups', 'users', 'groups/g/members', 'users/u/groups', 'groups/g/presence']) {
      for (const token of foreign) {
        const answer = await project.get(`/v1/${path}?token=${encodeURIComponent(token)}`);
        expectRefused(answer, 400, 'invalid_field', 'token');
      }
    }
  });

  test('a malformed percent-escape in a path or a query', async () => {
    const project = await projectWithBoth();
    const paths = [
      'groups/%',
      'groups/%zz',
      'groups/%E0%A4%A',
      'users/%ff',
      'groups/%/members',
      'users/%C3%28/presence?groupID=g',
    ];
    for (const path of paths) expectRefused(await project.get(`/v1/${path}`), 400, 'invalid_field');
    for (const path of [
      'groups?limit=%',
      'groups?token=%zz',
      'users?limit=%E0%A4',
      'groups/g/members?token=%ff',
    ]) {
      expectRefused(await project.get(`/v1/${path}`), 400, 'invalid_field');
    }
    expectRefused(await project.put('/v1/%/preferences', {}), 400, 'invalid_field');
  });
});

describe('values', () => {
  test('a NUL is refused or kept, never stored as something else', async () => {
    const project = await projectWithBoth();
    await project.unchanged(async () => {
      const nul = 'a\u0000b';
      expectRefused(await project.put('/v1/groups/g', { name: nul }), 400, 'invalid_field', 'name');
      expectRefused(
        await project.put('/v1/groups/g', { members: [nul] }),
        400,
        'invalid_field',
        'members[0]',
      );
      expectRefused(await project.put('/v1/groups/a%00b', { name: 'G' }), 400, 'invalid_field');
      for (const field of ['name', 'short_name', 'email', 'profile_picture_url']) {
        const value = field === 'email' ? `${nul}@example.com` : field === 'name' ? nul : `http://a/${nul}`;
        expectRefused(await project.put('/v1/users/u', { [field]: value }), 400, 'invalid_field', field);
        const users = [{ id: 'u', [field]: value }];
        expectRefused(await project.post('/v1/batch', { users }), 400, 'invalid_field', `users[0].${field}`);
      }
    });
    const metadata = { 'k\u0000': 'v\u0000' };
    expectDone(await project.put('/v1/groups/g', { metadata }));
    assert.deepEqual((await project.group('g')).metadata, metadata);
    const location = { 'k\u0000': 'v\u0000' };
    const answer = await project.put('/v1/users/u/presence', { groupID: 'g', location });
    if (answer.status === 200) {
      const { ephemeral } = expectOk<{ ephemeral: unknown }>(
        await project.get('/v1/users/u/presence?groupID=g'),
      );
      assert.deepEqual(ephemeral, { locations: [location] });
    } else {
      expectRefused(answer, 400, 'invalid_field', 'location');
    }
  });

  test('a token issued an hour in the future is not accepted', async () => {
    const { id, secret, url } = await server.project();
    const hence = seconds(Date.now()) + 3_600;
    for (const claims of [{ iat: hence }, { iat: hence, exp: hence + 60 }, { exp: hence, nbf: hence - 60 }]) {
      const project = jwt({ project_id: id, ...claims }, secret);
      const headers = { authorization: `Bearer ${project}` };
      expectRefused(await send(url, 'GET', '/v1/groups', { headers }), 401, 'invalid_project_token');
      const customer = jwt(
        { customer_id: server.running.customerId, ...claims },
        server.running.customerSecret,
      );
      const answer = await send(url, 'GET', '/v1/projects', {
        headers: { authorization: `Bearer ${customer}` },
      });
      expectRefused(answer, 401, 'invalid_customer_token');
    }
  });

  test('the same missing group is the same refusal on every route', async () => {
    const project = await projectWithBoth();
    const missing = { groupID: 'nowhere', location: { page: '1' } };
    const routes: (() => Promise<Answer>)[] = [
      () => project.get('/v1/groups/nowhere'),
      () => project.delete('/v1/groups/nowhere'),
      () => project.get('/v1/groups/nowhere/members'),
      () => project.post('/v1/groups/nowhere/members', { add: ['u'] }),
      () => project.post('/v1/groups/nowhere/members', {}),
      () => project.get('/v1/groups/nowhere/presence'),
      () => project.put('/v1/users/u/presence', missing),
      () => project.put('/v1/users/u/presence', { ...missing, durable: true }),
      () => project.put('/v1/users/u/presence', { ...missing, absent: true }),
      () => project.get('/v1/users/u/presence?groupID=nowhere'),
    ];
    for (const route of routes) expectNotFound(await project.unchanged(route), 'group_not_found', 'nowhere');
  });

  test('the same missing user is the same refusal on every route', async () => {
    const project = await projectWithBoth();
    const preference = { key: 'notification_channels', value: {} };
    const routes: (() => Promise<Answer>)[] = [
      () => project.get('/v1/users/nobody'),
      () => project.delete('/v1/users/nobody'),
      () => project.get('/v1/users/nobody/groups'),
      () => project.get('/v1/users/nobody/preferences'),
      () => project.put('/v1/nobody/preferences', preference),
      () => project.put('/v1/users/nobody/preferences', preference),
      () => project.put('/v1/users/nobody/presence', PRESENCE),
      () => project.get('/v1/users/nobody/presence?groupID=g'),
      () => project.put('/v1/groups/g', { members: ['nobody'] }),
      () => project.post('/v1/groups/g/members', { add: ['nobody'] }),
      () => project.post('/v1/batch', { groups: [{ id: 'g', members: ['nobody'] }] }),
    ];
    for (const route of routes) expectNotFound(await project.unchanged(route), 'user_not_found', 'nobody');
  });
});
