import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { clockedServer } from '../support/clocked-server.ts';
import { DATA_ENDPOINTS, OPEN_PATHS } from '../support/endpoints.ts';
import { expectError, expectNotFound, expectOk } from '../support/expect.ts';
import type { Project } from '../support/project-client.ts';

const server = clockedServer();
let project: Project;

before(async () => {
  project = await server.projectWithGroup('g', 'u');
});

/** Known paths with the methods that they take. */
const METHODS: readonly [string, readonly string[]][] = [
  ['/v1/groups', ['GET', 'POST']],
  ['/v1/groups/g', ['GET', 'PUT', 'DELETE']],
  ['/v1/groups/g/members', ['GET', 'POST']],
  ['/v1/groups/g/presence', ['GET']],
  ['/v1/users', ['GET', 'POST']],
  ['/v1/users/u', ['GET', 'PUT', 'DELETE']],
  ['/v1/users/u/groups', ['GET']],
  ['/v1/users/u/preferences', ['GET', 'PUT']],
  ['/v1/users/u/presence', ['GET', 'PUT']],
  ['/v1/u/preferences', ['PUT']],
  ['/v1/batch', ['POST']],
  ['/v1/authorize', ['POST', 'DELETE']],
  ['/v1/projects', ['GET', 'POST']],
  ['/v1/projects/p', ['GET', 'PUT', 'DELETE']],
  ['/v1/projects/p/rotate-secret', ['POST']],
  ['/v1/organizations/g', ['GET', 'PUT', 'DELETE']],
  ['/v1/organizations/g/members', ['GET', 'POST']],
  ...OPEN_PATHS.map((path) => [path, ['GET']] as [string, string[]]),
];
const ALL_METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'];

describe('405: a known path with a wrong method', () => {
  for (const [path, methods] of METHODS) {
    test(`${path} accepts ${methods.join(', ')}; any other method is invalid_request with Allow`, async () => {
      for (const method of ALL_METHODS.filter((each) => !methods.includes(each))) {
        const token = path.startsWith('/v1/projects') ? server.customerToken() : project.token;
        const answer = await server.call(token, method, path, method === 'GET' ? undefined : {});
        expectError(answer, 405, 'invalid_request');
        const allowed = String(answer.headers.allow).split(/,\s*/);
        for (const each of methods)
          assert.ok(allowed.includes(each), `${method} ${path}: Allow is ${allowed}`);
        assert.ok(!allowed.includes(method), `${method} ${path}: Allow is ${allowed}`);
      }
    });
  }

  test('HTTP methods that the API does not use are 405, never 500', async () => {
    for (const method of ['OPTIONS', 'TRACE', 'PROPFIND', 'LOCK', 'M-SEARCH', 'QUERY']) {
      for (const path of ['/v1/groups/g', '/v1/nowhere', '/healthz']) {
        const answer = await server.call(project.token, method, path);
        assert.ok([404, 405, 501, 400].includes(answer.status), `${method} ${path}: ${answer.status}`);
      }
    }
  });
});

describe('404: a path of the API that does not exist', () => {
  const NOWHERE = [
    '/',
    '/v1',
    '/v1/',
    '/v2/groups',
    '/groups',
    '/v1/channels',
    '/v1/groups/g/nowhere',
    '/v1/groups/g/members/u',
    '/v1/users/u/presence/x',
    '/v1/projects/p/secret',
    '/V1/groups',
    '/v1//groups',
    '/healthz/',
    '/favicon.ico',
    '/.env',
    '/v1/groups/../../etc/passwd',
  ];
  for (const path of NOWHERE) {
    test(`the unknown path ${path} is invalid_request, with a token and without`, async () => {
      expectError(await project.get(path), 404, 'invalid_request');
      expectError(await server.call(null, 'GET', path), 404, 'invalid_request');
      expectError(await project.put(path, {}), 404, 'invalid_request');
    });
  }

  test('an ID is never empty: /v1/groups/ and /v1/users//presence lead nowhere', async () => {
    for (const path of [
      '/v1/groups/',
      '/v1/users/',
      '/v1/users//presence?groupID=g',
      '/v1/groups//members',
    ]) {
      const answer = await project.get(path);
      assert.ok(answer.status === 404 || answer.status === 400, `${path}: ${answer.status} ${answer.text}`);
      expectError(answer, answer.status, answer.status === 404 ? 'invalid_request' : 'invalid_field');
    }
  });
});

