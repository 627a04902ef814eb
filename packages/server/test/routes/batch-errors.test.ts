import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { applied, batch, projectWithBoth } from '../support/batch-client.ts';
import { expectError, expectNotFound } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';

const server = oneServer();

/** The valid items of a batch with an error elsewhere: none of them may be applied. */
const GOOD = {
  users: [{ id: 'u1', name: 'Changed' }, { id: 'new' }],
  groups: [
    { id: 'g', members: [], status: 'deleted' },
    { id: 'newgroup', name: 'New' },
  ],
};
const withUser = (user: unknown) => ({ ...GOOD, users: [...GOOD.users, user] });
const withGroup = (group: unknown) => ({ ...GOOD, groups: [...GOOD.groups, group] });

describe('POST /v1/batch applies nothing when one item is invalid', () => {
  const wrong: [
    code: 'unexpected_field' | 'missing_field' | 'invalid_field',
    body: unknown,
    paths: string[],
  ][] = [
    ['unexpected_field', withUser({ id: 'x', nick: 'y' }), ['users[2].nick', 'id', 'short_name', 'metadata']],
    ['unexpected_field', withUser({ id: 'x', created_at: 'y' }), ['users[2].created_at']],
    ['unexpected_field', withGroup({ id: 'x', name: 'X', add: [] }), ['groups[2].add', 'id', 'members']],
    ['unexpected_field', { ...GOOD, organizations: [] }, ['organizations', 'users', 'groups']],
    ['missing_field', withUser({ name: 'X' }), ['users[2].id']],
    ['missing_field', withUser({}), ['users[2].id']],
    ['missing_field', withGroup({ name: 'X' }), ['groups[2].id']],
    ['missing_field', withGroup({ id: 'x' }), ['groups[2].name']],
    ['missing_field', withGroup({ id: 'x', members: ['u1'] }), ['groups[2].name']],
    ['invalid_field', withUser({ id: 7 }), ['users[2].id']],
    ['invalid_field', withUser({ id: '' }), ['users[2].id']],
    ['invalid_field', withUser({ id: 'x', name: null }), ['users[2].name']],
    ['invalid_field', withUser({ id: 'x', email: 'not an address' }), ['users[2].email']],
    ['invalid_field', withUser({ id: 'x', status: 'gone' }), ['users[2].status']],
    ['invalid_field', withUser({ id: 'x', profile_picture_url: '/x' }), ['users[2].profile_picture_url']],
    ['invalid_field', withUser({ id: 'x', metadata: { k: 'x'.repeat(16_384) } }), ['users[2].metadata']],
    ['invalid_field', withUser({ id: 'x', name: 'a\u0000' }), ['users[2].name']],
    ['invalid_field', withUser({ id: 'x', name: 'a\ud83d' }), ['users[2].name']],
    ['invalid_field', withUser('x'), ['users[2]']],
    ['invalid_field', withUser(null), ['users[2]']],
    ['invalid_field', withUser(['x']), ['users[2]']],
    ['invalid_field', withGroup({ id: 'x', name: '' }), ['groups[2].name']],
    ['invalid_field', withGroup({ id: 'x', name: null }), ['groups[2].name']],
    ['invalid_field', withGroup({ id: 'x', name: 'X', members: null }), ['groups[2].members']],
    ['invalid_field', withGroup({ id: 'x', name: 'X', members: ['u1', 7] }), ['groups[2].members[1]']],
    ['invalid_field', withGroup({ id: 'x', name: 'X', status: 1 }), ['groups[2].status']],
    ['invalid_field', withGroup(7), ['groups[2]']],
    ['invalid_field', { ...GOOD, users: null }, ['users']],
    ['invalid_field', { ...GOOD, users: {} }, ['users']],
    ['invalid_field', { ...GOOD, groups: null }, ['groups']],
    ['invalid_field', { ...GOOD, groups: 'g' }, ['groups']],
  ];
  for (const [code, body, paths] of wrong) {
    test(`a batch with ${code} at ${paths[0]} applies nothing (${JSON.stringify(body).slice(-48)})`, async () => {
      const project = await projectWithBoth(server);
      const answer = await project.unchanged(() => batch(project, body));
      expectError(answer, 400, code, ...paths);
    });
  }

  test('a batch with an unknown member is user_not_found, names the item, and applies nothing', async () => {
    const project = await projectWithBoth(server);
    const answer = await project.unchanged(() =>
      batch(project, withGroup({ id: 'x', name: 'X', members: ['u1', 'nobody'] })),
    );
    expectNotFound(answer, 'user_not_found', 'groups[2].members', 'nobody');
  });

  test('a batch whose JSON is malformed at its end is invalid_request, and applies nothing', async () => {
    const project = await projectWithBoth(server);
    for (const text of [
      '',
      '[]',
      '7',
      'null',
      '"{}"',
      `${JSON.stringify(GOOD)}}`,
      JSON.stringify(GOOD).slice(0, -1),
    ]) {
      const answer = await project.unchanged(() => project.send('POST', '/v1/batch', text));
      expectError(answer, 400, 'invalid_request');
    }
  });

  test('a batch needs no name of a group that exists, or that an earlier item creates', async () => {
    const project = await projectWithBoth(server);
    await applied(project, { groups: [{ id: 'g' }, { id: 'h', name: 'H' }, { id: 'h', status: 'deleted' }] });
    assert.equal((await project.group('h')).status, 'deleted');
    const late = { groups: [{ id: 'late' }, { id: 'late', name: 'Late' }] };
    expectError(await batch(project, late), 400, 'missing_field', 'groups[0].name');
  });

  test('a member whom no item of a batch creates is user_not_found, also when another item names the ID', async () => {
    const project = await projectWithBoth(server);
    const body = { groups: [{ id: 'h', name: 'H', members: ['g'] }] };
    expectNotFound(await batch(project, body), 'user_not_found', 'groups[0].members', 'g');
  });
});

