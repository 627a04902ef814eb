import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clockedServer } from '../support/clocked-server.ts';
import { projectEndpoints } from '../support/endpoints.ts';
import { expectDone, expectError, expectOk } from '../support/expect.ts';
import { type Claims, jwt, jwtPart, unsignedJwt, withPart } from '../support/jwt.ts';
import { MovedClock } from '../support/moved-clock.ts';
import type { Project } from '../support/project-client.ts';
import { expectTokenFailure } from '../support/token-failure.ts';

const clock = new MovedClock();
const server = clockedServer({ clock });
const DAY_MS = 86_400_000;

interface Authorized {
  readonly access_token: string;
  readonly expires: string;
}

const appToken = (project: Project, claims: Claims = {}) =>
  jwt({ app_id: project.id, iat: server.now(), ...claims }, project.secret);

/** A host exchanges an app token for an access token. */
const authorize = (signed_app_token: unknown) =>
  server.call(null, 'POST', '/v1/authorize', { signed_app_token });

async function accessToken(project: Project): Promise<string> {
  return expectOk<Authorized>(await authorize(appToken(project))).access_token;
}

const groupsBy = (token: string) => server.call(token, 'GET', '/v1/groups');
const revoke = (token: string | null) => server.call(token, 'DELETE', '/v1/authorize');

