import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { clockedServer } from '../support/clocked-server.ts';
import { DATA_ENDPOINTS, OPEN_PATHS } from '../support/endpoints.ts';
import { expectDone, expectNotFound, expectOk, expectRefused } from '../support/expect.ts';
import type { Project } from '../support/project-client.ts';

const server = clockedServer();
let project: Project;

before(async () => {
  project = await server.project();
  await project.seed({ users: [{ id: 'u' }], groups: [{ id: 'g', name: 'G', members: ['u'] }] });
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
    test(`${path} takes ${methods.join(', ')}; any other is invalid_request with Allow`, async () => {
      for (const method of ALL_METHODS.filter((each) => !methods.includes(each))) {
        const token = path.startsWith('/v1/projects') ? server.customerToken() : project.token;
        const answer = await server.call(token, method, path, method === 'GET' ? undefined : {});
        expectRefused(answer, 405, 'invalid_request');
        const allowed = String(answer.headers.allow).split(/,\s*/);
        for (const each of methods)
          assert.ok(allowed.includes(each), `${method} ${path}: Allow is ${allowed}`);
        assert.ok(!allowed.includes(method), `${method} ${path}: Allow is ${allowed}`);
      }
    });
  }

  test('methods that HTTP knows and the API does not are refused, never 500', async () => {
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
    '/v1/threads',
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
    test(`${path} is invalid_request, with a token and without`, async () => {
      expectRefused(await project.get(path), 404, 'invalid_request');
      expectRefused(await server.call(null, 'GET', path), 404, 'invalid_request');
      expectRefused(await project.put(path, {}), 404, 'invalid_request');
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
      expectRefused(answer, answer.status, answer.status === 404 ? 'invalid_request' : 'invalid_field');
    }
  });
});

describe('HEAD', () => {
  test('answers like GET without a body, or says that it is not taken', async () => {
    for (const path of ['/healthz', '/v1/groups/g', '/v1/groups', '/v1/users/u', '/v1/nowhere']) {
      const [head, get] = [await project.send('HEAD', path), await project.get(path)];
      assert.ok(head.status === get.status || head.status === 405, `HEAD ${path}: ${head.status}`);
      assert.equal(head.text, '');
    }
  });

  test('needs a token where GET needs one', async () => {
    const { status } = await server.call(null, 'HEAD', '/v1/groups/g');
    assert.ok(status === 401 || status === 405, String(status));
  });
});

