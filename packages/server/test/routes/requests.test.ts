import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { expectDone, expectNotFound, expectOk, expectRefused } from '../support/expect.ts';
import { send } from '../support/http-client.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';

const server = oneServer({ settings: { bodyLimitBytes: 20_000 } });

/** A project with the group g. */
async function projectWithGroup(): Promise<Project> {
  const project = await server.project();
  await project.seed({ groups: [{ id: 'g', name: 'G' }] });
  return project;
}

/** The endpoints that need a body, in the state of {@link projectWithGroup}. */
const NEED_A_BODY: [method: string, path: string][] = [
  ['PUT', '/v1/groups/g'],
  ['PUT', '/v1/groups/new'],
  ['POST', '/v1/groups'],
  ['POST', '/v1/groups/g/members'],
  ['PUT', '/v1/users/u'],
  ['POST', '/v1/users'],
  ['POST', '/v1/batch'],
  ['PUT', '/v1/u/preferences'],
  ['PUT', '/v1/users/u/preferences'],
  ['PUT', '/v1/users/u/presence'],
];

describe('the first check that fails answers', () => {
  test('authentication, JSON, unexpected, missing, invalid, references, conflict', async () => {
    const project = await projectWithGroup();
    const post = (body: string) => project.send('POST', '/v1/groups', body);
    await project.unchanged(async () => {
      const anonymous = await send(project.url, 'POST', '/v1/groups', { body: '{' });
      expectRefused(anonymous, 401, 'missing_authorization_header');
      expectRefused(await post('{"id": 7, "nick": 1'), 400, 'invalid_request');
      expectRefused(await post('{"id": 7, "nick": 1}'), 400, 'unexpected_field', 'nick');
      expectRefused(await post('{"id": 7, "members": ["nobody"]}'), 400, 'missing_field', 'name');
      expectRefused(await post('{"id": 7, "name": "N", "members": ["nobody"]}'), 400, 'invalid_field', 'id');
      expectNotFound(
        await post('{"id": "g", "name": "N", "members": ["nobody"]}'),
        'user_not_found',
        'nobody',
      );
      expectRefused(await post('{"id": "g", "name": "N"}'), 409, 'group_already_exists', 'g');
    });
  });
});

describe('invalid_request', () => {
  for (const [method, path] of NEED_A_BODY) {
    test(`${method} ${path}: a body that is no JSON object, or is empty, and nothing changes`, async () => {
      const project = await projectWithGroup();
      const bodies = [
        '',
        ' ',
        '{',
        '{}}',
        '[]',
        '[{}]',
        'null',
        'true',
        '7',
        '"{}"',
        "{'name':'x'}",
        '{"name":}',
        'name=x',
      ];
      await project.unchanged(async () => {
        for (const body of bodies) {
          expectRefused(await project.send(method, path, body), 400, 'invalid_request');
        }
        const notUtf8 = Buffer.from('7b226e616d65223a22ff227d', 'hex');
        expectRefused(await project.send(method, path, notUtf8), 400, 'invalid_request');
        expectRefused(await project.send(method, path), 400, 'invalid_request');
      });
    });

    test(`${method} ${path}: a body in another content type, and nothing changes`, async () => {
      const project = await projectWithGroup();
      await project.unchanged(async () => {
        for (const type of [
          'text/plain',
          'application/x-www-form-urlencoded',
          'application/xml',
          'multipart/form-data',
        ]) {
          const answer = await project.send(method, path, '{"name":"N"}', { 'content-type': type });
          expectRefused(answer, 400, 'invalid_request');
        }
      });
    });
  }

  test('application/json with a charset or in capitals is JSON', async () => {
    const project = await projectWithGroup();
    for (const type of [
      'application/json; charset=utf-8',
      'Application/JSON',
      'application/json;charset=UTF-8',
    ]) {
      expectDone(await project.send('PUT', '/v1/groups/g', '{"name":"Ä"}', { 'content-type': type }));
    }
    assert.equal((await project.group('g')).name, 'Ä');
  });

  test('a body over the limit is 413, and nothing changes', async () => {
    const project = await projectWithGroup();
    const body = (bytes: number) => `{"name":"N"${' '.repeat(bytes - '{"name":"N"}'.length)}}`;
    expectDone(await project.send('PUT', '/v1/groups/g', body(20_000)));
    await project.unchanged(async () => {
      expectRefused(await project.send('PUT', '/v1/groups/g', body(20_001)), 413, 'invalid_request');
      expectRefused(await project.send('POST', '/v1/batch', body(20_001)), 413, 'invalid_request');
    });
  });

  for (const path of [
    '/v1/nothing',
    '/v2/groups',
    '/v1',
    '/',
    '/v1/groups/g/nothing',
    '/v1/groups/g/members/u',
    '/v1/users/u/groups/g',
  ]) {
    test(`${path} does not exist: 404`, async () => {
      const project = await projectWithGroup();
      expectRefused(await project.get(path), 404, 'invalid_request');
    });
  }

  const methods: [path: string, wrong: string[], right: string[]][] = [
    ['/v1/groups', ['PUT', 'DELETE', 'PATCH'], ['GET', 'POST']],
    ['/v1/groups/g', ['POST', 'PATCH'], ['GET', 'PUT', 'DELETE']],
    ['/v1/groups/g/members', ['PUT', 'DELETE', 'PATCH'], ['GET', 'POST']],
    ['/v1/users', ['PUT', 'DELETE', 'PATCH'], ['GET', 'POST']],
    ['/v1/users/u', ['POST', 'PATCH'], ['GET', 'PUT', 'DELETE']],
    ['/v1/users/u/groups', ['POST', 'PUT', 'DELETE'], ['GET']],
    ['/v1/users/u/preferences', ['POST', 'DELETE'], ['GET', 'PUT']],
    ['/v1/users/u/presence', ['POST', 'DELETE'], ['GET', 'PUT']],
    ['/v1/batch', ['GET', 'PUT', 'DELETE'], ['POST']],
  ];
  for (const [path, wrong, right] of methods) {
    test(`${path} with ${wrong.join(', ')}: 405 with Allow`, async () => {
      const project = await projectWithGroup();
      for (const method of wrong) {
        const answer = await project.send(method, path, method === 'DELETE' ? undefined : '{}');
        expectRefused(answer, 405, 'invalid_request');
        const allowed = String(answer.headers.allow).split(/,\s*/);
        for (const each of right) assert.ok(allowed.includes(each), `Allow: ${answer.headers.allow}`);
        for (const each of wrong) assert.ok(!allowed.includes(each), `Allow: ${answer.headers.allow}`);
      }
    });
  }
});