describe('the steps of a batch run over the whole of it', () => {
  const unexpected = { id: 'a', nick: 1 };
  const missing = {};
  const invalid = { id: 7 };

  test('unexpected_field in the last group of a batch comes before missing_field and invalid_field in the first users', async () => {
    const project = await server.project();
    const body = {
      users: [missing, invalid],
      groups: [
        { id: 'g', name: 'G' },
        { ...unexpected, name: 'X' },
      ],
    };
    const message = expectError(await batch(project, body), 400, 'unexpected_field', 'groups[1].nick');
    assert.doesNotMatch(message, /users\[/);
  });

  test('missing_field in a batch comes before invalid_field, also for the name of a group that would be created', async () => {
    const project = await server.project();
    const body = { users: [invalid], groups: [{ id: 'g' }] };
    const message = expectError(await batch(project, body), 400, 'missing_field', 'groups[0].name');
    assert.doesNotMatch(message, /users\[/);
  });

  test('invalid_field in a batch comes before user_not_found', async () => {
    const project = await server.project();
    const body = { users: [{ id: 'u', name: 7 }], groups: [{ id: 'g', name: 'G', members: ['nobody'] }] };
    const message = expectError(await batch(project, body), 400, 'invalid_field', 'users[0].name');
    assert.doesNotMatch(message, /nobody/);
  });

  test('a batch names every item that failed at the step', async () => {
    const project = await server.project();
    const body = { users: [invalid, { id: 'u' }, { id: 'v', name: '' }], groups: [{ id: 'g', name: 7 }] };
    const paths = ['users[0].id', 'users[2].name', 'groups[0].name'];
    expectError(await batch(project, body), 400, 'invalid_field', ...paths);
    const groups = ['x', 'y'].map((id) => ({ id }));
    const unnamed = await batch(project, { users: [missing], groups });
    expectError(unnamed, 400, 'missing_field', 'users[0].id', 'groups[0].name', 'groups[1].name');
    const lost = ['x', 'y'].map((id) => ({ id, name: id, members: [`nobody-${id}`] }));
    const answer = await batch(project, { groups: lost });
    expectNotFound(
      answer,
      'user_not_found',
      'groups[0].members',
      'groups[1].members',
      'nobody-x',
      'nobody-y',
    );
  });

  const many = Array.from({ length: 25 }, (_, index) => index);
  const over: [
    code: 'unexpected_field' | 'missing_field' | 'invalid_field',
    body: unknown,
    path: (n: number) => string,
  ][] = [
    ['unexpected_field', { users: many.map((n) => ({ id: `u${n}`, nick: n })) }, (n) => `users[${n}].nick`],
    ['missing_field', { users: many.map(() => ({})) }, (n) => `users[${n}].id`],
    ['missing_field', { groups: many.map((n) => ({ id: `g${n}` })) }, (n) => `groups[${n}].name`],
    ['invalid_field', { users: many.map((n) => ({ id: n })) }, (n) => `users[${n}].id`],
  ];
  for (const [code, body, path] of over) {
    test(`a batch with ${code} at 25 paths such as ${path(0)} names the first 20 and counts 5`, async () => {
      const project = await server.project();
      const named = many.slice(0, 20).map(path);
      const message = expectError(await batch(project, body), 400, code, ...named, '5 more');
      assert.ok(!message.includes(path(20)), message);
    });
  }

  test('a batch with user_not_found in 25 groups names the first 20 and counts 5', async () => {
    const project = await server.project();
    const groups = many.map((n) => ({ id: `g${n}`, name: 'G', members: ['nobody'] }));
    const named = many.slice(0, 20).map((n) => `groups[${n}].members`);
    const message = expectNotFound(await batch(project, { groups }), 'user_not_found', ...named, '5 more');
    assert.doesNotMatch(message, /groups\[20\]/);
  });
});
