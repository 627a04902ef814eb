/** Bodies above 256 KiB, which a thread parses, are answered like small ones. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { limits } from '@rollcall/protocol';
import { expectCreated, expectDone, expectError, expectNotFound } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';

const server = oneServer();
let project: Project;

before(async () => {
  await server.started;
  project = await server.projectWithUsers('ann', 'bob', 'cid');
  expectDone(await project.put('/v1/groups/g', { name: 'G', members: ['ann'] }));
});

/** White space around JSON means nothing, but it makes a body large. */
const PADDING = ' '.repeat(limits.SMALL_BODY_LIMIT_BYTES);
const enlarge = (text: string) => text + PADDING;

/** A request that must be answered alike in both sizes. */
type Case = readonly [
  title: string,
  method: string,
  path: string,
  body: string,
  headers?: Record<string, string>,
];

const MANY = Array.from({ length: 30 }, (_, index) => index);

const REJECTED: readonly Case[] = [
  ['no JSON', 'PUT', '/v1/groups/g', '{"name":'],
  ['no object', 'PUT', '/v1/groups/g', '[]'],
  ['bytes that are no UTF-8', 'PUT', '/v1/groups/g', '{"name":"\xff"}'],
  ['an unexpected field', 'PUT', '/v1/groups/g', '{"nick":1,"name":""}'],
  ['a key with escapes that is unexpected', 'PUT', '/v1/groups/g', '{"na\\u006d":1}'],
  ['wrong values', 'PUT', '/v1/groups/g', '{"na\\u006de":"","status":"gone","members":[1,"ann"]}'],
  ['a wrong type of list', 'PUT', '/v1/groups/g', '{"members":"ann"}'],
  ['many wrong members', 'PUT', '/v1/groups/g', JSON.stringify({ members: MANY })],
  ['a wrong value of a group that would be created', 'PUT', '/v1/groups/new', '{"members":[1]}'],
  ['a wrong value and a name of one', 'PUT', '/v1/groups/new', '{"name":"N","members":[1]}'],
  ['no name of a new group', 'PUT', '/v1/groups/new', '{"members":[]}'],
  ['a number that cannot be stored', 'PUT', '/v1/groups/g', '{"metadata":{"n":1e400}}'],
  ['unknown members', 'PUT', '/v1/groups/g', JSON.stringify({ members: MANY.map((n) => `nobody ${n}`) })],
  ['an ID that is none in the path', 'PUT', '/v1/groups/a%00b', '{"name":"","members":["ann"]}'],
  ['an unexpected query', 'PUT', '/v1/groups/g?x=1', '{"name":""}'],
  ['a precondition', 'PUT', '/v1/groups/g', '{"members":["ann"]}', { 'if-match': '"stale"' }],
  ['a group that exists', 'PUT', '/v1/groups/g', '{"name":"G","members":[]}', { 'if-none-match': '*' }],
  ['a creation without ID and name', 'POST', '/v1/groups', '{"members":["ann"]}'],
  ['a creation of what exists', 'POST', '/v1/groups', '{"id":"g","name":"G","members":["ann"]}'],
  ['a creation with unknown members', 'POST', '/v1/groups', '{"id":"new","name":"N","members":["x","y"]}'],
  ['an unexpected list', 'POST', '/v1/groups/g/members', '{"replace":[]}'],
  ['users in both lists', 'POST', '/v1/groups/g/members', '{"add":["ann","bob"],"remove":["bob","cid"]}'],
  ['users in both lists, and others', 'POST', '/v1/groups/g/members?x', '{"add":[1,"b"],"remove":["b",2]}'],
  ['unknown users to add', 'POST', '/v1/groups/g/members', '{"add":["x"],"remove":["ann"]}'],
  ['members of an unknown group', 'POST', '/v1/groups/new/members', '{"add":["ann"]}'],
  ['members of an unknown organization', 'POST', '/v1/organizations/new/members', '{"add":["ann"]}'],
  ['members and a precondition', 'POST', '/v1/groups/g/members', '{"remove":["ann"]}', { 'if-match': '"x"' }],
  ['wrong updates of presence', 'PUT', '/v1/presence', '{"updates":[{"userID":"ann"},7,{"durable":1}]}'],
  ['no updates of presence', 'PUT', '/v1/presence', '{"updates":[]}'],
];

