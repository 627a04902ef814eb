import assert from 'node:assert/strict';
import { get, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import type { Member } from '@rollcall/protocol';
import { buildIds } from '../support/build.ts';
import { expectDone, expectError, expectNotFound, expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import type { PageInfo, Project } from '../support/project-client.ts';

const server = oneServer();

type MemberPage = { users: Member[]; pagination: PageInfo };

/** A project with the users a to e and the group g of a and b. */
async function projectWithMembers(): Promise<Project> {
  const project = await server.projectWithUsers('a', 'b', 'c', 'd', 'e');
  await project.seed({ groups: [{ id: 'g', name: 'G', members: ['a', 'b'] }] });
  return project;
}

const membersOf = async (project: Project) => (await project.group('g')).members;
const page = async (project: Project, query = '') =>
  expectOk<MemberPage>(await project.get(`/v1/groups/g/members${query}`));
const change = (project: Project, body: unknown) => project.post('/v1/groups/g/members', body);

describe('POST /v1/groups/<ID>/members', () => {
  test('POST /v1/groups/<ID>/members adds and removes, and the message names the group', async () => {
    const project = await projectWithMembers();
    const answer = await change(project, { add: ['c', 'd'], remove: ['a'] });
    expectDone(answer, 'members', 'g');
    assert.deepEqual(await membersOf(project), ['b', 'c', 'd']);
  });

  test('add and remove of POST /v1/groups/<ID>/members are each optional', async () => {
    const project = await projectWithMembers();
    expectDone(await change(project, { add: ['c'] }));
    assert.deepEqual(await membersOf(project), ['a', 'b', 'c']);
    expectDone(await change(project, { remove: ['a'] }));
    assert.deepEqual(await membersOf(project), ['b', 'c']);
    expectDone(await change(project, {}));
    expectDone(await change(project, { add: [], remove: [] }));
    assert.deepEqual(await membersOf(project), ['b', 'c']);
  });

  test('adding a member again has no effect and is no error', async () => {
    const project = await projectWithMembers();
    expectDone(await change(project, { add: ['a', 'b', 'c'] }));
    assert.deepEqual(await membersOf(project), ['a', 'b', 'c']);
  });

  test('removing an ID that is not a member has no effect and is no error, whether or not it is a user', async () => {
    const project = await projectWithMembers();
    expectDone(await change(project, { remove: ['c', 'nobody'] }));
    assert.deepEqual(await membersOf(project), ['a', 'b']);
    expectDone(await change(project, { remove: ['nobody', 'a'] }));
    assert.deepEqual(await membersOf(project), ['b']);
  });

  test('repeated IDs in add and remove count once', async () => {
    const project = await projectWithMembers();
    expectDone(await change(project, { add: ['c', 'c'], remove: ['a', 'a', 'a'] }));
    assert.deepEqual(await membersOf(project), ['b', 'c']);
  });

  test('values in add and remove that are no IDs are invalid_field, and are not repeated in the message', async () => {
    const project = await projectWithMembers();
    for (const length of [100_000, 1_000_000]) {
      const both = ['a', 'x'.repeat(length)];
      const answer = await change(project, { add: both, remove: both });
      expectError(answer, 400, 'invalid_field', 'add[1]', 'remove[1]', 'in both: a');
      assert.ok(answer.text.length < 2_000, `${answer.text.length} bytes`);
    }
  });

  test('the same user in add and remove is invalid_field, names the user, and changes nothing', async () => {
    const project = await projectWithMembers();
    const answer = await project.unchanged(() => change(project, { add: ['c', 'd'], remove: ['a', 'd'] }));
    expectError(answer, 400, 'invalid_field', 'add', 'remove', 'd');
    const unknown = await project.unchanged(() => change(project, { add: ['nobody'], remove: ['nobody'] }));
    expectError(unknown, 400, 'invalid_field', 'nobody');
  });

  test('unknown users in add are all named, and nothing changes', async () => {
    const project = await projectWithMembers();
    const answer = await project.unchanged(() => change(project, { add: ['c', 'x1', 'x2'], remove: ['a'] }));
    expectNotFound(answer, 'user_not_found', 'x1', 'x2');
  });

  test('the first 20 of more unknown users in add are named, and the rest is counted', async () => {
    const project = await projectWithMembers();
    const unknown = buildIds('unknown-', 31);
    const answer = await change(project, { add: unknown });
    const message = expectNotFound(answer, 'user_not_found', ...unknown.slice(0, 20), '11 more');
    assert.ok(!message.includes('unknown-20'), message);
  });

  test('users of either status can be added to a group, and a deleted group still has members', async () => {
    const project = await projectWithMembers();
    await project.seed({ users: [{ id: 'gone', status: 'deleted' }] });
    expectDone(await project.put('/v1/groups/g', { status: 'deleted' }));
    expectDone(await change(project, { add: ['gone'], remove: ['a'] }));
    const group = await project.group('g');
    assert.deepEqual([group.status, group.members], ['deleted', ['b', 'gone']]);
  });

  test('POST /v1/groups/<ID>/members of a missing group is group_not_found', async () => {
    const project = await projectWithMembers();
    for (const body of [{}, { add: ['a'] }, { remove: ['a'] }]) {
      expectNotFound(await project.post('/v1/groups/nowhere/members', body), 'group_not_found', 'nowhere');
    }
  });

  for (const field of ['add', 'remove']) {
    test(`${field} with null, a wrong type or an invalid ID is invalid_field, and changes no members`, async () => {
      const project = await projectWithMembers();
      const cases: [value: unknown, path: string][] = [
        [null, field],
        ['c', field],
        [{ c: true }, field],
        [3, field],
        [['c', 3], `${field}[1]`],
        [['c', null], `${field}[1]`],
        [[''], `${field}[0]`],
        [['x'.repeat(321)], `${field}[0]`],
        [['line\nfeed'], `${field}[0]`],
      ];
      for (const [value, path] of cases) {
        const answer = await project.unchanged(() => change(project, { [field]: value }));
        expectError(answer, 400, 'invalid_field', path);
      }
    });
  }

  test('POST /v1/groups/<ID>/members with another field is unexpected_field, and the message lists the expected ones', async () => {
    const project = await projectWithMembers();
    const answer = await project.unchanged(() => change(project, { add: ['c'], members: ['d'], set: [] }));
    expectError(answer, 400, 'unexpected_field', 'members', 'set', 'add', 'remove');
  });
});

describe('GET /v1/groups/<ID>/members', () => {
  test('GET /v1/groups/<ID>/members answers entries of exactly id, name and email, null where unset, and the pagination', async () => {
    const project = await server.project();
    const users = [{ id: 'a', name: 'Ann', email: 'ann@example.com' }, { id: 'b' }, { id: 'c', name: 'Cy' }];
    await project.seed({ users, groups: [{ id: 'g', name: 'G', members: ['c', 'b', 'a'] }] });
    assert.deepEqual(await page(project), {
      users: [
        { id: 'a', name: 'Ann', email: 'ann@example.com' },
        { id: 'b', name: null, email: null },
        { id: 'c', name: 'Cy', email: null },
      ],
      pagination: { token: null, total: 3 },
    });
  });

  test('an email that was cleared is null in the list of members', async () => {
    const project = await server.project();
    const users = ['a', 'b'].map((id) => ({ id, email: `${id}@example.com` }));
    await project.seed({ users, groups: [{ id: 'g', name: 'G', members: ['a', 'b'] }] });
    expectDone(await project.put('/v1/users/a', { email: '' }));
    expectDone(await project.put('/v1/users/b', { email: null }));
    assert.deepEqual(
      (await page(project)).users.map(({ email }) => email),
      [null, null],
    );
  });

  test('a group without members has an empty list of members', async () => {
    const project = await server.project();
    await project.seed({ groups: [{ id: 'g', name: 'G' }] });
    assert.deepEqual(await page(project), { users: [], pagination: { token: null, total: 0 } });
  });

  test('GET /v1/groups/<ID>/members lists members of both statuses, also of a deleted group', async () => {
    const project = await projectWithMembers();
    expectDone(await project.put('/v1/users/a', { status: 'deleted' }));
    expectDone(await project.put('/v1/groups/g', { status: 'deleted' }));
    assert.deepEqual(
      (await page(project)).users.map(({ id }) => id),
      ['a', 'b'],
    );
  });

  test('the default page of GET /v1/groups/<ID>/members is 1,000 members; the token continues, and the total counts all', async () => {
    const project = await server.project();
    const members = buildIds('m', 1_001);
    await project.seed({ users: members.map((id) => ({ id })), groups: [{ id: 'g', name: 'G', members }] });
    const first = await page(project);
    assert.equal(first.users.length, 1_000);
    assert.equal(first.pagination.total, 1_001);
    assert.equal(typeof first.pagination.token, 'string');
    const rest = await page(project, `?token=${encodeURIComponent(String(first.pagination.token))}`);
    assert.deepEqual(rest.pagination, { token: null, total: 1_001 });
    const ids = [...first.users, ...rest.users].map(({ id }) => id);
    assert.deepEqual(ids, members);
    assert.equal((await page(project, '?limit=1001')).users.length, 1_001);
  });

  test('a page of members that ends with the last member has no token', async () => {
    const project = await projectWithMembers();
    assert.deepEqual((await page(project, '?limit=2')).pagination, { token: null, total: 2 });
  });

  test('GET /v1/groups/<ID>/members of a missing group is group_not_found', async () => {
    const project = await projectWithMembers();
    expectNotFound(await project.get('/v1/groups/nowhere/members'), 'group_not_found', 'nowhere');
  });
});

/** The answer of a reader who has taken nothing of its body yet. */
async function openReading({ url, token }: Project, path: string): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url + path, { headers }, resolve).once('error', reject);
  });
  assert.equal(answer.statusCode, 200);
  return answer;
}

