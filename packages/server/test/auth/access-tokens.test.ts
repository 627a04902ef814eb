import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorCode } from '@rollcall/protocol';
import { mintAccessToken } from '../../src/auth/sign.ts';
import { createTokenIssuer } from '../../src/auth/token-issuer.ts';
import { TokenService } from '../../src/core/clients/token-service.ts';
import { BY_TEST, CONTEXT } from '../support/origin.ts';
import { until } from '../support/waiting.ts';
import { type AuthCase, assertTokenFailure, CUSTOMER, PROJECT, withAuth } from './auth-case.ts';
import { type Forgery, forgedToken } from './forged-token.ts';

const DAY_MS = 86_400_000;
/** How often ended sessions are removed. */
const SWEEP_MS = 600_000;
const signed: Forgery = { secret: PROJECT.secret };

const appToken = ({ seconds }: AuthCase) => forgedToken({ app_id: PROJECT.id, iat: seconds() }, signed);

test('an app token is exchanged for an access token, which opens the same project for 24 hours', () =>
  withAuth(async (auth) => {
    const { authenticator, tokens, clock, project } = auth;
    const { accessToken, expires } = await tokens.authorize(appToken(auth), null);
    assert.equal(expires, clock.now() + DAY_MS);
    const header = `Bearer ${accessToken}`;
    const caller = await authenticator.authenticate(header);
    assert.deepEqual([caller.projectId, caller.project], [PROJECT.id, project.key]);
    assert.equal(typeof caller.sessionId, 'string');
    assert.deepEqual(caller.actor, { kind: 'access_token', id: caller.sessionId });
    clock.move(DAY_MS);
    assert.equal((await authenticator.authenticate(header)).projectId, PROJECT.id);
    clock.move(30_000);
    await assertTokenFailure(() => authenticator.authenticate(header), 'expired_access_token');
  }));

test('every exchange of an app token creates a session of its own', () =>
  withAuth(async (auth) => {
    const [one, other] = [
      await auth.tokens.authorize(appToken(auth), null),
      await auth.tokens.authorize(appToken(auth), null),
    ];
    assert.notEqual(one.accessToken, other.accessToken);
    await auth.tokens.revoke({
      ...(await auth.authenticator.authenticate(`Bearer ${one.accessToken}`)),
      ...BY_TEST,
    });
    await assertTokenFailure(
      () => auth.authenticator.authenticate(`Bearer ${one.accessToken}`),
      'expired_access_token',
    );
    assert.equal(
      (await auth.authenticator.authenticate(`Bearer ${other.accessToken}`)).projectId,
      PROJECT.id,
    );
  }));

test('an access token outlives the rotation of the secret that signed its app token', () =>
  withAuth(async (auth) => {
    const { accessToken } = await auth.tokens.authorize(appToken(auth), null);
    await auth.projects.rotateSecret({ customerId: CUSTOMER.id, ...BY_TEST }, PROJECT.id, 0);
    assert.equal((await auth.authenticator.authenticate(`Bearer ${accessToken}`)).projectId, PROJECT.id);
  }));

/** Each signed_app_token that is rejected: its error, its text and its code. */
const REJECTED: [what: string, token: (now: number) => string, code: ErrorCode][] = [
  ['empty', () => '', 'invalid_app_token'],
  ['no JWT', () => 'token', 'invalid_app_token'],
  [
    'a header value',
    (now) => `Bearer ${forgedToken({ app_id: PROJECT.id, iat: now }, signed)}`,
    'invalid_app_token',
  ],
  [
    'wrongly signed',
    (now) => forgedToken({ app_id: PROJECT.id, iat: now }, { secret: 'x' }),
    'invalid_app_token',
  ],
  [
    'unsigned',
    (now) => forgedToken({ app_id: PROJECT.id, iat: now }, { alg: 'none', signature: '' }),
    'invalid_app_token',
  ],
  ['without time', () => forgedToken({ app_id: PROJECT.id }, signed), 'invalid_app_token'],
  ['too old', (now) => forgedToken({ app_id: PROJECT.id, iat: now - 86_431 }, signed), 'invalid_app_token'],
  [
    'a project token',
    (now) => forgedToken({ project_id: PROJECT.id, iat: now }, signed),
    'invalid_app_token',
  ],
  [
    'a client token',
    (now) => forgedToken({ app_id: PROJECT.id, user_id: 'ada', iat: now }, signed),
    'invalid_app_token',
  ],
  [
    'of an unknown app',
    (now) => forgedToken({ app_id: 'nobody', iat: now }, signed),
    'application_not_found',
  ],
  [
    'of an app that is no ID',
    (now) => forgedToken({ app_id: ['wiki'], iat: now }, signed),
    'invalid_app_token',
  ],
];

test('a token that is no valid app token is not exchanged for an access token', (t) =>
  withAuth(async ({ tokens, seconds }) => {
    for (const [what, token, code] of REJECTED) {
      await t.test(`a signed_app_token that is ${what} is ${code}`, async () => {
        await assertTokenFailure(() => tokens.authorize(token(seconds()), null), code);
      });
    }
  }));