describe('a large body that is rejected', () => {
  for (const [title, method, path, body, headers] of REJECTED) {
    test(`${title}: ${method} ${path} answers as for a small body, and nothing changes`, async () => {
      const [small, large] = await project.unchanged(async () => [
        await project.send(method, path, Buffer.from(body, 'latin1'), headers),
        await project.send(method, path, Buffer.from(enlarge(body), 'latin1'), headers),
      ]);
      assert.ok(small.status >= 400 && small.status < 500, small.text);
      assert.deepEqual([large.status, large.text], [small.status, small.text]);
    });
  }

  test('a large body without a token is missing_authorization_header', async () => {
    const answer = await server.running.request('PUT', '/v1/groups/g', {
      token: null,
      body: enlarge('{"name":"G"}'),
    });
    expectError(answer, 401, 'missing_authorization_header');
  });
});

describe('a large body that fits', () => {
  const groupOf = async (id: string) => {
    const { name, status, members, metadata } = await project.group(id);
    return { name, status, members, metadata };
  };

  test('a large body creates a group, updates what it supplies, and replaces the members', async () => {
    const metadata = JSON.parse('{"a\\"b":[{"__proto__":{"x":1}}],"7":"seven"}');
    const body = { name: 'Large', metadata, members: ['bob', 'ann', 'bob'] };
    expectDone(
      await project.send('PUT', '/v1/groups/large', enlarge(JSON.stringify(body))),
      'created group large',
    );
    const created = { name: 'Large', status: 'active', members: ['ann', 'bob'], metadata };
    assert.deepEqual(await groupOf('large'), created);
    const update = enlarge('{"status":"deleted","members":["cid"]}');
    expectDone(await project.send('PUT', '/v1/groups/large', update), 'updated group large');
    assert.deepEqual(await groupOf('large'), { ...created, status: 'deleted', members: ['cid'] });
    expectDone(await project.send('PUT', '/v1/groups/large', enlarge('{"metadata":{}}')), 'updated');
    assert.deepEqual((await groupOf('large')).members, ['cid']);
  });

  test('a large body of POST /v1/groups creates a group, and is 409 the second time', async () => {
    const body = enlarge('{"id":"posted","name":"P","members":["ann"]}');
    expectCreated(await project.send('POST', '/v1/groups', body), 'created group posted');
    expectError(await project.send('POST', '/v1/groups', body), 409, 'group_already_exists', 'posted');
    assert.deepEqual((await groupOf('posted')).members, ['ann']);
  });

  test('a large body with If-Match or If-None-Match is checked against the revision', async () => {
    const create = enlarge('{"name":"Tagged","members":["ann"]}');
    const path = '/v1/groups/tagged';
    expectDone(await project.send('PUT', path, create, { 'if-none-match': '*' }));
    const { etag = '' } = (await project.get(path)).headers;
    expectDone(await project.send('PUT', path, enlarge('{"members":["bob"]}'), { 'if-match': etag }));
    const stale = { 'if-match': etag };
    expectError(await project.send('PUT', path, enlarge('{"members":[]}'), stale), 412, 'invalid_request');
    const change = enlarge('{"remove":["bob"]}');
    expectError(await project.send('POST', `${path}/members`, change, stale), 412, 'invalid_request');
    assert.deepEqual((await groupOf('tagged')).members, ['bob']);
  });

  test('a large body stores metadata that is nested as deeply as it may be', async () => {
    const depth = 8_000;
    const metadata = `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`;
    expectDone(await project.send('PUT', '/v1/groups/deep', enlarge(`{"name":"D","metadata":${metadata}}`)));
    const { text } = await project.get('/v1/groups/deep');
    assert.ok(text.includes(metadata));
  });

  test('a large body adds and removes members, also of an organization', async () => {
    expectDone(await project.put('/v1/groups/changed', { name: 'C', members: ['ann'] }));
    const change = enlarge('{"add":["cid","bob","bob"],"remove":["ann","nobody"]}');
    const path = '/v1/organizations/changed/members';
    expectDone(await project.send('POST', path, change), 'updated members of organization changed');
    assert.deepEqual((await groupOf('changed')).members, ['bob', 'cid']);
    const unknown = await project.send('POST', path, enlarge('{"add":["nobody"]}'));
    expectNotFound(unknown, 'user_not_found', 'nobody');
  });

  test('a large body updates presence', async () => {
    const update = { userID: 'ann', groupID: 'g', location: { 'page "1"': 'ü' } };
    const body = enlarge(JSON.stringify({ updates: [update, { ...update, userID: 'nobody' }] }));
    const answer = await project.send('PUT', '/v1/presence', body);
    const { updated, refused } = answer.json<{ updated: number; refused: { userID: string }[] }>();
    assert.deepEqual([updated, refused.map(({ userID }) => userID)], [1, ['nobody']]);
    const entry = await project.get('/v1/users/ann/presence?groupID=g');
    assert.deepEqual(entry.json<{ ephemeral: object }>().ephemeral, { locations: [update.location] });
  });

  test('a large body has 50,000 members in one list, of which each is read back', async () => {
    const own = await server.project();
    const members = Array.from({ length: 50_000 }, (_, index) => `u${String(index).padStart(6, '0')}`);
    for (let from = 0; from < members.length; from += 10_000)
      await own.seedUsers(...members.slice(from, from + 10_000));
    expectDone(await own.put('/v1/groups/many', { name: 'M', members: [...members].reverse() }));
    assert.deepEqual((await own.group('many')).members, members);
    expectDone(await own.post('/v1/groups/many/members', { remove: members.slice(1) }));
    assert.deepEqual((await own.group('many')).members, members.slice(0, 1));
  });
});

