import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { expectCreated, expectDone, expectError } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';

const server = oneServer();

const ABSENT = { 'if-none-match': '*' };

/** A project with the group g of u, and the user u. */
async function projectWithBoth() {
  const project = await server.project();
  await project.seed({
    users: [{ id: 'u', name: 'Ann' }],
    groups: [{ id: 'g', name: 'G', members: ['u'], metadata: { a: 1 } }],
  });
  return project;
}

describe('POST /v1/groups', () => {
  test('POST /v1/groups creates a group with all fields, and answers 201 with the message of a creation', async () => {
    const project = await server.projectWithUsers('u');
    const group = { id: '45/6', name: 'Sales', status: 'deleted', members: ['u', 'u'], metadata: { a: 1 } };
    const answer = await project.post('/v1/groups', group);
    expectCreated(answer);
    assert.deepEqual(answer.json(), { success: true, message: 'created group 45/6' });
    assert.deepEqual(await project.group('45/6'), { ...group, members: ['u'], connectedToMessenger: false });
  });

  test('POST /v1/groups of an existing group, of either status, is group_already_exists and does not change it', async () => {
    const project = await projectWithBoth();
    for (const status of ['active', 'deleted']) {
      expectDone(await project.put('/v1/groups/g', { status }));
      const answer = await project.unchanged(() =>
        project.post('/v1/groups', { id: 'g', name: 'Other', status: 'active', members: [] }),
      );
      expectError(answer, 409, 'group_already_exists', 'g');
    }
  });

  test('POST /v1/groups creates a group again after its deletion', async () => {
    const project = await projectWithBoth();
    expectDone(await project.delete('/v1/groups/g'));
    expectCreated(await project.post('/v1/groups', { id: 'g', name: 'Again' }), 'created group g');
  });

  test('POST /v1/groups requires id and name: missing_field names each of them', async () => {
    const project = await projectWithBoth();
    await project.unchanged(async () => {
      expectError(await project.post('/v1/groups', { name: 'N' }), 400, 'missing_field', 'id');
      expectError(await project.post('/v1/groups', { id: 'n' }), 400, 'missing_field', 'name');
      expectError(await project.post('/v1/groups', {}), 400, 'missing_field', 'id', 'name');
      expectError(await project.post('/v1/groups', { id: 'g' }), 400, 'missing_field', 'name');
    });
  });

  test('POST /v1/groups with another field is unexpected_field, and the message lists the expected ones', async () => {
    const project = await projectWithBoth();
    const answer = await project.post('/v1/groups', { id: 'n', name: 'N', nick: 'x' });
    expectError(answer, 400, 'unexpected_field', 'nick', 'id', 'name', 'status', 'members', 'metadata');
  });

  test('POST /v1/groups with an invalid ID is invalid_field', async () => {
    const project = await projectWithBoth();
    for (const id of [7, null, '', 'x'.repeat(321), 'a\u0000', ['g'], {}]) {
      const answer = await project.unchanged(() => project.post('/v1/groups', { id, name: 'N' }));
      expectError(answer, 400, 'invalid_field', 'id');
    }
  });
});

describe('POST /v1/users', () => {
  test('POST /v1/users creates a user from an ID alone, or with all fields', async () => {
    const project = await server.project();
    const answer = await project.post('/v1/users', { id: 'u' });
    expectCreated(answer);
    assert.deepEqual(answer.json(), { success: true, message: 'created user u' });
    const fields = {
      name: 'Ann',
      short_name: 'A',
      email: 'ann@example.com',
      profile_picture_url: 'https://example.com/a.png',
      status: 'deleted',
      metadata: { a: [1] },
    };
    expectCreated(await project.post('/v1/users', { id: 'v', ...fields }));
    const { created_at, updated_at, ...rest } = await project.user('v');
    assert.deepEqual(rest, { id: 'v', ...fields });
    assert.equal(created_at, updated_at);
  });

  test('POST /v1/users of an existing user is user_already_exists and does not change the user', async () => {
    const project = await projectWithBoth();
    for (const body of [{ id: 'u' }, { id: 'u', name: 'Other', status: 'deleted' }]) {
      const answer = await project.unchanged(() => project.post('/v1/users', body));
      expectError(answer, 409, 'user_already_exists', 'u');
    }
  });

  test('POST /v1/users with a missing ID is missing_field, with an invalid one invalid_field, with another field unexpected_field', async () => {
    const project = await projectWithBoth();
    await project.unchanged(async () => {
      expectError(await project.post('/v1/users', {}), 400, 'missing_field', 'id');
      expectError(await project.post('/v1/users', { id: 7 }), 400, 'invalid_field', 'id');
      const answer = await project.post('/v1/users', { id: 'n', nick: 'x' });
      expectError(answer, 400, 'unexpected_field', 'nick', 'id', 'name', 'short_name', 'email');
    });
  });
});

