import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { expectCreated, expectDone, expectError, expectNotFound, expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import { type Project, segment } from '../support/project-client.ts';

const server = oneServer();

/** Writes, reads, lists and removes a user and a group with the ID, which must come back unchanged everywhere. */
async function roundTrip(project: Project, id: string): Promise<void> {
  const path = segment(id);
  assert.equal(
    (await project.put(`/v1/users/${path}`, {})).json<{ message: string }>().message,
    `created user ${id}`,
  );
  expectDone(await project.put(`/v1/groups/${path}`, { name: 'G', members: [id] }), `created group ${id}`);
  assert.equal((await project.user(id)).id, id);
  const group = await project.group(id);
  assert.deepEqual([group.id, group.members], [id, [id]]);
  const page = expectOk<{ users: { id: string }[] }>(await project.get(`/v1/groups/${path}/members`));
  const groups = expectOk<{ groups: { id: string }[] }>(await project.get(`/v1/users/${path}/groups`));
  assert.deepEqual([page.users[0]?.id, groups.groups[0]?.id], [id, id]);
  assert.ok((await project.groupIds()).includes(id));
  expectDone(await project.post(`/v1/groups/${path}/members`, { remove: [id] }));
  expectDone(await project.put(`/v1/users/${path}/preferences`, { key: 'notification_channels', value: {} }));
  expectDone(await project.delete(`/v1/groups/${path}`), `deleted group ${id}`);
  expectDone(await project.delete(`/v1/users/${path}`), `deleted user ${id}`);
  assert.deepEqual([await project.groupIds(), await project.userIds()], [[], []]);
}

describe('any character outside category C is legal in an ID', () => {
  const ids = [
    'plain',
    'with space',
    ' leading and trailing ',
    'a/b',
    '/',
    '//',
    '..',
    '.',
    '../..',
    'a+b',
    '+',
    '%',
    '%2F',
    '%252F',
    '%zz',
    'a?b=c&d#e',
    ';v=1',
    '&=',
    '"; DROP TABLE groups; --',
    '$(id) #{7*7} {{7*7}}',
    '%s%n',
    '<script>',
    '_',
    ':id',
    '*',
    '"quoted"',
    "' or 1=1 --",
    '\\',
    '😀',
    '👍🏽',
    'ñ',
    'n\u0303',
    '中文',
    'עברית',
    '\u00a0',
    '\u2028',
    'members',
    'preferences',
    'presence',
    'groups',
    'users',
    'batch',
    '__proto__',
    'constructor',
    'toString',
    'null',
    'undefined',
    'true',
    'NaN',
    '0',
    '-1',
    'x'.repeat(320),
    '中'.repeat(320),
    '😀'.repeat(320),
  ];
  for (const id of ids) {
    test(`an ID of ${id.length > 40 ? `${id.slice(0, 2)} × 320` : JSON.stringify(id)} is read back as written`, async () => {
      await roundTrip(await server.project(), id);
    });
  }

  test('a random ID without characters of category C is read back as written', async () => {
    const project = await server.project();
    const legal = fc
      .string({ unit: 'binary', minLength: 1, maxLength: 12 })
      .filter((id) => /^\P{C}+$/u.test(id));
    await fc.assert(
      fc.asyncProperty(legal, (id) => roundTrip(project, id)),
      { numRuns: 20 },
    );
  });
});

describe('IDs in a path', () => {
  const same: [path: string, id: string][] = [
    ['%2E%2E', '..'],
    ['%2e%2E', '..'],
    ['a%2Fb', 'a/b'],
    ['a%2fb', 'a/b'],
    ['a%252Fb', 'a%2Fb'],
    ['a+b', 'a+b'],
    ['a%2Bb', 'a+b'],
    ['a%20b', 'a b'],
    ['%61', 'a'],
    ['%F0%9F%98%80', '😀'],
    ["it's~(ok)!*@:$&,;=", "it's~(ok)!*@:$&,;="],
  ];
  for (const [path, id] of same) {
    test(`${path} is the ID ${JSON.stringify(id)}`, async () => {
      const project = await server.project();
      expectDone(await project.put(`/v1/groups/${path}`, { name: 'G' }));
      expectDone(await project.put(`/v1/users/${path}`, {}));
      assert.deepEqual([await project.groupIds(), await project.userIds()], [[id], [id]]);
      assert.equal(expectOk<{ id: string }>(await project.get(`/v1/groups/${path}`)).id, id);
    });
  }

  test('IDs compare by exact code points: case and normal form make different IDs', async () => {
    const project = await server.project();
    const ids = ['a', 'A', 'ä', 'a\u0308', 'a ', 'ａ', 'ß', 'SS', 'ss', 'ı', 'I', 'i'];
    for (const id of ids) expectDone(await project.put(`/v1/groups/${segment(id)}`, { name: id }), 'created');
    for (const id of ids) assert.equal((await project.group(id)).name, id);
    await project.seedUsers(...ids);
    assert.deepEqual(new Set(await project.userIds()), new Set(ids));
  });

  const illegal: [what: string, path: string][] = [
    ['NUL', 'a%00'],
    ['a line feed', 'a%0Ab'],
    ['a tab', '%09'],
    ['DEL', '%7F'],
    ['a C1 control', '%C2%85'],
    ['a zero-width space', 'a%E2%80%8B'],
    ['a zero-width joiner', '%F0%9F%91%A8%E2%80%8D%F0%9F%91%A9'],
    ['a soft hyphen', '%C2%AD'],
    ['a byte order mark', '%EF%BB%BFa'],
    ['a right-to-left override', '%E2%80%AE'],
    ['a private-use character', '%EE%80%80'],
    ['an unassigned character', '%CD%B8'],
    ['a noncharacter', '%EF%BF%BF'],
    ['321 characters', 'x'.repeat(321)],
    ['321 characters beyond the first plane', '%F0%9F%98%80'.repeat(321)],
  ];
  for (const [what, path] of illegal) {
    test(`${what} is invalid_field on every route`, async () => {
      const project = await server.project();
      const answers = [
        await project.put(`/v1/groups/${path}`, { name: 'G' }),
        await project.get(`/v1/groups/${path}`),
        await project.delete(`/v1/groups/${path}`),
        await project.get(`/v1/groups/${path}/members`),
        await project.post(`/v1/groups/${path}/members`, {}),
        await project.put(`/v1/users/${path}`, {}),
        await project.get(`/v1/users/${path}`),
        await project.delete(`/v1/users/${path}`),
        await project.get(`/v1/users/${path}/groups`),
        await project.get(`/v1/users/${path}/preferences`),
        await project.put(`/v1/${path}/preferences`, { key: 'notification_channels', value: {} }),
        await project.put(`/v1/users/${path}/presence`, { groupID: 'g', location: { a: 'b' } }),
      ];
      for (const answer of answers) expectError(answer, 400, 'invalid_field', '320');
      assert.deepEqual([await project.groupIds(), await project.userIds()], [[], []]);
    });
  }

  for (const path of [
    '%',
    '%2',
    '%zz',
    'a%',
    '%FF',
    '%C3',
    '%ED%A0%80',
    '%C0%AF',
    '%F0%9F%98',
    '%F8%88%80%80%80',
    '%E0%A4%A',
    '%u0041',
  ]) {
    test(`the malformed escape ${path} in a path is invalid_field on every route`, async () => {
      const project = await server.project();
      const answers = [
        await project.get(`/v1/groups/${path}`),
        await project.put(`/v1/groups/${path}`, { name: 'G' }),
        await project.delete(`/v1/groups/${path}`),
        await project.get(`/v1/groups/${path}/members`),
        await project.post(`/v1/groups/${path}/members`, {}),
        await project.get(`/v1/users/${path}`),
        await project.put(`/v1/users/${path}`, {}),
        await project.delete(`/v1/users/${path}`),
        await project.get(`/v1/users/${path}/groups`),
        await project.get(`/v1/users/${path}/preferences`),
        await project.put(`/v1/${path}/preferences`, { key: 'notification_channels', value: {} }),
      ];
      for (const answer of answers) expectError(answer, 400, 'invalid_field');
      assert.deepEqual([await project.groupIds(), await project.userIds()], [[], []]);
    });
  }
});

describe('IDs in a body', () => {
  const illegal = [
    7,
    0,
    true,
    null,
    [],
    {},
    ['u'],
    '',
    'a\u0000',
    'a\nb',
    '\u200b',
    '\ue000',
    '\u0378',
    '\ud800',
    'a\udc00',
    '\ude00\ud83d',
    '\u00ad',
    '\uffff',
    '\ufeff',
  ];
  for (const id of [...illegal, 'x'.repeat(321), '😀'.repeat(321)]) {
    test(`${JSON.stringify(id).slice(0, 20)} is invalid_field wherever an ID is expected`, async () => {
      const project = await server.project();
      await project.seed({ groups: [{ id: 'g', name: 'G' }] });
      await project.unchanged(async () => {
        expectError(await project.post('/v1/users', { id }), 400, 'invalid_field', 'id');
        expectError(await project.post('/v1/groups', { id, name: 'G' }), 400, 'invalid_field', 'id');
        expectError(
          await project.post('/v1/batch', { users: [{ id }] }),
          400,
          'invalid_field',
          'users[0].id',
        );
        const groups = [{ id: 'h', name: 'H', members: [id] }];
        expectError(
          await project.post('/v1/batch', { groups }),
          400,
          'invalid_field',
          'groups[0].members[0]',
        );
        expectError(await project.put('/v1/groups/g', { members: [id] }), 400, 'invalid_field', 'members[0]');
        const change = { add: [id] };
        expectError(await project.post('/v1/groups/g/members', change), 400, 'invalid_field', 'add[0]');
        const update = { groupID: id, location: { p: '1' } };
        expectError(await project.put('/v1/users/u/presence', update), 400, 'invalid_field', 'groupID');
      });
    });
  }

  test('an ID in a body has up to 320 characters, of any plane, escaped or not', async () => {
    const project = await server.project();
    expectCreated(await project.post('/v1/users', { id: '😀'.repeat(320) }));
    expectCreated(
      await project.post('/v1/groups', { id: 'x'.repeat(320), name: 'G', members: ['😀'.repeat(320)] }),
    );
    const escaped = '\\ud83d\\ude00'.repeat(320);
    const answer = await project.send('POST', '/v1/users', `{"id": "${escaped}"}`);
    expectError(answer, 409, 'user_already_exists');
  });

  test('an ID in a body is not percent-decoded: %2F is three characters', async () => {
    const project = await server.project();
    expectCreated(await project.post('/v1/groups', { id: 'a%2Fb', name: 'G' }));
    expectNotFound(await project.get('/v1/groups/a%2Fb'), 'group_not_found', 'a/b');
    assert.equal(expectOk<{ id: string }>(await project.get('/v1/groups/a%252Fb')).id, 'a%2Fb');
  });
});

test('a write without its required fields is missing_field also where its path has a NUL, which no store takes', async () => {
  const project = await server.project();
  for (const path of ['groups/%00', 'threads/a%00b', 'threads/t/messages/%00', 'webhooks/%00'])
    expectError(await project.put(`/v1/${path}`, {}), 400, 'missing_field');
});