describe('the largest body', () => {
  const LIMITS: readonly (readonly [method: string, path: string, body: string, bytes: number])[] = [
    ['PUT', '/v1/users/ann', '{"name":"Ann"}', 256 * 1_024],
    ['POST', '/v1/users', '{"id":"ann"}', 256 * 1_024],
    ['PUT', '/v1/users/ann/presence', '{"groupID":"g","location":{"p":"1"}}', 256 * 1_024],
    ['PUT', '/v1/users/ann/preferences', '{"key":"notification_channels","value":{}}', 256 * 1_024],
    [
      'PUT',
      '/v1/presence',
      '{"updates":[{"userID":"ann","groupID":"g","location":{"p":"1"}}]}',
      1_024 * 1_024,
    ],
    ['POST', '/v1/batch', '{}', 32 * 1_024 * 1_024],
    ['PUT', '/v1/groups/g', '{"name":"G"}', 32 * 1_024 * 1_024],
    ['POST', '/v1/groups', '{"id":"g","name":"G"}', 32 * 1_024 * 1_024],
    ['POST', '/v1/groups/g/members', '{}', 32 * 1_024 * 1_024],
    ['PUT', '/v1/organizations/g', '{"name":"G"}', 32 * 1_024 * 1_024],
  ];
  for (const [method, path, body, bytes] of LIMITS) {
    test(`the largest body of ${method} ${path} has ${bytes} bytes; one more is 413 invalid_request`, async () => {
      const largest = await project.send(method, path, body.padEnd(bytes));
      assert.ok(largest.status === 200 || largest.status === 409, largest.text);
      const larger = await project.send(method, path, body.padEnd(bytes + 1));
      expectError(larger, 413, 'invalid_request', `${bytes} bytes`);
    });
  }
});
