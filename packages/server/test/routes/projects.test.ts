import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { clockedServer } from '../support/clocked-server.ts';
import { expectDone, expectError, expectNotFound, expectOk } from '../support/expect.ts';
import type { Answer } from '../support/http-client.ts';
import { jwt } from '../support/jwt.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { withServer } from '../support/server.ts';

/** Made by a start with these settings before the start with the usual ones: two customers of one installation. */
const OTHER = {
  customerId: 'other-customer',
  customerSecret: 'other-customer-secret',
  projectId: 'other-project',
  projectSecret: 'other-project-secret',
};
const dataDir = mkdtempSync(join(tmpdir(), 'rollcall-projects-'));
await withServer({ dataDir, settings: OTHER }, async () => {});
const clock = new MovedClock();
const server = clockedServer({ clock, dataDir });
after(() => rm(dataDir, { recursive: true, force: true }));

interface Created {
  readonly id: string;
  readonly secret: string;
  readonly name: string;
  readonly created_at: string;
}

const asCustomer = (method: string, path: string, body?: unknown) =>
  server.call(server.customerToken(), method, path, body);
const asOther = (method: string, path: string, body?: unknown) =>
  server.call(
    jwt({ customer_id: OTHER.customerId, iat: server.now() }, OTHER.customerSecret),
    method,
    path,
    body,
  );

async function create(name = 'Fresh', by = asCustomer): Promise<Created> {
  const answer = await by('POST', '/v1/projects', { name });
  assert.equal(answer.status, 201, answer.text);
  return answer.json<Created>();
}

/** A data request with a token of the project that is signed with this secret, now. */
const opens = (id: string, secret: string) =>
  server.call(jwt({ project_id: id, iat: server.now() }, secret), 'GET', '/v1/groups');

/** The project does not exist as a resource; a new token would not change that. */
function expectNoProject(answer: Answer): void {
  expectError(answer, 401, 'project_not_found');
  assert.equal(answer.headers['www-authenticate'], undefined);
}

describe('POST /v1/projects', () => {
  test('POST /v1/projects answers 201 with exactly id, secret, name and created_at', async () => {
    const created = await create('Böse & Söhne 🎉');
    assert.deepEqual(Object.keys(created).sort(), ['created_at', 'id', 'name', 'secret']);
    assert.equal(created.name, 'Böse & Söhne 🎉');
    assert.equal(created.created_at, new Date(clock.now()).toISOString());
    assert.ok(created.secret.length >= 32, 'a secret that cannot be guessed');
  });

  test('POST /v1/projects creates projects that differ in ID and secret, also under one name, and each accepts tokens at once', async () => {
    const [one, two] = [await create('Same'), await create('Same')];
    assert.notEqual(one.id, two.id);
    assert.notEqual(one.secret, two.secret);
    assert.equal((await opens(one.id, one.secret)).status, 200);
    expectError(await opens(one.id, two.secret), 401, 'invalid_project_token');
  });

  test('POST /v1/projects checks its body as every endpoint does', async () => {
    expectError(await asCustomer('POST', '/v1/projects', {}), 400, 'missing_field', 'name');
    expectError(
      await asCustomer('POST', '/v1/projects', { name: 'N', id: 'mine' }),
      400,
      'unexpected_field',
      'id',
      'name',
    );
    expectError(await asCustomer('POST', '/v1/projects', []), 400, 'invalid_request');
    for (const name of [null, '', 7, [], {}, 'x'.repeat(257), 'a\0b', '\ud800']) {
      expectError(await asCustomer('POST', '/v1/projects', { name }), 400, 'invalid_field', 'name');
    }
    await create('🎉'.repeat(256));
  });
});