describe('PUT with If-None-Match: *', () => {
  test('PUT with If-None-Match: * creates a user or a group with 200', async () => {
    const project = await server.project();
    expectDone(await project.put('/v1/groups/g', { name: 'G' }, ABSENT), 'created group g');
    expectDone(await project.put('/v1/users/u', { name: 'U' }, ABSENT), 'created user u');
  });

  test('PUT with If-None-Match: * of an existing user or group is 409 and does not change it', async () => {
    const project = await projectWithBoth();
    await project.unchanged(async () => {
      const group = await project.put('/v1/groups/g', { name: 'Other' }, ABSENT);
      expectError(group, 409, 'group_already_exists', 'g');
      const user = await project.put('/v1/users/u', { name: 'Other' }, ABSENT);
      expectError(user, 409, 'user_already_exists', 'u');
    });
  });
});

describe('racing creations', () => {
  test('sixty groups that are created at once are all applied, and the server answers the next request', async () => {
    const project = await server.project();
    const ids = Array.from({ length: 60 }, (_, index) => `g${index}`);
    const answers = await Promise.all(ids.map((id) => project.put(`/v1/groups/${id}`, { name: id })));
    for (const [index, answer] of answers.entries()) expectDone(answer, `created group ${ids[index]}`);
    assert.equal((await project.groups()).length, ids.length);
  });

  const TWENTY = Array.from({ length: 20 }, (_, index) => index);
  const statuses = (answers: { status: number }[]) => answers.map(({ status }) => status).sort();

  for (const [path, code, noun] of [
    ['/v1/groups', 'group_already_exists', 'group'],
    ['/v1/users', 'user_already_exists', 'user'],
  ] as const) {
    test(`one of twenty racing POSTs of one ${noun} creates it, and nineteen are 409`, async () => {
      const project = await server.project();
      const answers = await Promise.all(
        TWENTY.map((racer) => project.post(path, { id: 'x', name: `racer ${racer}` })),
      );
      assert.deepEqual(statuses(answers), [201, ...Array(19).fill(409)]);
      const winner = answers.findIndex(({ status }) => status === 201);
      for (const loser of answers.filter(({ status }) => status === 409)) expectError(loser, 409, code);
      const read = noun === 'group' ? await project.group('x') : await project.user('x');
      assert.equal(read.name, `racer ${winner}`);
    });

    test(`one of twenty racing PUTs of one ${noun} with If-None-Match: * creates it, and nineteen are 409`, async () => {
      const project = await server.project();
      const answers = await Promise.all(
        TWENTY.map((racer) => project.put(`${path}/x`, { name: `racer ${racer}` }, ABSENT)),
      );
      assert.deepEqual(statuses(answers), [200, ...Array(19).fill(409)]);
    });

    test(`one of twenty racing plain PUTs of one ${noun} is answered with created, and nineteen with updated`, async () => {
      const project = await server.project();
      const answers = await Promise.all(
        TWENTY.map((racer) => project.put(`${path}/x`, { name: `racer ${racer}` })),
      );
      const messages = answers.map((answer) => answer.json<{ message: string }>().message).sort();
      assert.deepEqual(messages, [`created ${noun} x`, ...Array(19).fill(`updated ${noun} x`)]);
    });
  }
});