describe('a group of many members', () => {
  test('a group of many members is read whole, in one state of it, while its list is replaced', async () => {
    const project = await server.project();
    const [red, blue] = [buildIds('r', 10_000), buildIds('b', 10_000)];
    const ids = buildIds('both', 2_500);
    for (const part of [red, blue, ids]) await project.seedUsers(...part);
    const states = [red, blue].map((colour) => [...ids, ...colour].sort());
    const write = (n: number) =>
      project.put('/v1/groups/g', { name: `state ${n % 2}`, members: states[n % 2] });
    expectDone(await write(0));
    let isOver = false;
    // One after the other: writes that wait for too many others of the same group are answered 503.
    const replace = async () => {
      for (let n = 1; n <= 5; n += 1) expectDone(await write(n));
    };
    const seen: { name: string; members: string[] }[] = [];
    const read = async () => {
      while (!isOver) seen.push(await project.group('g'));
    };
    const replaced = replace().finally(() => {
      isOver = true;
    });
    await Promise.all([replaced, read(), read(), read()]);
    assert.ok(seen.length > 0);
    for (const { name, members } of seen) {
      assert.ok(members.length === 12_500, `${members.length} members`);
      assert.deepEqual(members, states[name === 'state 0' ? 0 : 1]);
    }
  });

  test('a page of members has at most 10,000, the largest limit', async () => {
    const project = await server.project();
    const members = buildIds('m', 10_001);
    for (const part of [members.slice(0, 5_000), members.slice(5_000)]) await project.seedUsers(...part);
    expectDone(await project.put('/v1/groups/g', { name: 'G', members }));
    const first = expectOk<MemberPage>(await project.get('/v1/groups/g/members?limit=10000'));
    assert.deepEqual([first.users.length, first.pagination.total], [10_000, 10_001]);
    const token = encodeURIComponent(String(first.pagination.token));
    const last = expectOk<MemberPage>(await project.get(`/v1/groups/g/members?limit=10000&token=${token}`));
    assert.deepEqual([last.users.map(({ id }) => id), last.pagination.token], [['m10000'], null]);
  });

  test('a group of many members is listed whole to a slow reader, also when it is deleted in the meantime', async () => {
    const project = await server.project();
    // More than the buffers between server and reader take, so that the rest is still to be read afterwards.
    const members = buildIds('m'.repeat(300), 10_000);
    const email = `${'e'.repeat(300)}@example.com`;
    await project.seed({ users: members.map((id) => ({ id, name: 'n'.repeat(256), email })) });
    expectDone(await project.put('/v1/groups/g', { name: 'G', members }));
    const answer = await openReading(project, '/v1/groups/g/members?limit=10000');
    expectDone(await project.delete('/v1/groups/g'));
    const ids = ((await json(answer)) as MemberPage).users.map(({ id }) => id);
    assert.deepEqual(ids, members.slice(0, ids.length));
  });
});

describe('a user who is removed while being added to a group', () => {
  test('a user who is deleted while being added to a group is a member of no group afterwards', async () => {
    const project = await projectWithMembers();
    const users = buildIds('racer', 20);
    await project.seedUsers(...users);
    const answers = await Promise.all(
      users.flatMap((id) => [change(project, { add: [id] }), project.delete(`/v1/users/${id}`)]),
    );
    for (const answer of answers) {
      if (answer.status !== 200) expectNotFound(answer, 'user_not_found');
    }
    assert.deepEqual(await membersOf(project), ['a', 'b']);
    assert.equal((await page(project)).pagination.total, 2);
  });
});