describe('GET and PUT of projects', () => {
  test('GET /v1/projects has exactly id, name and created_at of each project, and no secret', async () => {
    const created = await create('Listed');
    const list = expectOk<object[]>(await asCustomer('GET', '/v1/projects'));
    const { secret, ...shown } = created;
    assert.deepEqual(
      list.find((entry) => (entry as Created).id === created.id),
      shown,
    );
    assert.ok(!JSON.stringify(list).includes(secret));
  });

  test('GET /v1/projects/<ID> answers as its entry in the list', async () => {
    const { secret, ...shown } = await create();
    assert.deepEqual(expectOk(await asCustomer('GET', `/v1/projects/${shown.id}`)), shown);
  });

  test('PUT /v1/projects/<ID> changes the name, and only the name', async () => {
    const { secret, ...shown } = await create('Before');
    expectDone(await asCustomer('PUT', `/v1/projects/${shown.id}`, { name: 'After' }), shown.id);
    assert.deepEqual(expectOk(await asCustomer('GET', `/v1/projects/${shown.id}`)), {
      ...shown,
      name: 'After',
    });
    assert.equal((await opens(shown.id, secret)).status, 200);
  });

  test('PUT /v1/projects/<ID> requires a valid name', async () => {
    const { id } = await create();
    expectError(await asCustomer('PUT', `/v1/projects/${id}`, {}), 400, 'missing_field', 'name');
    expectError(await asCustomer('PUT', `/v1/projects/${id}`, { name: null }), 400, 'invalid_field', 'name');
    expectError(
      await asCustomer('PUT', `/v1/projects/${id}`, { secret: 's' }),
      400,
      'unexpected_field',
      'secret',
    );
  });

  test('a project that does not exist is project_not_found, without WWW-Authenticate', async () => {
    expectNoProject(await asCustomer('GET', '/v1/projects/no-such'));
    expectNoProject(await asCustomer('PUT', '/v1/projects/no-such', { name: 'N' }));
    expectNoProject(await asCustomer('DELETE', '/v1/projects/no-such'));
    expectNoProject(await asCustomer('POST', '/v1/projects/no-such/rotate-secret', {}));
  });

  test('PUT /v1/projects/<ID> does not create: the body is checked first, then the project', async () => {
    expectError(await asCustomer('PUT', '/v1/projects/no-such', { nick: 'N' }), 400, 'unexpected_field');
    expectNoProject(await asCustomer('PUT', '/v1/projects/no-such', { name: 'N' }));
    expectNoProject(await asCustomer('GET', '/v1/projects/no-such'));
  });
});

describe('the projects of another customer', () => {
  test('the projects of another customer are not listed', async () => {
    const [mine, other] = [await create('Mine'), await create('Other', asOther)];
    const idsOf = (answer: Answer) => expectOk<Created[]>(answer).map(({ id }) => id);
    const [seen, seenByOther] = [
      idsOf(await asCustomer('GET', '/v1/projects')),
      idsOf(await asOther('GET', '/v1/projects')),
    ];
    assert.ok(seen.includes(mine.id) && !seen.includes(other.id) && !seen.includes(OTHER.projectId));
    assert.deepEqual(seenByOther.sort(), [OTHER.projectId, other.id].sort());
  });

  test('the projects of another customer can be neither read, renamed, deleted nor given a new secret: project_not_found', async () => {
    const path = `/v1/projects/${OTHER.projectId}`;
    expectNoProject(await asCustomer('GET', path));
    expectNoProject(await asCustomer('PUT', path, { name: 'Taken' }));
    expectNoProject(await asCustomer('POST', `${path}/rotate-secret`, { overlap_seconds: 0 }));
    expectNoProject(await asCustomer('DELETE', path));
    assert.equal((await opens(OTHER.projectId, OTHER.projectSecret)).status, 200);
  });

  test("the projects of another customer are not opened by one customer's secret under the other's ID", async () => {
    const forged = jwt({ customer_id: OTHER.customerId, iat: server.now() }, server.raw.customerSecret);
    expectError(await server.call(forged, 'GET', '/v1/projects'), 401, 'invalid_customer_token');
  });
});

