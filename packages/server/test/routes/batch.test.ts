import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ChangeCounts } from '@rollcall/protocol';
import { applied, batch, projectWithBoth } from '../support/batch-client.ts';
import { buildGroup, buildIds, buildUser } from '../support/build.ts';
import { expectDone, expectError, expectNotFound, expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';

const server = oneServer();

const NONE: ChangeCounts = { created: 0, updated: 0, unchanged: 0 };
const counts = (changed: Partial<ChangeCounts>): ChangeCounts => ({ ...NONE, ...changed });

describe('POST /v1/batch applies', () => {
  test('POST /v1/batch creates new IDs, and the answer counts and names them', async () => {
    const project = await server.project();
    const body = {
      users: [{ id: 'u1', name: 'Ann', email: 'ann@example.com' }, { id: 'u2' }],
      groups: [{ id: 'g', name: 'G', members: ['u2', 'u1'] }],
    };
    assert.deepEqual(await applied(project, body), {
      success: true,
      message: 'batch updated 2 users and 1 group',
      users: counts({ created: 2 }),
      groups: counts({ created: 1 }),
    });
    assert.deepEqual(await project.group('g'), {
      id: 'g',
      name: 'G',
      status: 'active',
      members: ['u1', 'u2'],
      metadata: {},
      connectedToMessenger: false,
    });
    assert.equal((await project.user('u1')).email, 'ann@example.com');
  });

  test('the message of a batch agrees in number', async () => {
    const project = await server.project();
    const body = { users: [{ id: 'u' }], groups: ['g', 'h'].map((id) => ({ id, name: id })) };
    assert.equal((await applied(project, body)).message, 'batch updated 1 user and 2 groups');
  });

  test('POST /v1/batch updates existing IDs with the supplied fields alone', async () => {
    const project = await projectWithBoth(server);
    const body = { users: [{ id: 'u1', name: 'Anna' }], groups: [{ id: 'g', metadata: { b: 2 } }] };
    const done = await applied(project, body);
    assert.deepEqual([done.users, done.groups], [counts({ updated: 1 }), counts({ updated: 1 })]);
    const { name, email } = await project.user('u1');
    assert.deepEqual([name, email], ['Anna', 'ann@example.com']);
    const group = await project.group('g');
    assert.deepEqual([group.name, group.metadata, group.members], ['G', { b: 2 }, ['u1', 'u2']]);
  });

  test('POST /v1/batch replaces the members of a group, and repeated IDs count once', async () => {
    const project = await projectWithBoth(server);
    await applied(project, { users: [{ id: 'u3' }], groups: [{ id: 'g', members: ['u3', 'u2', 'u3'] }] });
    assert.deepEqual((await project.group('g')).members, ['u2', 'u3']);
    await applied(project, { groups: [{ id: 'g', members: [] }] });
    assert.deepEqual((await project.group('g')).members, []);
  });

  test('a group of a batch can name users of the same batch, whichever list comes first in the body', async () => {
    const project = await server.project();
    const body = '{"groups": [{"id": "g", "name": "G", "members": ["u"]}], "users": [{"id": "u"}]}';
    expectOk(await project.send('POST', '/v1/batch', body));
    assert.deepEqual((await project.group('g')).members, ['u']);
  });

  test('items of a batch that change nothing count as unchanged', async () => {
    const project = await projectWithBoth(server);
    const body = {
      users: [{ id: 'u1', name: 'Ann' }, { id: 'u2', name: 'Beatrice' }, { id: 'u3' }, { id: 'u1' }],
      groups: [
        { id: 'g', name: 'G', members: ['u2', 'u1', 'u2'], metadata: { a: 1 }, status: 'active' },
        { id: 'h', name: 'H' },
      ],
    };
    const done = await applied(project, body);
    assert.deepEqual(done.users, { created: 1, updated: 1, unchanged: 2 });
    assert.deepEqual(done.groups, { created: 1, updated: 0, unchanged: 1 });
  });

  test('the same batch sent twice is unchanged the second time', async () => {
    const project = await server.project();
    const users = buildIds('u', 12).map((id) => ({
      id,
      name: id,
      email: `${id}@example.com`,
      metadata: { id },
    }));
    const groups = [{ id: 'g', name: 'G', members: buildIds('u', 12), metadata: { z: [1.5, null], a: 'ä' } }];
    await applied(project, { users, groups });
    const again = await project.unchanged(() => applied(project, { users, groups }));
    assert.deepEqual([again.users, again.groups], [counts({ unchanged: 12 }), counts({ unchanged: 1 })]);
  });

  test('items of a batch apply in order, and the counts add up to the length of its lists', async () => {
    const project = await server.project();
    const body = {
      users: [
        { id: 'u', name: 'First', short_name: 'F' },
        { id: 'u', name: 'Second' },
        { id: 'u', name: 'Second' },
      ],
      groups: [
        { id: 'g', name: 'First', members: ['u'] },
        { id: 'g', status: 'deleted' },
        { id: 'g', name: 'Last', members: [] },
      ],
    };
    const done = await applied(project, body);
    assert.deepEqual(done.users, { created: 1, updated: 1, unchanged: 1 });
    assert.deepEqual(done.groups, { created: 1, updated: 2, unchanged: 0 });
    const user = await project.user('u');
    assert.deepEqual([user.name, user.short_name], ['Second', 'F']);
    const group = await project.group('g');
    assert.deepEqual([group.name, group.status, group.members], ['Last', 'deleted', []]);
  });

  test('POST /v1/batch sets the status of users and groups, created or updated, in both directions', async () => {
    const project = await server.project();
    const statusOf = async () => [(await project.user('u')).status, (await project.group('g')).status];
    for (const status of ['deleted', 'active', 'deleted']) {
      await applied(project, { users: [{ id: 'u', status }], groups: [{ id: 'g', name: 'G', status }] });
      assert.deepEqual(await statusOf(), [status, status]);
    }
    await applied(project, { users: [{ id: 'u', name: 'New' }], groups: [{ id: 'g', name: 'New' }] });
    assert.deepEqual(await statusOf(), ['deleted', 'deleted']);
  });

  test('POST /v1/batch sets every field of a user, and null clears the fields that it can clear', async () => {
    const project = await server.project();
    const fields = {
      name: 'Ann',
      short_name: 'A',
      email: 'ann@example.com',
      profile_picture_url: 'https://example.com/a.png',
      status: 'deleted',
      metadata: { a: 1 },
    };
    await applied(project, { users: [{ id: 'u', ...fields }] });
    const { created_at, updated_at, ...read } = await project.user('u');
    assert.deepEqual(read, { id: 'u', ...fields });
    assert.ok(created_at <= updated_at);
    await applied(project, { users: [{ id: 'u', short_name: null, email: '', profile_picture_url: null }] });
    const cleared = await project.user('u');
    assert.deepEqual([cleared.short_name, cleared.email, cleared.profile_picture_url], [null, null, null]);
  });

  test('a batch of {} or of empty lists succeeds and changes nothing', async () => {
    const project = await projectWithBoth(server);
    await project.unchanged(async () => {
      for (const body of [{}, { users: [] }, { groups: [] }, { users: [], groups: [] }]) {
        assert.deepEqual(await applied(project, body), {
          success: true,
          message: 'batch updated 0 users and 0 groups',
          users: NONE,
          groups: NONE,
        });
      }
    });
  });
});

describe('the limits of a batch', () => {
  const users = (count: number) => buildIds('u', count).map((id) => buildUser({ id }));
  const groups = (count: number) => buildIds('g', count).map((id) => buildGroup({ id }));

  test('a batch of 10,000 users and 1,000 groups is applied', async () => {
    const project = await server.project();
    const done = await applied(project, { users: users(10_000), groups: groups(1_000) });
    assert.deepEqual([done.users, done.groups], [counts({ created: 10_000 }), counts({ created: 1_000 })]);
    assert.equal(done.message, 'batch updated 10000 users and 1000 groups');
  });

  test('a batch of one user or one group more is invalid_field with the limit, and applies nothing', async () => {
    const project = await server.project();
    await project.unchanged(async () => {
      expectError(await batch(project, { users: users(10_001) }), 400, 'invalid_field', 'users', '10000');
      expectError(await batch(project, { groups: groups(1_001) }), 400, 'invalid_field', 'groups', '1000');
    });
  });
});

describe('POST /v1/batch?dry_run=true', () => {
  test('POST /v1/batch?dry_run=true answers the counts of the batch, and applies nothing', async () => {
    const project = await projectWithBoth(server);
    const body = {
      users: [{ id: 'u1', name: 'Anna' }, { id: 'u2' }, { id: 'u3' }],
      groups: [
        { id: 'g', members: ['u3'] },
        { id: 'h', name: 'H' },
      ],
    };
    const dry = await project.unchanged(() => applied(project, body, '?dry_run=true'));
    const { message, ...rest } = await applied(project, body);
    assert.deepEqual([dry.success, dry.users, dry.groups], [true, rest.users, rest.groups]);
    assert.deepEqual(dry.users, { created: 1, updated: 1, unchanged: 1 });
    assert.deepEqual(dry.groups, { created: 1, updated: 1, unchanged: 0 });
    assert.notEqual(dry.message, message, 'the message of a dry run must not claim that something was done');
  });

  test('POST /v1/batch?dry_run=true answers the errors of the batch', async () => {
    const project = await projectWithBoth(server);
    const bodies = [
      { users: [{ nick: 1 }] },
      { groups: [{ id: 'x' }] },
      { users: [{ id: 7 }] },
      { groups: [{ id: 'x', name: 'X', members: ['nobody'] }] },
    ];
    for (const body of bodies) {
      const dry = await batch(project, body, '?dry_run=true');
      const real = await batch(project, body);
      assert.deepEqual([dry.status, dry.json()], [real.status, real.json()]);
    }
  });

  test('POST /v1/batch?dry_run=false applies; another value is invalid_field, another parameter unexpected_field', async () => {
    const project = await projectWithBoth(server);
    await applied(project, { users: [{ id: 'x' }] }, '?dry_run=false');
    assert.deepEqual(await project.userIds(), ['u1', 'u2', 'x']);
    await project.unchanged(async () => {
      for (const value of ['', '1', 'yes', 'TRUE', 'true&dry_run=true']) {
        const answer = await batch(project, { users: [{ id: 'y' }] }, `?dry_run=${value}`);
        expectError(answer, 400, 'invalid_field', 'dry_run', 'true');
      }
      const answer = await batch(project, { users: [{ id: 'y' }] }, '?dryrun=true');
      expectError(answer, 400, 'unexpected_field', 'dryrun', 'dry_run');
    });
  });
});

describe('racing batches', () => {
  test('racing batches that name the same users and groups in opposite orders are all applied, each as a whole', async () => {
    const project = await server.project();
    const ids = buildIds('x', 40);
    const bodyOf = (racer: number) => {
      const order = racer % 2 === 0 ? ids : ids.toReversed();
      const name = `racer ${racer}`;
      return {
        users: order.map((id) => ({ id, name })),
        groups: order.map((id) => ({
          id,
          name,
          members: racer % 2 === 0 ? ids.slice(0, 20) : ids.slice(20),
        })),
      };
    };
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, racer) => batch(project, bodyOf(racer))),
    );
    for (const answer of answers) expectOk(answer);
    const names = [...(await project.users()), ...(await project.groups())].map(({ name }) => name);
    assert.equal(new Set(names).size, 1, `a mixture: ${[...new Set(names)]}`);
    const members = await Promise.all(ids.map(async (id) => (await project.group(id)).members.join()));
    assert.equal(new Set(members).size, 1);
  });

  test('a batch that fails among racing batches leaves no trace', async () => {
    const project = await server.project();
    const good = (n: number) => ({
      users: [{ id: `u${n}` }],
      groups: [{ id: `g${n}`, name: 'G', members: [`u${n}`] }],
    });
    const bad = (n: number) => ({
      users: [{ id: `bad${n}` }],
      groups: [{ id: `bad${n}`, name: 'B', members: ['nobody'] }],
    });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => batch(project, n % 2 === 0 ? good(n) : bad(n))),
    );
    for (const [n, answer] of answers.entries()) {
      if (n % 2 === 0) expectOk(answer);
      else expectNotFound(answer, 'user_not_found', 'nobody');
    }
    const even = Array.from({ length: 10 }, (_, n) => 2 * n);
    assert.deepEqual(await project.userIds(), even.map((n) => `u${n}`).sort());
    assert.deepEqual(await project.groupIds(), even.map((n) => `g${n}`).sort());
  });

  test('racing deletions and batches of the same group never leave members of a group that does not exist', async () => {
    const project = await server.projectWithUsers('u');
    const body = { groups: [{ id: 'g', name: 'G', members: ['u'] }] };
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        n % 2 === 0 ? batch(project, body) : project.delete('/v1/groups/g'),
      ),
    );
    for (const { status } of answers) assert.ok(status === 200 || status === 401, String(status));
    await project.delete('/v1/groups/g');
    expectDone(await project.put('/v1/groups/g', { name: 'Again' }));
    assert.deepEqual((await project.group('g')).members, []);
  });
});
