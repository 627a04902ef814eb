import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Group } from '@rollcall/protocol';
import { buildIds } from '../support/build.ts';
import { expectDone, expectError, expectNotFound, expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';

const server = oneServer();

const WHOLE: Group = {
  id: 'g',
  name: 'Before',
  status: 'active',
  members: ['u1', 'u2'],
  metadata: { plan: 'gold' },
  connectedToMessenger: false,
};

/** A project with the users u1 to u3 and the group {@link WHOLE}. */
async function projectWithGroup() {
  const project = await server.projectWithUsers('u1', 'u2', 'u3');
  const { name, metadata, members } = WHOLE;
  expectDone(await project.put('/v1/groups/g', { name, metadata, members }));
  return project;
}

describe('PUT /v1/groups/<ID> creates', () => {
  test('PUT /v1/groups/<ID> with a new ID creates the group, and the message is "created group …"', async () => {
    const project = await server.project();
    const answer = await project.put('/v1/groups/456', { name: 'Sales' });
    expectDone(answer);
    assert.deepEqual(answer.json(), { success: true, message: 'created group 456' });
  });

  test('PUT /v1/groups/<ID> needs only the name to create: the group is active, empty and not connected', async () => {
    const project = await server.project();
    expectDone(await project.put('/v1/groups/g', { name: 'Sales' }));
    assert.deepEqual(await project.group('g'), {
      id: 'g',
      name: 'Sales',
      status: 'active',
      members: [],
      metadata: {},
      connectedToMessenger: false,
    });
  });

  test('PUT /v1/groups/<ID> accepts all fields at creation', async () => {
    const project = await server.projectWithUsers('u1', 'u2');
    const write = { name: 'All', status: 'deleted', members: ['u2', 'u1'], metadata: { a: 1 } };
    expectDone(await project.put('/v1/groups/g', write), 'created group g');
    const group = { id: 'g', ...write, members: ['u1', 'u2'], connectedToMessenger: false };
    assert.deepEqual(await project.group('g'), group);
  });

  test('PUT of a new group without a name is missing_field, whatever else is supplied, and creates nothing', async () => {
    const project = await server.projectWithUsers('u1');
    for (const write of [{}, { status: 'active' }, { members: ['u1'] }, { metadata: {}, members: [] }]) {
      const answer = await project.unchanged(() => project.put('/v1/groups/g', write));
      expectError(answer, 400, 'missing_field', 'name');
    }
    expectNotFound(await project.get('/v1/groups/g'), 'group_not_found', 'g');
  });

  test('two projects can have groups with the same ID, which share no data', async () => {
    const [one, other] = await Promise.all([server.project(), server.project()]);
    expectDone(await one.put('/v1/groups/g', { name: 'One' }), 'created');
    expectNotFound(await other.get('/v1/groups/g'), 'group_not_found');
    expectDone(await other.put('/v1/groups/g', { name: 'Other' }), 'created');
    expectDone(await other.delete('/v1/groups/g'));
    assert.equal((await one.group('g')).name, 'One');
  });
});

describe('PUT /v1/groups/<ID> updates', () => {
  test('PUT /v1/groups/<ID> of an existing group answers the message "updated group …"', async () => {
    const project = await projectWithGroup();
    const answer = await project.put('/v1/groups/g', { name: 'After' });
    assert.deepEqual(answer.json(), { success: true, message: 'updated group g' });
  });

  test('PUT /v1/groups/<ID> of an existing group requires no field, and {} changes nothing', async () => {
    const project = await projectWithGroup();
    expectDone(await project.put('/v1/groups/g', {}), 'updated group g');
    assert.deepEqual(await project.group('g'), WHOLE);
  });

  const changes: Partial<Group>[] = [
    { name: 'After' },
    { status: 'deleted' },
    { members: ['u3'] },
    { metadata: { other: [1, 2] } },
  ];
  for (const change of changes) {
    test(`PUT /v1/groups/<ID> with ${Object.keys(change)} changes only that field`, async () => {
      const project = await projectWithGroup();
      expectDone(await project.put('/v1/groups/g', change));
      assert.deepEqual(await project.group('g'), { ...WHOLE, ...change });
    });

    test(`PUT /v1/groups/<ID> with null for ${Object.keys(change)} is invalid_field, and changes nothing`, async () => {
      const project = await projectWithGroup();
      const [field = ''] = Object.keys(change);
      const answer = await project.unchanged(() =>
        project.put('/v1/groups/g', { name: 'After', status: 'deleted', [field]: null }),
      );
      expectError(answer, 400, 'invalid_field', field);
    });
  }

  test('a deleted group can still be read, and the status active activates it again', async () => {
    const project = await projectWithGroup();
    expectDone(await project.put('/v1/groups/g', { status: 'deleted' }));
    assert.deepEqual(await project.group('g'), { ...WHOLE, status: 'deleted' });
    expectDone(await project.put('/v1/groups/g', { status: 'active' }));
    assert.deepEqual(await project.group('g'), WHOLE);
  });

  test('a deleted group stays deleted when another field of it is updated', async () => {
    const project = await projectWithGroup();
    expectDone(await project.put('/v1/groups/g', { status: 'deleted' }));
    for (const change of [{}, { name: 'New' }, { metadata: { a: 1 } }, { members: ['u3'] }]) {
      expectDone(await project.put('/v1/groups/g', change));
      assert.equal((await project.group('g')).status, 'deleted');
    }
  });
});

describe('members of a group write', () => {
  test('members of a group write is exhaustive: a member who is not in it is removed', async () => {
    const project = await projectWithGroup();
    expectDone(await project.put('/v1/groups/g', { members: ['u2', 'u3'] }));
    assert.deepEqual((await project.group('g')).members, ['u2', 'u3']);
    expectDone(await project.put('/v1/groups/g', { members: [] }));
    assert.deepEqual((await project.group('g')).members, []);
  });

  test('repeated IDs in members of a group write count once', async () => {
    const project = await projectWithGroup();
    expectDone(await project.put('/v1/groups/g', { members: ['u3', 'u1', 'u3', 'u1'] }));
    assert.deepEqual((await project.group('g')).members, ['u1', 'u3']);
  });

  test('users of either status can be in members of a group write', async () => {
    const project = await projectWithGroup();
    expectDone(await project.put('/v1/users/gone', { status: 'deleted' }));
    expectDone(await project.put('/v1/groups/g', { members: ['gone', 'u1'] }));
    assert.deepEqual((await project.group('g')).members, ['gone', 'u1']);
  });

  test('all unknown users in members are named with user_not_found, and nothing changes', async () => {
    const project = await projectWithGroup();
    const write = { name: 'After', status: 'deleted', members: ['u1', 'nobody', 'no one'] };
    const answer = await project.unchanged(() => project.put('/v1/groups/g', write));
    expectNotFound(answer, 'user_not_found', 'nobody', 'no one');
  });

  test('a group is not created with unknown users', async () => {
    const project = await server.project();
    const answer = await project.unchanged(() =>
      project.put('/v1/groups/g', { name: 'New', members: ['nobody'] }),
    );
    expectNotFound(answer, 'user_not_found', 'nobody');
  });

  test('a user of another project in members is user_not_found', async () => {
    const [project, other] = await Promise.all([projectWithGroup(), server.project()]);
    await other.seedUsers('theirs');
    expectNotFound(await project.put('/v1/groups/g', { members: ['theirs'] }), 'user_not_found', 'theirs');
  });

  test('the first 20 of more unknown users in members are named, and the rest is counted', async () => {
    const project = await projectWithGroup();
    const unknown = buildIds('unknown-', 25);
    const answer = await project.put('/v1/groups/g', { members: ['u1', ...unknown] });
    const message = expectNotFound(answer, 'user_not_found', ...unknown.slice(0, 20), '5 more');
    for (const id of unknown.slice(20)) assert.ok(!message.includes(id), message);
  });

  test('exactly 20 unknown users in members are all named, and a repeated one counts once', async () => {
    const project = await projectWithGroup();
    const unknown = buildIds('unknown-', 20);
    const answer = await project.put('/v1/groups/g', { members: [...unknown, ...unknown] });
    const message = expectNotFound(answer, 'user_not_found', ...unknown);
    assert.doesNotMatch(message, /more/);
  });
});

describe('a group write is rejected', () => {
  const invalid: [field: string, value: unknown, path?: string][] = [
    ['name', ''],
    ['name', 7],
    ['name', true],
    ['name', ['Sales']],
    ['name', {}],
    ['name', 'a\u0000b'],
    ['name', 'lone \ud800 surrogate'],
    ['status', 'inactive'],
    ['status', 'Active'],
    ['status', ''],
    ['status', 1],
    ['status', true],
    ['status', ['active']],
    ['members', 'u1'],
    ['members', { u1: true }],
    ['members', 1],
    ['members', ['u1', 7], 'members[1]'],
    ['members', [null], 'members[0]'],
    ['members', ['u1', 'u2', ''], 'members[2]'],
    ['members', [['u1']], 'members[0]'],
    ['members', [{ id: 'u1' }], 'members[0]'],
    ['members', ['u\u0000'], 'members[0]'],
    ['metadata', []],
    ['metadata', 'text'],
    ['metadata', 7],
    ['metadata', false],
  ];
  for (const [field, value, path = field] of invalid) {
    test(`PUT of a group with ${field} ${JSON.stringify(value)} is invalid_field, names ${path}, and changes nothing`, async () => {
      const project = await projectWithGroup();
      const answer = await project.unchanged(() =>
        project.put('/v1/groups/g', { name: 'After', metadata: { after: true }, [field]: value }),
      );
      expectError(answer, 400, 'invalid_field', path);
    });
  }

  for (const field of ['id', 'connectedToMessenger', 'nick', 'Name', '__proto__', 'constructor']) {
    test(`PUT of a group with ${field} is unexpected_field, and the message lists the expected fields`, async () => {
      const project = await projectWithGroup();
      const body = `{"name": "After", ${JSON.stringify(field)}: true}`;
      const answer = await project.unchanged(() => project.send('PUT', '/v1/groups/g', body));
      expectError(answer, 400, 'unexpected_field', field, 'name', 'status', 'members', 'metadata');
    });
  }

  test('the first 20 of more invalid fields of a group write are named, and the rest is counted', async () => {
    const project = await projectWithGroup();
    const answer = await project.put('/v1/groups/g', { members: Array.from({ length: 23 }, () => 1) });
    const message = expectError(answer, 400, 'invalid_field', 'members[0]', 'members[19]', '3 more');
    assert.doesNotMatch(message, /members\[20\]/);
  });
});

describe('GET /v1/groups/<ID>', () => {
  test('GET /v1/groups/<ID> answers exactly the fields of the specification', async () => {
    const project = await projectWithGroup();
    assert.deepEqual(expectOk(await project.get('/v1/groups/g')), WHOLE);
  });

  test('GET of a missing group is group_not_found, and the message names it', async () => {
    const project = await server.project();
    expectNotFound(await project.get('/v1/groups/nowhere'), 'group_not_found', 'nowhere');
  });

  test('GET of a group with an unknown query parameter is unexpected_field', async () => {
    const project = await projectWithGroup();
    expectError(await project.get('/v1/groups/g?verbose=1'), 400, 'unexpected_field', 'verbose');
  });
});

describe('DELETE /v1/groups/<ID>', () => {
  test('DELETE /v1/groups/<ID> removes the group permanently, and the message is "deleted group …"', async () => {
    const project = await projectWithGroup();
    const answer = await project.delete('/v1/groups/g');
    assert.deepEqual(answer.json(), { success: true, message: 'deleted group g' });
    expectNotFound(await project.get('/v1/groups/g'), 'group_not_found');
    assert.deepEqual(await project.groupIds(), []);
  });

  test('DELETE /v1/groups/<ID> removes all users from the group, and does not delete the users', async () => {
    const project = await projectWithGroup();
    expectDone(await project.delete('/v1/groups/g'));
    assert.deepEqual(await project.userIds(), ['u1', 'u2', 'u3']);
    assert.deepEqual(expectOk(await project.get('/v1/users/u1/groups')), {
      groups: [],
      pagination: { token: null, total: 0 },
    });
  });

  test('a group that is created again with the ID of a deleted one has no data of it', async () => {
    const project = await projectWithGroup();
    expectDone(await project.put('/v1/groups/g', { status: 'deleted' }));
    expectDone(await project.delete('/v1/groups/g'));
    expectDone(await project.put('/v1/groups/g', { name: 'Again' }), 'created group g');
    assert.deepEqual(await project.group('g'), { ...WHOLE, name: 'Again', members: [], metadata: {} });
  });

  test('DELETE of a missing group is group_not_found, also the second time', async () => {
    const project = await projectWithGroup();
    expectDone(await project.delete('/v1/groups/g'));
    const answer = await project.unchanged(() => project.delete('/v1/groups/g'));
    expectNotFound(answer, 'group_not_found', 'g');
  });
});