describe('one project and another', () => {
  test('two projects share no group, user, membership, preference or presence', async () => {
    const [one, two] = [await server.project(), await server.project()];
    await one.seed({ users: [{ id: 'u', name: 'One' }], groups: [{ id: 'g', name: 'One', members: ['u'] }] });
    assert.deepEqual(await two.groups(), []);
    assert.deepEqual(await two.users(), []);
    await two.seed({ users: [{ id: 'u', name: 'Two' }], groups: [{ id: 'g', name: 'Two', members: [] }] });
    expectDone(
      await one.put('/v1/u/preferences', { key: 'notification_channels', value: { sendViaEmail: false } }),
    );
    expectDone(await one.put('/v1/users/u/presence', { groupID: 'g', location: { p: '1' } }));
    expectDone(await one.put('/v1/users/u/presence', { groupID: 'g', location: { p: '2' }, durable: true }));
    assert.equal((await one.user('u')).name, 'One');
    assert.deepEqual((await two.group('g')).members, []);
    assert.match((await two.get('/v1/users/u/preferences')).text, /"sendViaEmail":\s*true/);
    assert.deepEqual(expectOk<{ users: [] }>(await two.get('/v1/groups/g/presence')).users, []);
    expectDone(await two.delete('/v1/groups/g'));
    expectDone(await two.delete('/v1/users/u'));
    assert.deepEqual((await one.group('g')).members, ['u']);
  });

  test('two projects cannot name each other’s users as members', async () => {
    const [one, two] = [await server.project(), await server.project()];
    await one.seedUsers('only-in-one');
    expectNotFound(
      await two.put('/v1/groups/g', { name: 'G', members: ['only-in-one'] }),
      'user_not_found',
      'only-in-one',
    );
  });

  test('two projects do not accept each other’s page tokens', async () => {
    const [one, two] = [await server.project(), await server.project()];
    for (const project of [one, two]) await project.seedUsers('a', 'b', 'c');
    const page = expectOk<{ pagination: { token: string } }>(await one.get('/v1/users?limit=1'));
    const path = `/v1/users?limit=1&token=${encodeURIComponent(page.pagination.token)}`;
    assert.equal((await one.get(path)).status, 200);
    expectError(await two.get(path), 400, 'invalid_field', 'token');
  });
});

describe('DELETE /v1/projects/<ID>', () => {
  test('DELETE /v1/projects/<ID> removes the project and all of its data', async () => {
    const project = await server.projectWithGroup('g', 'u');
    expectDone(await asCustomer('DELETE', `/v1/projects/${project.id}`), project.id);
    expectNoProject(await asCustomer('GET', `/v1/projects/${project.id}`));
    expectNoProject(await asCustomer('DELETE', `/v1/projects/${project.id}`));
    assert.ok(!(await asCustomer('GET', '/v1/projects')).text.includes(project.id));
  });

  test('DELETE /v1/projects/<ID> makes its tokens project_not_found and application_not_found at once, also those that were just used', async () => {
    const project = await server.project();
    const appToken = jwt({ app_id: project.id, iat: server.now() }, project.secret);
    assert.equal((await project.get('/v1/groups')).status, 200);
    assert.equal((await server.call(appToken, 'GET', '/v1/groups')).status, 200);
    expectDone(await asCustomer('DELETE', `/v1/projects/${project.id}`));
    const answers = [
      [await project.get('/v1/groups'), 'project_not_found'],
      [await project.put('/v1/groups/g', { name: 'G' }), 'project_not_found'],
      [await server.call(appToken, 'GET', '/v1/groups'), 'application_not_found'],
    ] as const;
    for (const [answer, code] of answers) {
      expectError(answer, 401, code);
      assert.match(String(answer.headers['www-authenticate']), /^Bearer\b/);
    }
  });

  test('DELETE /v1/projects/<ID> leaves the other projects alone', async () => {
    const [deleted, other] = [await server.project(), await server.project()];
    for (const project of [deleted, other]) await project.seedUsers('u');
    expectDone(await asCustomer('DELETE', `/v1/projects/${deleted.id}`));
    assert.deepEqual(await other.userIds(), ['u']);
  });
});

