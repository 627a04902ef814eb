import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clockedServer } from '../support/clocked-server.ts';
import { expectDone, expectError, expectNotFound, expectOk } from '../support/expect.ts';
import { type Project, segment } from '../support/project-client.ts';

const server = clockedServer();

const write = (value: unknown) => ({ key: 'notification_channels', value });

/** The two paths that write a user's preferences. */
const PATHS: readonly [string, (id: string) => string][] = [
  ['PUT /v1/<USER_ID>/preferences', (id) => `/v1/${segment(id)}/preferences`],
  ['PUT /v1/users/<USER_ID>/preferences', (id) => `/v1/users/${segment(id)}/preferences`],
];

async function withUser(id = 'u'): Promise<Project> {
  const project = await server.projectWithUsers(id);
  return project;
}

async function preferences(project: Project, id = 'u'): Promise<unknown> {
  return expectOk(await project.get(`/v1/users/${segment(id)}/preferences`));
}

const channels = (sendViaMessenger: boolean, sendViaEmail: boolean) => [
  { notification_channels: { sendViaMessenger, sendViaEmail } },
];

describe('GET /v1/users/<USER_ID>/preferences', () => {
  test('GET /v1/users/<USER_ID>/preferences answers an array of preference objects; both channels default to true', async () => {
    assert.deepEqual(await preferences(await withUser()), channels(true, true));
  });

  test('GET /v1/users/<USER_ID>/preferences of a user who does not exist is user_not_found', async () => {
    const project = await server.project();
    expectNotFound(await project.get('/v1/users/nobody/preferences'), 'user_not_found', 'nobody');
  });

  test('GET /v1/users/<USER_ID>/preferences is the one way to read them: the path without users takes only PUT', async () => {
    const answer = await (await withUser()).get('/v1/u/preferences');
    expectError(answer, 405, 'invalid_request');
    assert.equal(answer.headers.allow, 'PUT');
  });
});

for (const [name, pathOf] of PATHS) {
  describe(name, () => {
    test('PUT of preferences sets a channel, and the message names the user', async () => {
      const project = await withUser();
      expectDone(await project.put(pathOf('u'), write({ sendViaMessenger: false })), 'u');
      assert.deepEqual(await preferences(project), channels(false, true));
    });

    test('PUT of preferences merges: a channel that is not supplied does not change', async () => {
      const project = await withUser();
      expectDone(await project.put(pathOf('u'), write({ sendViaMessenger: false })));
      expectDone(await project.put(pathOf('u'), write({ sendViaEmail: false })));
      assert.deepEqual(await preferences(project), channels(false, false));
      expectDone(await project.put(pathOf('u'), write({ sendViaMessenger: true })));
      assert.deepEqual(await preferences(project), channels(true, false));
    });

    test('PUT of preferences with an empty value changes nothing and succeeds', async () => {
      const project = await withUser();
      expectDone(await project.put(pathOf('u'), write({ sendViaEmail: false })));
      expectDone(await project.put(pathOf('u'), write({})));
      assert.deepEqual(await preferences(project), channels(true, false));
    });

    test('racing writes of the two notification channels are both stored', async () => {
      const project = await withUser();
      const writes = [{ sendViaMessenger: false }, { sendViaEmail: false }];
      const answers = await Promise.all(
        [...writes, ...writes].map((value) => project.put(pathOf('u'), write(value))),
      );
      for (const answer of answers) expectDone(answer);
      assert.deepEqual(await preferences(project), channels(false, false));
    });

    test('PUT of preferences requires key and value', async () => {
      const project = await withUser();
      expectError(await project.put(pathOf('u'), {}), 400, 'missing_field', 'key', 'value');
      expectError(
        await project.put(pathOf('u'), { key: 'notification_channels' }),
        400,
        'missing_field',
        'value',
      );
      expectError(await project.put(pathOf('u'), { value: {} }), 400, 'missing_field', 'key');
    });

    test('PUT of preferences with another key than notification_channels is invalid_field', async () => {
      const project = await withUser();
      for (const key of [
        'other',
        '',
        'Notification_channels',
        '__proto__',
        null,
        7,
        ['notification_channels'],
      ]) {
        const answer = await project.put(pathOf('u'), { key, value: {} });
        expectError(answer, 400, 'invalid_field', 'key', 'notification_channels');
      }
    });

    test('PUT of preferences with a value that is no object of booleans is invalid_field', async () => {
      const project = await withUser();
      for (const value of [null, true, 'x', 1, []]) {
        expectError(await project.put(pathOf('u'), write(value)), 400, 'invalid_field', 'value');
      }
      for (const flag of [null, 'true', 1, 0, {}, []]) {
        const answer = await project.put(pathOf('u'), write({ sendViaMessenger: flag, sendViaEmail: false }));
        expectError(answer, 400, 'invalid_field', 'value.sendViaMessenger');
      }
      assert.deepEqual(await preferences(project), channels(true, true));
    });

    test('PUT of preferences with an unknown channel names its path, and lists the known ones', async () => {
      const project = await withUser();
      const answer = await project.put(pathOf('u'), write({ sendViaPigeon: true, sendViaEmail: false }));
      expectError(answer, 400, 'unexpected_field', 'value.sendViaPigeon', 'sendViaMessenger', 'sendViaEmail');
      assert.deepEqual(await preferences(project), channels(true, true));
    });

    test('PUT of preferences of a user who does not exist is user_not_found, after the body has been checked', async () => {
      const project = await server.project();
      expectNotFound(await project.put(pathOf('nobody'), write({})), 'user_not_found', 'nobody');
      expectError(await project.put(pathOf('nobody'), write(7)), 400, 'invalid_field');
    });

    test('PUT of preferences accepts any legal user ID', async () => {
      for (const id of ['a/b', 'Ünï 👋', '..', '100%', 'preferences']) {
        const project = await withUser(id);
        expectDone(await project.put(pathOf(id), write({ sendViaEmail: false })), id);
        assert.deepEqual(await preferences(project, id), channels(true, false));
      }
    });
  });
}

