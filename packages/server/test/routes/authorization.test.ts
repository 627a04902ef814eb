import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clockedServer } from '../support/clocked-server.ts';
import { DATA_ENDPOINTS, projectEndpoints } from '../support/endpoints.ts';
import { base64url, jwt, jwtOfText, rsaJwt } from '../support/jwt.ts';
import { expectTokenFailure } from '../support/token-failure.ts';

const server = clockedServer();

describe('the Authorization header', () => {
  const unauthorized = (authorization: string) => server.bare('GET', '/v1/groups', { authorization });
  const good = () => jwt({ project_id: server.raw.projectId, iat: server.now() }, server.raw.projectSecret);

  test('an Authorization header that is absent is missing_authorization_header, and the message names the bearer token', async () => {
    const answer = await server.call(null, 'GET', '/v1/groups');
    expectTokenFailure(answer, 'missing_authorization_header');
    assert.match(answer.text, /bearer token/i);
  });

  test('the Authorization header is required by every endpoint of the specification and of the contract', async () => {
    for (const { method, path, body } of [...DATA_ENDPOINTS, ...projectEndpoints('p')]) {
      const answer = await server.call(null, method, path, body);
      assert.equal(answer.status, 401, `${method} ${path}: ${answer.text}`);
      expectTokenFailure(answer, 'missing_authorization_header');
    }
  });

  test('an Authorization header without the prefix Bearer is invalid_authorization_header', async () => {
    const values = [
      good(),
      `Basic ${good()}`,
      `Token ${good()}`,
      `Bearer:${good()}`,
      `Bearer${good()}`,
      'Bearer',
      'x',
    ];
    for (const value of values) expectTokenFailure(await unauthorized(value), 'invalid_authorization_header');
  });

  test('the Authorization header compares the scheme without regard to case', async () => {
    for (const scheme of ['bearer', 'BEARER', 'bEaReR']) {
      assert.equal((await unauthorized(`${scheme} ${good()}`)).status, 200);
    }
  });

  test('an Authorization header whose token is not three base64url parts is invalid_authorization_header', async () => {
    const [header = '', payload = '', signature = ''] = good().split('.');
    const tokens = [
      'abc',
      '..',
      `${header}.${payload}`,
      `${good()}.${signature}`,
      `${header}..${signature}`,
      `.${payload}.${signature}`,
      `${header}!.${payload}.${signature}`,
      `${header}.${payload}.sig+nature/`,
      `${header}.${payload}.${signature} more`,
    ];
    for (const token of tokens) {
      expectTokenFailure(await unauthorized(`Bearer ${token}`), 'invalid_authorization_header');
    }
  });

  test('an Authorization header whose token has anything but JSON objects in its first two parts is invalid_authorization_header', async () => {
    const [header = '', payload = '', signature = ''] = good().split('.');
    for (const text of ['[]', '"text"', '1', 'null', '{', '{"a":1}}', 'not json']) {
      const part = base64url(text);
      expectTokenFailure(
        await unauthorized(`Bearer ${header}.${part}.${signature}`),
        'invalid_authorization_header',
      );
      expectTokenFailure(
        await unauthorized(`Bearer ${part}.${payload}.${signature}`),
        'invalid_authorization_header',
      );
    }
    const notUtf8 = base64url(Uint8Array.of(0x7b, 0xff, 0x7d));
    expectTokenFailure(
      await unauthorized(`Bearer ${header}.${notUtf8}.${signature}`),
      'invalid_authorization_header',
    );
  });

  test('an Authorization header whose token is nested 5,000 deep is rejected with invalid_authorization_header', async () => {
    const deep = `{"a":${'['.repeat(3_000)}${']'.repeat(3_000)}}`;
    expectTokenFailure(
      await server.call(jwtOfText(deep, server.raw.projectSecret), 'GET', '/v1/groups'),
      'invalid_access_token',
      'invalid_authorization_header',
    );
  });
});

describe('a token of the wrong kind', () => {
  const SIGNED = () => server.raw.projectSecret;

  test('a token of the wrong kind with none of the claims is invalid_access_token', async () => {
    for (const claims of [
      { iat: server.now() },
      {},
      { iat: server.now(), sub: 'x', iss: 'https://elsewhere.example' },
      { iat: server.now(), customer_id: 'theirs' },
      { iat: server.now(), projectId: server.raw.projectId },
    ]) {
      expectTokenFailure(
        await server.call(jwt(claims, SIGNED()), 'GET', '/v1/groups'),
        'invalid_access_token',
      );
    }
    const foreign = rsaJwt({ iat: server.now(), sub: 'x', iss: 'https://elsewhere.example' });
    expectTokenFailure(await server.call(foreign, 'GET', '/v1/groups'), 'invalid_access_token');
  });

  test('a customer token on any data endpoint is invalid_access_token', async () => {
    for (const { method, path, body } of DATA_ENDPOINTS) {
      const answer = await server.call(server.customerToken(), method, path, body);
      assert.equal(answer.status, 401, `${method} ${path}: ${answer.text}`);
      expectTokenFailure(answer, 'invalid_access_token');
    }
  });

  test('a client token on any data endpoint is invalid_access_token', async () => {
    const { projectId: id, projectSecret } = server.raw;
    for (const claim of ['project_id', 'app_id']) {
      const token = jwt({ [claim]: id, user_id: 'u', group_id: 'g', iat: server.now() }, projectSecret);
      for (const { method, path, body } of DATA_ENDPOINTS) {
        expectTokenFailure(await server.call(token, method, path, body), 'invalid_access_token');
      }
    }
  });

  test('a user_id of any type makes a client token, so that no mistake of a browser opens more', async () => {
    const { projectId, projectSecret } = server.raw;
    for (const user_id of [null, '', 0, false, {}, []]) {
      const token = jwt({ project_id: projectId, user_id, iat: server.now() }, projectSecret);
      expectTokenFailure(
        await server.call(token, 'GET', '/v1/groups'),
        'invalid_access_token',
        'invalid_project_token',
      );
    }
  });

  test('a project or app token on any endpoint of /v1/projects is invalid_customer_token', async () => {
    const { projectId, projectSecret } = server.raw;
    for (const claim of ['project_id', 'app_id']) {
      const token = jwt({ [claim]: projectId, iat: server.now() }, projectSecret);
      for (const { method, path, body } of projectEndpoints(projectId)) {
        expectTokenFailure(await server.call(token, method, path, body), 'invalid_customer_token');
      }
    }
  });

  test('a JWT with none of the claims is invalid_access_token on any endpoint that requires a token', async () => {
    const { projectId, projectSecret } = server.raw;
    const token = jwt({ sub: 'ada', iat: server.now() }, projectSecret);
    for (const { method, path, body } of [...projectEndpoints(projectId), ...DATA_ENDPOINTS]) {
      expectTokenFailure(await server.call(token, method, path, body), 'invalid_access_token');
    }
  });
});