describe('percent escapes', () => {
  test('any legal ID can be written in a path', async () => {
    for (const id of [
      'a/b',
      'a b',
      'a+b',
      '100%',
      'a?b',
      'a#b',
      '..',
      '.',
      '%2F',
      'Ünï',
      '👩‍💻'.normalize(),
      "'",
      '"',
      '\\',
      ';',
      '&=',
    ]) {
      if (/\p{C}/u.test(id)) continue;
      const path = `/v1/groups/${encodeURIComponent(id).replaceAll('.', '%2E')}`;
      expectDone(await project.put(path, { name: 'G' }), id);
      assert.equal(expectOk<{ id: string }>(await project.get(path)).id, id);
      expectDone(await project.delete(path), id);
    }
  });

  test('a plus sign in a path is a plus sign', async () => {
    expectDone(await project.put('/v1/groups/a+b', { name: 'G' }), 'a+b');
    assert.equal((await project.group('a+b')).id, 'a+b');
  });

  test('upper and lower case escapes are alike, and escapes of plain letters are the letters', async () => {
    expectDone(await project.put('/v1/groups/%c3%bc', { name: 'G' }), 'created group ü');
    expectDone(await project.put('/v1/groups/%C3%BC', { name: 'G' }), 'updated group ü');
    expectOk(await project.get('/v1/groups/%67'));
  });

  test('a malformed escape in a path is invalid_field on every endpoint, never 500', async () => {
    for (const malformed of ['%', '%2', '%ZZ', '%E0%A4%A', '%FF', '%C0%AF', '%ED%A0%80', 'a%', '%u0041']) {
      expectRefused(await project.get(`/v1/groups/${malformed}`), 400, 'invalid_field');
      expectRefused(await project.put(`/v1/groups/${malformed}`, { name: 'G' }), 400, 'invalid_field');
      expectRefused(await project.get(`/v1/users/${malformed}/preferences`), 400, 'invalid_field');
      expectRefused(await project.put(`/v1/${malformed}/preferences`, {}), 400, 'invalid_field');
      expectRefused(await project.delete(`/v1/users/${malformed}`), 400, 'invalid_field');
      const rotation = `/v1/projects/${malformed}/rotate-secret`;
      expectRefused(await server.call(server.customerToken(), 'POST', rotation, {}), 400, 'invalid_field');
    }
  });

  test('an ID in a path that is not a legal ID is invalid_field', async () => {
    const illegal = [
      '%00',
      'a%00b',
      '%0A',
      '%7F',
      '%C2%AD',
      '%E2%80%8B',
      '%EE%80%80',
      '%EF%BF%BF',
      'x'.repeat(321),
    ];
    for (const id of illegal) {
      expectRefused(await project.get(`/v1/groups/${id}`), 400, 'invalid_field');
      expectRefused(await project.put(`/v1/groups/${id}`, { name: 'G' }), 400, 'invalid_field');
      expectRefused(await project.put(`/v1/users/${id}`, {}), 400, 'invalid_field');
      expectRefused(await project.get(`/v1/users/${id}/preferences`), 400, 'invalid_field');
    }
  });

  test('the longest ID, of four-byte characters, fits in a path', async () => {
    const id = '🎉'.repeat(320);
    expectDone(await project.put(`/v1/groups/${encodeURIComponent(id)}`, { name: 'G' }));
    assert.equal((await project.group(id)).id, id);
    expectRefused(await project.get(`/v1/groups/${encodeURIComponent(`${id}x`)}`), 400, 'invalid_field');
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

describe('query parameters', () => {
  test('one that is unknown is unexpected_field on every endpoint', async () => {
    for (const { method, path, body } of DATA_ENDPOINTS) {
      const answer = await server.call(
        project.token,
        method,
        `${path}${path.includes('?') ? '&' : '?'}nick=1`,
        body,
      );
      assert.equal(answer.status, 400, `${method} ${path}: ${answer.text}`);
      expectRefused(answer, 400, 'unexpected_field', 'nick');
    }
  });

  test('names that objects have by themselves are unknown parameters', async () => {
    for (const name of [
      '__proto__',
      'constructor',
      'toString',
      'hasOwnProperty',
      '__proto__[limit]',
      'limit[]',
    ]) {
      expectRefused(
        await project.get(`/v1/groups/g/members?${encodeURIComponent(name)}=1`),
        400,
        'unexpected_field',
      );
    }
  });

  test('their names are written as documented: limit is not LIMIT', async () => {
    expectRefused(
      await project.get('/v1/groups/g/members?LIMIT=1'),
      400,
      'unexpected_field',
      'LIMIT',
      'limit',
      'token',
    );
  });

  test('one that is given twice is invalid_field', async () => {
    for (const query of ['limit=1&limit=2', 'limit=1&limit=1', 'token=a&token=b']) {
      expectRefused(await project.get(`/v1/groups/g/members?${query}`), 400, 'invalid_field');
    }
  });

  for (const path of [
    '/v1/groups',
    '/v1/groups/g/members',
    '/v1/users',
    '/v1/users/u/groups',
    '/v1/groups/g/presence',
  ]) {
    test(`${path}: limit is a whole number from 1 to 10,000`, async () => {
      for (const limit of [
        '0',
        '-1',
        '10001',
        '1.5',
        '1e3',
        'x',
        '',
        ' 1',
        '0x10',
        '+1',
        '99999999999999999999',
        '١',
        'NaN',
      ]) {
        expectRefused(
          await project.get(`${path}?limit=${encodeURIComponent(limit)}`),
          400,
          'invalid_field',
          'limit',
        );
      }
      for (const limit of ['1', '10000']) expectOk(await project.get(`${path}?limit=${limit}`));
    });

    test(`${path}: a token that was not given out for this list is invalid_field`, async () => {
      for (const token of [
        'x',
        '',
        'AAAA',
        '%00',
        encodeURIComponent('{}'),
        'x'.repeat(5_000),
        encodeURIComponent('🎉'),
      ]) {
        expectRefused(await project.get(`${path}?token=${token}`), 400, 'invalid_field', 'token');
      }
    });
  }

  test('a token works only for the list that it came from', async () => {
    const own = await server.project();
    await own.seed({
      users: ['a', 'b', 'c'].map((id) => ({ id })),
      groups: ['g', 'h'].map((id) => ({ id, name: id, members: ['a', 'b', 'c'] })),
    });
    const tokenOf = async (path: string) =>
      encodeURIComponent(
        expectOk<{ pagination: { token: string } }>(await own.get(`${path}?limit=1`)).pagination.token,
      );
    const lists = ['/v1/users', '/v1/groups/g/members', '/v1/groups/h/members', '/v1/users/a/groups'];
    for (const from of lists) {
      const token = await tokenOf(from);
      for (const path of lists) {
        const answer = await own.get(`${path}?token=${token}`);
        if (path === from) expectOk(answer);
        else expectRefused(answer, 400, 'invalid_field', 'token');
      }
    }
  });

  test('are checked before what the path refers to', async () => {
    expectRefused(await project.get('/v1/groups/nowhere/members?limit=0'), 400, 'invalid_field');
    expectRefused(await project.get('/v1/groups/nowhere/members?nick=1'), 400, 'unexpected_field');
    expectNotFound(await project.get('/v1/groups/nowhere/members?limit=1'), 'group_not_found');
  });

  test('dry_run of the batch is true or false', async () => {
    for (const value of ['1', 'yes', '', 'TRUE']) {
      expectRefused(await project.post(`/v1/batch?dry_run=${value}`, {}), 400, 'invalid_field', 'dry_run');
    }
    for (const value of ['true', 'false']) expectOk(await project.post(`/v1/batch?dry_run=${value}`, {}));
  });

  test('a parameter with an empty name, and a query of nothing', async () => {
    expectOk(await project.get('/v1/groups?'));
    for (const query of ['=', '=1']) {
      const { status } = await project.get(`/v1/groups?${query}`);
      assert.ok(status === 200 || status === 400, String(status));
    }
  });
});