describe('users whose ID reads like a resource name', () => {
  for (const id of [
    'groups',
    'users',
    'projects',
    'batch',
    'authorize',
    'organizations',
    'client',
    'preferences',
    'v1',
  ]) {
    test(`PUT /v1/users/${id}/preferences writes the preferences of the user ${id}`, async () => {
      const project = await withUser(id);
      const path = `/v1/users/${id}/preferences`;
      expectDone(await project.put(path, write({ sendViaMessenger: false })), id);
      assert.deepEqual(await preferences(project, id), channels(false, true));
    });
  }

  test('PUT /v1/groups/preferences writes the group "preferences"', async () => {
    const project = await withUser('groups');
    expectDone(await project.put('/v1/groups/preferences', { name: 'P' }), 'created group preferences');
    expectError(await project.put('/v1/groups/preferences', write({})), 400, 'unexpected_field', 'key');
    assert.equal((await project.group('preferences')).name, 'P');
  });

  test('PUT /v1/users/preferences writes the user "preferences"', async () => {
    const project = await withUser('users');
    expectDone(await project.put('/v1/users/preferences', { name: 'P' }), 'created user preferences');
  });

  test('PUT /v1/batch/preferences writes the preferences of the user "batch"', async () => {
    const project = await withUser('batch');
    expectDone(await project.put('/v1/batch/preferences', write({ sendViaEmail: false })), 'batch');
    assert.deepEqual(await preferences(project, 'batch'), channels(true, false));
  });
});

describe('preferences of a user', () => {
  test('preferences of a user are removed with the user: a user created again has the defaults', async () => {
    const project = await withUser();
    expectDone(await project.put('/v1/u/preferences', write({ sendViaEmail: false })));
    expectDone(await project.delete('/v1/users/u'));
    expectNotFound(await project.get('/v1/users/u/preferences'), 'user_not_found');
    await project.seedUsers('u');
    assert.deepEqual(await preferences(project), channels(true, true));
  });

  test('preferences of a user stay when the user is updated, or set deleted and active again', async () => {
    const project = await withUser();
    expectDone(await project.put('/v1/u/preferences', write({ sendViaEmail: false })));
    for (const status of ['deleted', 'active'])
      await project.seed({ users: [{ id: 'u', status: status as 'active' }] });
    assert.deepEqual(await preferences(project), channels(true, false));
  });

  test('preferences of a user belong to one user of one project', async () => {
    const project = await withUser();
    await project.seedUsers('v', 'U');
    expectDone(await project.put('/v1/u/preferences', write({ sendViaEmail: false })));
    for (const id of ['v', 'U']) assert.deepEqual(await preferences(project, id), channels(true, true));
  });
});