test('a revoked access token is expired at once', () =>
  withAuth(async (auth) => {
    const { authenticator, tokens } = auth;
    const header = `Bearer ${(await tokens.authorize(appToken(auth), null)).accessToken}`;
    const caller = await authenticator.authenticate(header);
    assert.equal(authenticator.authenticate(header), caller, 'the token is in the cache');
    await tokens.revoke({ ...caller, ...BY_TEST });
    await assertTokenFailure(() => authenticator.authenticate(header), 'expired_access_token');
  }));

test('only an access token can be revoked', () =>
  withAuth(async (auth) => {
    const caller = await auth.authenticator.authenticate(`Bearer ${appToken(auth)}`);
    await assertTokenFailure(() => auth.tokens.revoke({ ...caller, ...BY_TEST }), 'invalid_access_token');
  }));

test('an access token whose session is unknown, or whose project is gone, is invalid', () =>
  withAuth(async (auth) => {
    const { authenticator, tokens, projects, store, seconds } = auth;
    const unknown = await mintAccessToken('unknown', await store.sessions.serviceKey(), seconds());
    await assertTokenFailure(() => authenticator.authenticate(`Bearer ${unknown}`), 'invalid_access_token');
    const header = `Bearer ${(await tokens.authorize(appToken(auth), null)).accessToken}`;
    await authenticator.authenticate(header);
    await projects.remove({ customerId: CUSTOMER.id, ...BY_TEST }, PROJECT.id);
    await assertTokenFailure(() => authenticator.authenticate(header), 'invalid_access_token');
  }));

test('expired_access_token is answered only to tokens that this service signed', () =>
  withAuth(async (auth) => {
    const { authenticator, clock, tokens } = auth;
    const { accessToken } = await tokens.authorize(appToken(auth), null);
    const claims = JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString());
    clock.move(2 * DAY_MS);
    await assertTokenFailure(
      () => authenticator.authenticate(`Bearer ${accessToken}`),
      'expired_access_token',
    );
    const forged = forgedToken(claims, { secret: 'guessed' });
    await assertTokenFailure(() => authenticator.authenticate(`Bearer ${forged}`), 'invalid_access_token');
  }));

test('ended sessions are removed at the start, also by a server that never runs for ten minutes', () =>
  withAuth(async (auth) => {
    const { store, broker, clock, writes, project } = auth;
    await store.sessions.create(project.key, { id: 'ended', expiresAt: clock.now() }, CONTEXT);
    clock.jump(DAY_MS);
    const issuer = createTokenIssuer(store, auth.serviceKey);
    new TokenService({ store, broker, clock, writes, issuer }).close();
    // Writes are done in order, so that the sweep has ended when this has.
    await store.sessions.create(project.key, { id: 'later', expiresAt: clock.now() }, CONTEXT);
    assert.equal(await store.sessions.find('ended'), null);
  }));

test('ended sessions are removed within ten minutes after the tolerance, and only those; their tokens stay expired', () =>
  withAuth(async (auth) => {
    const { clock, store, tokens, authenticator, project } = auth;
    const untilRemoved = (id: string) =>
      until(`the removal of session ${id}`, async () => (await store.sessions.find(id)) === null);
    const session = async () => {
      const { accessToken } = await tokens.authorize(appToken(auth), null);
      return {
        header: `Bearer ${accessToken}`,
        ...(await authenticator.authenticate(`Bearer ${accessToken}`)),
      };
    };
    // Ends 10 s before a sweep.
    clock.move(SWEEP_MS - 10_000);
    const ended = await session();
    clock.move(DAY_MS + 10_000 - SWEEP_MS);
    const running = await session();
    // Only the next sweep can remove it.
    const aMinuteBefore = clock.now() + SWEEP_MS - 60_000;
    await store.sessions.create(project.key, { id: 'a minute before', expiresAt: aMinuteBefore }, CONTEXT);
    clock.move(SWEEP_MS);
    await untilRemoved('a minute before');
    assert.notEqual(
      await store.sessions.find(ended.sessionId ?? ''),
      null,
      'its token is still within the tolerance',
    );
    assert.equal((await authenticator.authenticate(ended.header)).projectId, PROJECT.id);
    clock.move(SWEEP_MS);
    await untilRemoved(ended.sessionId ?? '');
    assert.notEqual(await store.sessions.find(running.sessionId ?? ''), null);
    await assertTokenFailure(() => authenticator.authenticate(ended.header), 'expired_access_token');
  }));

test('an access token is revoked even when the broker cannot notify the other processes, which see it within a second', () =>
  withAuth(async (auth) => {
    const { store, clock, authenticator } = auth;
    const cutOff = { ...auth.broker, publish: () => Promise.reject(new Error('cut off')) };
    const issuer = createTokenIssuer(store, auth.serviceKey);
    const tokens = new TokenService({ store, clock, broker: cutOff, writes: auth.writes, issuer });
    const header = `Bearer ${(await tokens.authorize(appToken(auth), null)).accessToken}`;
    await tokens.revoke({ ...(await authenticator.authenticate(header)), ...BY_TEST });
    clock.move(1_000);
    await assertTokenFailure(() => authenticator.authenticate(header), 'expired_access_token');
    tokens.close();
  }));
