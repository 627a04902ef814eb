import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertTokenFailure, CUSTOMER, PROJECT, withAuth } from './auth-case.ts';
import { type Forgery, forgedToken } from './forged-token.ts';

const signed: Forgery = { secret: CUSTOMER.secret };
const ofProject: Forgery = { secret: PROJECT.secret };

test('a customer token signed with HS512, HS384 or HS256 opens the projects endpoints', () =>
  withAuth(async ({ authenticator, seconds }) => {
    for (const alg of ['HS512', 'HS384', 'HS256']) {
      const token = forgedToken({ customer_id: CUSTOMER.id, iat: seconds() }, { ...signed, alg });
      const caller = await authenticator.authenticateCustomer(`Bearer ${token}`);
      const actor = { kind: 'customer_token', id: CUSTOMER.id };
      assert.deepEqual(caller, { actor, customerId: CUSTOMER.id }, alg);
    }
  }));

test('a customer token is recognised by customer_id, whatever other claims it has', () =>
  withAuth(async ({ authenticator, seconds }) => {
    const claims = { customer_id: CUSTOMER.id, project_id: 'nobody', session_id: 's', iat: seconds() };
    const caller = await authenticator.authenticateCustomer(`Bearer ${forgedToken(claims, signed)}`);
    assert.equal(caller.customerId, CUSTOMER.id);
  }));

/** The error of each token, its claims (times relative to now), and its signature. */
const REJECTED: [what: string, claims: Record<string, unknown>, forgery: Forgery][] = [
  ['an unknown customer', { customer_id: 'nobody', iat: 0 }, signed],
  ['another secret', { customer_id: CUSTOMER.id, iat: 0 }, { secret: 'another' }],
  ["a project's secret", { customer_id: CUSTOMER.id, iat: 0 }, ofProject],
  ['alg none', { customer_id: CUSTOMER.id, iat: 0 }, { alg: 'none', signature: '' }],
  ['a customer_id that is a number', { customer_id: 7, iat: 0 }, signed],
  ['a customer_id that is no ID', { customer_id: 'a\nb', iat: 0 }, signed],
  ['a project', { project_id: PROJECT.id, iat: 0 }, ofProject],
  ['an application', { app_id: PROJECT.id, iat: 0 }, ofProject],
  ['a project that does not exist', { project_id: 'nobody', iat: 0 }, ofProject],
  ['a session', { session_id: 's', iat: 0 }, signed],
  ['no time', { customer_id: CUSTOMER.id }, signed],
  ['an end that has passed', { customer_id: CUSTOMER.id, exp: -31 }, signed],
  ['an issue in the future', { customer_id: CUSTOMER.id, iat: 3_600 }, signed],
  ['an age of more than a day', { customer_id: CUSTOMER.id, iat: -86_431 }, signed],
];

test('an invalid customer token, or a token of project data, on the projects endpoints is invalid_customer_token', (t) =>
  withAuth(async ({ authenticator, seconds }) => {
    for (const [what, { iat, exp, ...others }, forgery] of REJECTED) {
      await t.test(what, async () => {
        const times = {
          ...(typeof iat === 'number' ? { iat: seconds() + iat } : {}),
          ...(typeof exp === 'number' ? { exp: seconds() + exp } : {}),
        };
        const header = `Bearer ${forgedToken({ ...others, ...times }, forgery)}`;
        await assertTokenFailure(() => authenticator.authenticateCustomer(header), 'invalid_customer_token');
      });
    }
  }));

test('a JWT with none of the claims is invalid_access_token on the projects endpoints too', () =>
  withAuth(async ({ authenticator, seconds }) => {
    for (const claims of [{}, { iss: 'a', sub: CUSTOMER.id }]) {
      const header = `Bearer ${forgedToken({ ...claims, iat: seconds() }, signed)}`;
      await assertTokenFailure(() => authenticator.authenticateCustomer(header), 'invalid_access_token');
    }
  }));

test('a client token on the projects endpoints is invalid_access_token, whatever other claims it has', () =>
  withAuth(async ({ authenticator, seconds }) => {
    const claims = { customer_id: CUSTOMER.id, user_id: 'ada', iat: seconds() };
    const header = `Bearer ${forgedToken(claims, signed)}`;
    await assertTokenFailure(() => authenticator.authenticateCustomer(header), 'invalid_access_token');
  }));

test('an access token on the projects endpoints is invalid_customer_token', () =>
  withAuth(async ({ authenticator, tokens, seconds }) => {
    const { accessToken } = await tokens.authorize(
      forgedToken({ app_id: PROJECT.id, iat: seconds() }, ofProject),
      null,
    );
    await assertTokenFailure(
      () => authenticator.authenticateCustomer(`Bearer ${accessToken}`),
      'invalid_customer_token',
    );
  }));