describe('GET and DELETE ignore a body and its content type', () => {
  const bodies: [what: string, body: string | undefined, type: string][] = [
    ['a content type without a body', undefined, 'application/json'],
    ['an empty body', '', 'application/json'],
    ['a JSON body', '{"name":"N"}', 'application/json'],
    ['a broken JSON body', '{', 'application/json'],
    ['a text', 'text', 'text/plain'],
    ['an unreadable content type', 'x', 'nonsense'],
  ];
  for (const [what, body, type] of bodies) {
    test(what, async () => {
      const project = await projectWithGroup();
      const headers = { 'content-type': type };
      for (const path of ['/v1/groups', '/v1/groups/g', '/v1/groups/g/members', '/v1/users']) {
        expectOk(await project.send('GET', path, body, headers));
      }
      expectDone(await project.send('DELETE', '/v1/groups/g', body, headers));
      assert.deepEqual(await project.groupIds(), []);
    });
  }
});

describe('x-request-id', () => {
  const idOf = async (project: Project, path: string, given?: string) => {
    const answer = await project.get(path, given === undefined ? {} : { 'x-request-id': given });
    return answer.headers['x-request-id'];
  };

  for (const path of [
    '/v1/groups',
    '/v1/groups/g',
    '/v1/groups/nowhere',
    '/v1/groups?limit=0',
    '/nothing',
    '/healthz',
  ]) {
    test(`GET ${path} has the one of the request, else one of its own`, async () => {
      const project = await projectWithGroup();
      assert.equal(await idOf(project, path, 'from-the-host/1'), 'from-the-host/1');
      const [one, other] = [await idOf(project, path), await idOf(project, path)];
      assert.match(String(one), /^[\x21-\x7e]{1,128}$/);
      assert.notEqual(one, other);
    });
  }

  test('an answer to a request without a token, or with a broken body, has one too', async () => {
    const project = await projectWithGroup();
    const headers = { 'x-request-id': 'mine' };
    const anonymous = await send(project.url, 'GET', '/v1/groups', { headers });
    assert.equal(anonymous.headers['x-request-id'], 'mine');
    const broken = await project.send('PUT', '/v1/groups/g', '{', headers);
    assert.equal(broken.headers['x-request-id'], 'mine');
  });

  test('is taken when it is 1 to 128 visible ASCII characters, and not otherwise', async () => {
    const project = await projectWithGroup();
    assert.equal(await idOf(project, '/v1/groups', 'x'.repeat(128)), 'x'.repeat(128));
    assert.equal(await idOf(project, '/v1/groups', '!~'), '!~');
    for (const given of ['', 'x'.repeat(129), 'two words', 'tab\there', 'é']) {
      const id = await idOf(project, '/v1/groups', given);
      assert.notEqual(id, given);
      assert.match(String(id), /^[\x21-\x7e]{1,128}$/);
    }
  });
});