describe('the root of the server', () => {
  const at = (path: string, method: string, accept: string) => server.bare(method, path, { accept });
  const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

  test('GET / and HEAD / of a browser lead to /docs', async () => {
    for (const path of ['/', '/?from=bookmark']) {
      for (const method of ['GET', 'HEAD']) {
        const { status, headers, text } = await at(path, method, BROWSER);
        assert.deepEqual([status, headers.location, headers.vary, text], [302, 'docs', 'Accept', '']);
        assert.equal(new URL(String(headers.location), server.raw.url).pathname, '/docs');
      }
    }
  });

  test('the root is an unknown path to a program, and so is any other path to a browser', async () => {
    for (const accept of ['*/*', 'application/json'])
      expectError(await at('/', 'GET', accept), 404, 'invalid_request');
    for (const path of ['/nowhere', '//', '/v1/'])
      expectError(await at(path, 'GET', BROWSER), 404, 'invalid_request');
    expectError(await at('/', 'POST', BROWSER), 404, 'invalid_request');
  });
});

describe('HEAD', () => {
  test('HEAD answers like GET without a body, or 405', async () => {
    for (const path of ['/healthz', '/v1/groups/g', '/v1/groups', '/v1/users/u', '/v1/nowhere']) {
      const [head, get] = [await project.send('HEAD', path), await project.get(path)];
      assert.ok(head.status === get.status || head.status === 405, `HEAD ${path}: ${head.status}`);
      assert.equal(head.text, '');
    }
  });

  test('HEAD needs a token where GET needs one', async () => {
    const { status } = await server.call(null, 'HEAD', '/v1/groups/g');
    assert.ok(status === 401 || status === 405, String(status));
  });
});

describe('percent escapes', () => {
  test('a malformed escape in the path of a project is invalid_field', async () => {
    for (const malformed of ['%', '%ZZ', '%FF', '%ED%A0%80', '%u0041']) {
      const rotation = `/v1/projects/${malformed}/rotate-secret`;
      expectError(await server.call(server.customerToken(), 'POST', rotation, {}), 400, 'invalid_field');
    }
  });

  test('a malformed escape in a path is invalid_field with the name of its parameter', async () => {
    const answer = await project.get('/v1/threads/t/messages/%FF');
    expectError(answer, 400, 'invalid_field');
    const { message } = answer.json<{ message: string }>();
    assert.equal(message, 'invalid field messageId in the path (expected escapes of UTF-8, such as %C3%A9)');
  });

  test('a malformed escape in a query is invalid_field', async () => {
    for (const query of ['limit=%', 'token=%ZZ', 'token=%FF', '%=1', 'limit=1&token=%E0%A4%A']) {
      const answer = await project.get(`/v1/groups/g/members?${query}`);
      assert.equal(answer.status, 400, `${query}: ${answer.text}`);
      const { error } = answer.json<{ error: string }>();
      assert.ok(
        error === 'invalid_field' || (query.startsWith('%') && error === 'unexpected_field'),
        `${query}: ${error}`,
      );
    }
  });
});

describe('an unescaped #', () => {
  test('an unescaped # in a path or a query is invalid_request, after the check of the token', async () => {
    for (const [method, path] of [
      ['GET', '/v1/groups/C#'],
      ['PUT', '/v1/users/C#-developers'],
      ['DELETE', '/v1/users/C#/presence'],
      ['GET', '/v1/groups/C/members#'],
      ['GET', '/v1/groups?id=C#'],
    ] as const) {
      expectError(await server.call(project.token, method, path, {}), 400, 'invalid_request', '%23');
      expectError(await server.call(null, method, path), 401, 'missing_authorization_header');
    }
  });

  test('a DELETE with an unescaped # in its ID does not delete the group before the #', async () => {
    await project.seed({
      groups: [
        { id: 'C', name: 'C' },
        { id: 'C#', name: 'C#' },
      ],
    });
    expectError(await project.delete('/v1/groups/C#'), 400, 'invalid_request');
    expectOk(await project.get('/v1/groups/C'));
    expectOk(await project.delete('/v1/groups/C%23'));
    expectOk(await project.get('/v1/groups/C'));
  });
});

describe('query parameters', () => {
  test('an unknown query parameter is unexpected_field on every endpoint', async () => {
    for (const { method, path, body } of DATA_ENDPOINTS) {
      const answer = await server.call(
        project.token,
        method,
        `${path}${path.includes('?') ? '&' : '?'}nick=1`,
        body,
      );
      assert.equal(answer.status, 400, `${method} ${path}: ${answer.text}`);
      expectError(answer, 400, 'unexpected_field', 'nick');
    }
  });

  test('query parameters are checked before the resources of the path', async () => {
    expectError(await project.get('/v1/groups/nowhere/members?limit=0'), 400, 'invalid_field');
    expectError(await project.get('/v1/groups/nowhere/members?nick=1'), 400, 'unexpected_field');
    expectNotFound(await project.get('/v1/groups/nowhere/members?limit=1'), 'group_not_found');
  });

  test('a query parameter with an empty name is unexpected_field, and an empty query is none', async () => {
    expectOk(await project.get('/v1/groups?'));
    for (const query of ['=', '=1']) {
      const { status } = await project.get(`/v1/groups?${query}`);
      assert.ok(status === 200 || status === 400, String(status));
    }
  });
});
