import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { OpenApiDocument } from '../../src/api-description/build-document.ts';
import { olderPath } from '../../src/http/older-names.ts';
import { OPERATIONS } from '../../src/http/operations/all-operations.ts';
import { CLIENT_ENDPOINTS, DATA_ENDPOINTS, projectEndpoints } from '../support/endpoints.ts';
import { expectError, expectOk } from '../support/expect.ts';
import { send } from '../support/http-client.ts';
import { withServer } from '../support/server.ts';

describe('the operations and the description', () => {
  test('the API description has exactly the operations of the server; operations of groups also under their older name', () =>
    withServer({}, async ({ url }) => {
      const document = expectOk<OpenApiDocument>(await send(url, 'GET', '/openapi.json'));
      const described = Object.entries(document.paths).flatMap(([path, operations]) =>
        Object.keys(operations).map(
          (method) => `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, '*')}`,
        ),
      );
      const defined = OPERATIONS.flatMap(({ method, path }) =>
        [path, olderPath(path)].flatMap((each) =>
          each === null ? [] : `${method} ${each.replaceAll(/:\w+/g, '*')}`,
        ),
      );
      assert.ok(defined.length > 30);
      assert.deepEqual(described.sort(), defined.sort());
    }));

  test('the tests of tokens and of hostile input send a request to every operation that a token opens', () => {
    const endpoints = { project: DATA_ENDPOINTS, client: CLIENT_ENDPOINTS, customer: projectEndpoints('p') };
    const unsent = OPERATIONS.filter(({ token, method, path }) => {
      const pattern = new RegExp(`^${path.replaceAll(/:\w+/g, '[^/?]+')}(\\?|$)`);
      if (token === 'none') return false;
      return !endpoints[token].some((each) => each.method === method && pattern.test(each.path));
    });
    // A revoked token would be rejected by the requests that follow.
    assert.deepEqual(
      unsent.map(({ id }) => id),
      ['revoke'],
    );
  });

  test('a path accepts the methods that the API description has, HEAD where it accepts GET, and no other', () =>
    withServer({}, async ({ url }) => {
      const { paths } = expectOk<OpenApiDocument>(await send(url, 'GET', '/openapi.json'));
      for (const [path, operations] of Object.entries(paths)) {
        const methods = Object.keys(operations).map((method) => method.toUpperCase());
        if (methods.includes('GET')) methods.push('HEAD');
        const rejected = await send(url, 'PATCH', path.replaceAll(/\{\w+\}/g, 'x'));
        expectError(rejected, 405, 'invalid_request');
        assert.equal(rejected.headers.allow, methods.sort().join(', '), path);
      }
    }));
});

describe('/openapi.json and /docs', () => {
  test('/openapi.json, /asyncapi.json and /docs need no token and accept GET and HEAD only', async () => {
    await withServer({}, async ({ url }) => {
      for (const path of ['/openapi.json', '/asyncapi.json', '/docs']) {
        const got = await send(url, 'GET', path);
        assert.equal(got.status, 200, got.text);
        const head = await send(url, 'HEAD', path);
        assert.deepEqual([head.status, head.text], [200, '']);
        assert.equal(head.headers['content-length'], got.headers['content-length']);
        for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
          const rejected = await send(url, method, path);
          expectError(rejected, 405, 'invalid_request');
          assert.equal(rejected.headers.allow, 'GET, HEAD');
        }
      }
    });
  });

  test('/openapi.json, /asyncapi.json and /docs have their content types', async () => {
    await withServer({}, async ({ url }) => {
      for (const path of ['/openapi.json', '/asyncapi.json']) {
        const document = await send(url, 'GET', path);
        assert.equal(document.headers['content-type'], 'application/json; charset=utf-8');
      }
      const page = await send(url, 'GET', '/docs');
      assert.equal(page.headers['content-type'], 'text/html; charset=utf-8');
    });
  });
});