describe('POST /v1/projects/<ID>/rotate-secret', () => {
  const rotate = async (id: string, body: object) =>
    expectOk<{ secret: string; previous_valid_until: string }>(
      await asCustomer('POST', `/v1/projects/${id}/rotate-secret`, body),
    );

  test('POST /v1/projects/<ID>/rotate-secret answers exactly secret and previous_valid_until, by default 24 hours ahead', async () => {
    const { id, secret } = await create();
    const rotated = await rotate(id, {});
    assert.deepEqual(Object.keys(rotated).sort(), ['previous_valid_until', 'secret']);
    assert.notEqual(rotated.secret, secret);
    assert.equal(rotated.previous_valid_until, new Date(clock.now() + 86_400_000).toISOString());
  });

  test('POST /v1/projects/<ID>/rotate-secret needs no body: one of length zero is none, whatever its content type', async () => {
    const { id } = await create();
    for (const type of [
      'application/json',
      'application/x-www-form-urlencoded',
      'text/plain; charset=latin1',
    ]) {
      const headers = { authorization: `Bearer ${server.customerToken()}`, 'content-type': type };
      expectOk(await server.bare('POST', `/v1/projects/${id}/rotate-secret`, headers, ''));
    }
  });

  test('both secrets of a project are accepted until the overlap ends, then only the new one', async () => {
    const { id, secret } = await create();
    const rotated = await rotate(id, { overlap_seconds: 600 });
    assert.equal(rotated.previous_valid_until, new Date(clock.now() + 600_000).toISOString());
    for (const each of [secret, rotated.secret]) assert.equal((await opens(id, each)).status, 200);
    clock.move(599_000);
    for (const each of [secret, rotated.secret]) assert.equal((await opens(id, each)).status, 200);
    clock.move(1_000);
    expectError(await opens(id, secret), 401, 'invalid_project_token');
    assert.equal((await opens(id, rotated.secret)).status, 200);
  });

  test('a token of the old secret that was accepted before is rejected when the overlap has ended', async () => {
    const { id, secret } = await create();
    const token = jwt({ project_id: id, iat: server.now() }, secret);
    assert.equal((await server.call(token, 'GET', '/v1/groups')).status, 200);
    await rotate(id, { overlap_seconds: 60 });
    assert.equal((await server.call(token, 'GET', '/v1/groups')).status, 200);
    clock.move(60_000);
    expectError(await server.call(token, 'GET', '/v1/groups'), 401, 'invalid_project_token');
  });

  test('a rotation with an overlap of 0 ends the old secret at once, also for tokens that were just used', async () => {
    const { id, secret } = await create();
    const token = jwt({ project_id: id, iat: server.now() }, secret);
    assert.equal((await server.call(token, 'GET', '/v1/groups')).status, 200);
    const rotated = await rotate(id, { overlap_seconds: 0 });
    expectError(await server.call(token, 'GET', '/v1/groups'), 401, 'invalid_project_token');
    assert.equal((await opens(id, rotated.secret)).status, 200);
  });

  test('a rotation with an overlap of 0 ends the old secret for good, also by a clock that is behind or set back', async () => {
    const { id, secret } = await create();
    await rotate(id, { overlap_seconds: 0 });
    clock.jump(-5_000);
    try {
      expectError(await opens(id, secret), 401, 'invalid_project_token');
    } finally {
      clock.jump(5_000);
    }
  });

  test('a project has one previous secret: a second rotation ends the first one', async () => {
    const { id, secret } = await create();
    const second = await rotate(id, {});
    const third = await rotate(id, {});
    expectError(await opens(id, secret), 401, 'invalid_project_token');
    for (const each of [second.secret, third.secret]) assert.equal((await opens(id, each)).status, 200);
  });

  test('app tokens are accepted with the same secrets of a rotation', async () => {
    const { id, secret } = await create();
    await rotate(id, { overlap_seconds: 0 });
    const token = jwt({ app_id: id, iat: server.now() }, secret);
    expectError(await server.call(token, 'GET', '/v1/groups'), 401, 'invalid_app_token');
  });

  test('POST /v1/projects/<ID>/rotate-secret rejects an overlap_seconds that is no whole number, and changes nothing', async () => {
    const { id, secret } = await create();
    for (const overlap_seconds of [-1, 1.5, '60', null, true, 1e15]) {
      const answer = await asCustomer('POST', `/v1/projects/${id}/rotate-secret`, { overlap_seconds });
      expectError(answer, 400, 'invalid_field', 'overlap_seconds');
    }
    const unexpected = await asCustomer('POST', `/v1/projects/${id}/rotate-secret`, { seconds: 1 });
    expectError(unexpected, 400, 'unexpected_field', 'seconds', 'overlap_seconds');
    assert.equal((await opens(id, secret)).status, 200);
  });
});