describe('POST /v1/authorize', () => {
  test('POST /v1/authorize exchanges an app token for an access token of 24 hours, without an Authorization header', async () => {
    const project = await server.project();
    const authorized = expectOk<Authorized>(await authorize(appToken(project)));
    assert.deepEqual(Object.keys(authorized).sort(), ['access_token', 'expires']);
    assert.equal(typeof authorized.access_token, 'string');
    assert.match(authorized.expires, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
    assert.ok(Math.abs(Date.parse(authorized.expires) - clock.now() - DAY_MS) < 1_000, authorized.expires);
  });

  test('the answer of POST /v1/authorize has Cache-Control: no-store, as every answer to a valid token', async () => {
    const answer = await authorize(appToken(await server.project()));
    assert.equal(answer.headers['cache-control'], 'no-store');
  });

  test('POST /v1/authorize gives a different token each time', async () => {
    const project = await server.project();
    assert.notEqual(await accessToken(project), await accessToken(project));
  });

  test('POST /v1/authorize with a wrongly signed, expired or malformed app token is invalid_app_token', async () => {
    const project = await server.project();
    const iat = server.now();
    const tokens = [
      jwt({ app_id: project.id, iat }, 'wrong'),
      unsignedJwt({ app_id: project.id, iat }),
      appToken(project, { iat: iat - 86_400 - 31 }),
      appToken(project, { exp: iat - 31 }),
      appToken(project, { iat: iat + 3_600 }),
      appToken(project, { iat: undefined }),
      'not a token',
      'a.b.c',
      '',
      `Bearer ${appToken(project)}`,
    ];
    for (const token of tokens) expectTokenFailure(await authorize(token), 'invalid_app_token');
  });

  test('POST /v1/authorize with an unknown application is application_not_found', async () => {
    const project = await server.project();
    expectTokenFailure(await authorize(appToken(project, { app_id: 'no-such' })), 'application_not_found');
  });

  test('POST /v1/authorize with a token that has no app_id is invalid_app_token, and the message names the claim', async () => {
    const project = await server.project();
    const iat = server.now();
    for (const token of [jwt({ project_id: project.id, iat }, project.secret), server.customerToken()]) {
      const answer = await authorize(token);
      expectTokenFailure(answer, 'invalid_app_token');
      assert.match(answer.text, /a JWT with app_id/);
    }
  });

  test('POST /v1/authorize rejects tokens of other kinds: client tokens, and access tokens that would renew themselves', async () => {
    const project = await server.project();
    const iat = server.now();
    const others = [
      appToken(project, { user_id: 'u' }),
      jwt({ project_id: project.id, user_id: 'u', iat }, project.secret),
      server.customerToken(),
      await accessToken(project),
    ];
    for (const token of others)
      expectTokenFailure(await authorize(token), 'invalid_app_token', 'invalid_access_token');
  });

  test('POST /v1/authorize checks its body as every endpoint does', async () => {
    const call = (body: unknown) => server.call(null, 'POST', '/v1/authorize', body);
    expectError(await call({}), 400, 'missing_field', 'signed_app_token');
    expectError(await call({ signed_app_token: 7 }), 400, 'invalid_field', 'signed_app_token');
    expectError(await call({ signed_app_token: null }), 400, 'invalid_field', 'signed_app_token');
    expectError(await call({ token: 'x' }), 400, 'unexpected_field', 'token', 'signed_app_token');
    expectError(await call([]), 400, 'invalid_request');
    expectError(await server.bare('POST', '/v1/authorize'), 400, 'invalid_request');
  });
});

describe('an access token', () => {
  test('an access token opens the data endpoints of its own project only', async () => {
    const [mine, other] = [await server.project(), await server.project()];
    expectDone(await mine.put('/v1/groups/g', { name: 'Mine' }));
    expectDone(await other.put('/v1/groups/g', { name: 'Other' }));
    const token = await accessToken(mine);
    const group = expectOk<{ name: string }>(await server.call(token, 'GET', '/v1/groups/g'));
    assert.equal(group.name, 'Mine');
    expectDone(await server.call(token, 'PUT', '/v1/groups/g', { name: 'Renamed' }), 'updated group g');
    assert.equal((await other.group('g')).name, 'Other');
  });

  test('an access token on /v1/projects is invalid_customer_token', async () => {
    const project = await server.project();
    const token = await accessToken(project);
    for (const { method, path, body } of projectEndpoints(project.id)) {
      expectTokenFailure(await server.call(token, method, path, body), 'invalid_customer_token');
    }
  });

  test('an access token that was changed or signed with another key is rejected with invalid_access_token', async () => {
    const project = await server.project();
    const token = await accessToken(project);
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Claims;
    const forged = [
      withPart(token, 1, () => jwtPart({ ...claims, exp: 9_999_999_999 })),
      withPart(token, 2, (part) => (part.startsWith('A') ? 'B' : 'A') + part.slice(1)),
      withPart(token, 2, () => ''),
      jwt(claims, project.secret),
      jwt(claims, ''),
      unsignedJwt(claims),
    ];
    for (const forgery of forged) expectTokenFailure(await groupsBy(forgery), 'invalid_access_token');
    assert.equal((await groupsBy(token)).status, 200);
  });

  test('an access token that is revoked is expired_access_token from then on, and other tokens stay valid', async () => {
    const project = await server.project();
    const [revoked, other] = [await accessToken(project), await accessToken(project)];
    assert.equal((await groupsBy(revoked)).status, 200);
    expectDone(await revoke(revoked));
    expectTokenFailure(await groupsBy(revoked), 'expired_access_token');
    expectTokenFailure(await revoke(revoked), 'expired_access_token');
    assert.equal((await groupsBy(other)).status, 200);
    assert.equal((await project.get('/v1/groups')).status, 200);
  });

  test('an access token after 24 hours is expired_access_token', async () => {
    const project = await server.project();
    const token = await accessToken(project);
    clock.jump(DAY_MS - 1_000);
    assert.equal((await groupsBy(token)).status, 200);
    clock.move(32_000);
    expectTokenFailure(await groupsBy(token), 'expired_access_token');
    // Long after, when ended sessions have been removed.
    clock.jump(10 * DAY_MS);
    clock.move(3_600_000);
    expectTokenFailure(await groupsBy(token), 'expired_access_token');
  });

  test('an access token of a deleted project is rejected by every endpoint', async () => {
    const project = await server.project();
    const token = await accessToken(project);
    assert.equal((await groupsBy(token)).status, 200);
    expectDone(await server.call(server.customerToken(), 'DELETE', `/v1/projects/${project.id}`));
    expectTokenFailure(
      await groupsBy(token),
      'project_not_found',
      'application_not_found',
      'invalid_access_token',
      'expired_access_token',
    );
  });
});

describe('DELETE /v1/authorize', () => {
  test('DELETE /v1/authorize requires the token that it revokes', async () => {
    expectTokenFailure(await revoke(null), 'missing_authorization_header');
  });

  test('DELETE /v1/authorize with a token that was never issued is answered with an error of the vocabulary', async () => {
    const project = await server.project();
    expectTokenFailure(await revoke(jwt({ iat: server.now() }, 'x')), 'invalid_access_token');
    const answer = await revoke(project.token);
    assert.ok(answer.status < 500, answer.text);
    assert.equal((await project.get('/v1/groups')).status, 200, 'a project token cannot be revoked');
  });
});
