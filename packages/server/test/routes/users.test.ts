import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { User } from '@rollcall/protocol';
import { expectDone, expectError, expectNotFound, expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';

const server = oneServer();

const FIELDS = {
  name: 'Ann',
  short_name: 'A',
  email: 'ann@example.com',
  profile_picture_url: 'https://example.com/ann.png',
  status: 'active',
  metadata: { team: 'blue' },
};
const UNSET = {
  name: null,
  short_name: null,
  email: null,
  profile_picture_url: null,
  status: 'active',
  metadata: {},
};
const ISO_UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/** A project with the user u, all of whose fields are set. */
async function projectWithUser() {
  const project = await server.project();
  expectDone(await project.put('/v1/users/u', FIELDS), 'created');
  return project;
}

/** A user without the times, which differ from run to run. */
function timeless({ created_at, updated_at, ...rest }: User): Omit<User, 'created_at' | 'updated_at'> {
  assert.match(created_at, ISO_UTC);
  assert.match(updated_at, ISO_UTC);
  return rest;
}

describe('PUT /v1/users/<ID>', () => {
  test('PUT /v1/users/<ID> with {} creates a user, of whom every other field is unset', async () => {
    const project = await server.project();
    const answer = await project.put('/v1/users/u', {});
    assert.deepEqual(answer.json(), { success: true, message: 'created user u' });
    assert.deepEqual(timeless(await project.user('u')), { id: 'u', ...UNSET });
  });

  test('PUT /v1/users/<ID> accepts all fields, which are read back with id, created_at and updated_at', async () => {
    const project = await projectWithUser();
    assert.deepEqual(timeless(await project.user('u')), { id: 'u', ...FIELDS });
  });

  test('PUT /v1/users/<ID> updates an existing user, and the message is "updated user …"', async () => {
    const project = await projectWithUser();
    const answer = await project.put('/v1/users/u', { name: 'Bea' });
    assert.deepEqual(answer.json(), { success: true, message: 'updated user u' });
  });

  test('PUT /v1/users/<ID> with {} does not change an existing user', async () => {
    const project = await projectWithUser();
    expectDone(await project.put('/v1/users/u', {}));
    assert.deepEqual(timeless(await project.user('u')), { id: 'u', ...FIELDS });
  });

  test('created_at of a user stays; updated_at never goes back', async () => {
    const project = await projectWithUser();
    const before = await project.user('u');
    expectDone(await project.put('/v1/users/u', { name: 'Bea' }));
    const after = await project.user('u');
    assert.equal(after.created_at, before.created_at);
    assert.ok(Date.parse(after.updated_at) >= Date.parse(before.updated_at));
    assert.ok(Date.parse(before.updated_at) >= Date.parse(before.created_at));
  });

  const changes: [field: keyof typeof FIELDS, value: unknown, clears: boolean][] = [
    ['name', 'Bea', false],
    ['short_name', 'B', true],
    ['email', 'bea@example.org', true],
    ['profile_picture_url', 'http://example.org/b.png', true],
    ['status', 'deleted', false],
    ['metadata', { other: 1 }, false],
  ];
  for (const [field, value, clears] of changes) {
    test(`${field} of a user: absent changes nothing, a value replaces it, and no other field changes`, async () => {
      const project = await projectWithUser();
      expectDone(await project.put('/v1/users/u', { [field]: value }));
      assert.deepEqual(timeless(await project.user('u')), { id: 'u', ...FIELDS, [field]: value });
    });

    test(`${field} of a user: null ${clears ? 'clears it' : 'is invalid_field and changes nothing'}`, async () => {
      const project = await projectWithUser();
      const write = () => project.put('/v1/users/u', { [field]: null });
      if (clears) {
        expectDone(await write());
        assert.deepEqual(timeless(await project.user('u')), { id: 'u', ...FIELDS, [field]: null });
      } else {
        expectError(await project.unchanged(write), 400, 'invalid_field', field);
      }
    });
  }

  test('an empty email of a user clears it too, and is read as null', async () => {
    const project = await projectWithUser();
    expectDone(await project.put('/v1/users/u', { email: '' }));
    assert.equal((await project.user('u')).email, null);
    expectDone(await project.put('/v1/users/new', { email: '' }));
    assert.equal((await project.user('new')).email, null);
  });

  test('a deleted user can still be read, stays deleted when updated, and the status active activates the user again', async () => {
    const project = await projectWithUser();
    expectDone(await project.put('/v1/users/u', { status: 'deleted' }));
    for (const change of [{}, { name: 'Bea' }, { metadata: {} }, { email: null }]) {
      expectDone(await project.put('/v1/users/u', change));
      assert.equal((await project.user('u')).status, 'deleted');
    }
    expectDone(await project.put('/v1/users/u', { status: 'active' }));
    assert.equal((await project.user('u')).status, 'active');
  });

  test('PUT /v1/users/<ID> can create a deleted user', async () => {
    const project = await server.project();
    expectDone(await project.put('/v1/users/u', { status: 'deleted' }));
    assert.equal((await project.user('u')).status, 'deleted');
  });
});

describe('the values of user fields', () => {
  const url = (length: number) => `https://example.com/${'p'.repeat(length - 'https://example.com/'.length)}`;
  const email = (length: number) => `${'a'.repeat(length - '@example.com'.length)}@example.com`;
  const accepted: [field: string, values: unknown[]][] = [
    ['name', ['x', 'x'.repeat(256), '😀'.repeat(256), '  ', 'line\nfeed']],
    ['short_name', ['x', 'x'.repeat(256), '😀'.repeat(256)]],
    ['email', ['a@b', 'a.b+c@mail.example.com', 'jürgen@bücher.example', "o'hara@example.ie", email(320)]],
    ['profile_picture_url', ['http://a', 'HTTPS://example.com/a b'.replace(' ', '%20'), url(2_048)]],
    ['metadata', [{}, { deep: [{ er: null }] }, { k: 'x'.repeat(16_384 - 8) }]],
  ];
  for (const [field, values] of accepted) {
    test(`${field} of a user: a value within the limits is read back as written`, async () => {
      const project = await server.project();
      for (const value of values) {
        expectDone(await project.put('/v1/users/u', { [field]: value }));
        const user: Record<string, unknown> = await project.user('u');
        assert.deepEqual(user[field], value);
      }
    });
  }

  test('an email of a user with 320 characters beyond the first plane has a length of 320', async () => {
    const project = await server.project();
    const address = `${'😀'.repeat(308)}@example.com`;
    expectDone(await project.put('/v1/users/u', { email: address }));
    assert.equal((await project.user('u')).email, address);
  });

  const texts = [7, true, [], {}, 'nul \u0000', 'lone \udc00', 'swapped \ude00\ud83d'];
  const rejected: [field: string, values: unknown[]][] = [
    ['name', ['', 'x'.repeat(257), '😀'.repeat(257), ...texts]],
    ['short_name', ['x'.repeat(257), '😀'.repeat(257), ...texts]],
    ['email', ['ann', '@', 'a@', '@b', 'a b@c.example', 'a@b@c', 'a@b\n', email(321), ...texts]],
    ['email', [`${'😀'.repeat(309)}@example.com`]],
    [
      'profile_picture_url',
      [
        '',
        '/a.png',
        '//a/b.png',
        'a.png',
        'ftp://a/b',
        'javascript:alert(1)',
        'data:image/png;base64,AA==',
        url(2_049),
      ],
    ],
    ['profile_picture_url', ['http://', 'https://', 'https:// a/b', 'http://a\n', ...texts]],
    ['status', ['', 'inactive', 'Deleted', 0, false, ['active']]],
    ['metadata', [[], 'text', 7, true, { k: 'x'.repeat(16_384 - 7) }]],
  ];
  for (const [field, values] of rejected) {
    test(`${field} of a user: an invalid value is invalid_field, names the field and changes nothing (${values.length} values)`, async () => {
      const project = await projectWithUser();
      await project.unchanged(async () => {
        for (const value of values) {
          const answer = await project.put('/v1/users/u', { name: 'Bea', [field]: value });
          expectError(answer, 400, 'invalid_field', field);
        }
      });
    });
  }

  for (const field of ['id', 'created_at', 'updated_at', 'groups', 'nick', 'profilePictureUrl']) {
    test(`PUT /v1/users/<ID> with ${field} is unexpected_field, and the message lists the expected fields`, async () => {
      const project = await projectWithUser();
      const answer = await project.unchanged(() => project.put('/v1/users/u', { name: 'Bea', [field]: 'x' }));
      expectError(answer, 400, 'unexpected_field', field, ...Object.keys(FIELDS));
    });
  }
});

describe('GET and DELETE /v1/users/<ID>', () => {
  test('GET and DELETE of a missing user are user_not_found, and the message names the user', async () => {
    const project = await server.project();
    expectNotFound(await project.get('/v1/users/nobody'), 'user_not_found', 'nobody');
    expectNotFound(await project.delete('/v1/users/nobody'), 'user_not_found', 'nobody');
  });

  test('DELETE /v1/users/<ID> deletes a user permanently, and the message is "deleted user …"', async () => {
    const project = await projectWithUser();
    const answer = await project.delete('/v1/users/u');
    assert.deepEqual(answer.json(), { success: true, message: 'deleted user u' });
    expectNotFound(await project.get('/v1/users/u'), 'user_not_found');
    assert.deepEqual(await project.userIds(), []);
  });

  test('DELETE /v1/users/<ID> removes memberships, preferences and presence, which do not return with the ID', async () => {
    const project = await projectWithUser();
    await project.seed({ groups: [{ id: 'g', name: 'G', members: ['u'] }] });
    const preference = { key: 'notification_channels', value: { sendViaEmail: false } };
    expectDone(await project.put('/v1/u/preferences', preference));
    for (const durable of [true, false]) {
      const presence = { groupID: 'g', location: { page: '1' }, durable };
      expectDone(await project.put('/v1/users/u/presence', presence));
    }
    expectDone(await project.delete('/v1/users/u'));
    assert.deepEqual((await project.group('g')).members, []);
    expectDone(await project.put('/v1/users/u', {}), 'created user u');
    assert.deepEqual(timeless(await project.user('u')), { id: 'u', ...UNSET });
    assert.deepEqual((await project.group('g')).members, []);
    const [preferences] = expectOk<unknown[]>(await project.get('/v1/users/u/preferences'));
    assert.deepEqual(preferences, { notification_channels: { sendViaMessenger: true, sendViaEmail: true } });
    expectDone(await project.post('/v1/groups/g/members', { add: ['u'] }));
    assert.deepEqual(expectOk<{ users: unknown[] }>(await project.get('/v1/groups/g/presence')).users, []);
  });

  test('two projects can have users with the same ID, which share no data', async () => {
    const [one, other] = await Promise.all([projectWithUser(), server.project()]);
    expectNotFound(await other.get('/v1/users/u'), 'user_not_found');
    expectNotFound(await other.delete('/v1/users/u'), 'user_not_found');
    assert.equal((await one.user('u')).name, 'Ann');
  });
});
