import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertTokenFailure, PROJECT, rejection, withAuth } from './auth-case.ts';
import { forgedToken } from './forged-token.ts';

const part = (text: string | Uint8Array) => Buffer.from(text).toString('base64url');
const HEADER = part('{"alg":"HS512"}');

const MALFORMED: Record<string, string> = {
  'an empty header': '',
  'the scheme alone': 'Bearer',
  'the scheme and a space': 'Bearer ',
  'another scheme': `Basic ${HEADER}.${part('{}')}.AAAA`,
  'a token without the scheme': `${HEADER}.${part('{}')}.AAAA`,
  'the scheme run into the token': `Bearer${HEADER}.${part('{}')}.AAAA`,
  'something behind the token': `Bearer ${HEADER}.${part('{}')}.AAAA x`,
  'no dots': 'Bearer token',
  'two parts': `Bearer ${HEADER}.${part('{}')}`,
  'four parts': `Bearer ${HEADER}.${part('{}')}.AAAA.AAAA`,
  'an empty header part': `Bearer .${part('{}')}.AAAA`,
  'an empty claims part': `Bearer ${HEADER}..AAAA`,
  'padded base64': `Bearer ${HEADER}.${part('{}')}.AA==`,
  'the other base64 alphabet': `Bearer ${HEADER}.${part('{}')}.A+/A`,
  'a length that base64url cannot have': `Bearer ${HEADER}.${part('{}')}.AAAAA`,
  'a header that is no JSON': `Bearer ${part('alg')}.${part('{}')}.AAAA`,
  'a header that is an array': `Bearer ${part('[]')}.${part('{}')}.AAAA`,
  'claims that are a string': `Bearer ${HEADER}.${part('"a"')}.AAAA`,
  'claims that are null': `Bearer ${HEADER}.${part('null')}.AAAA`,
  'claims that are an array': `Bearer ${HEADER}.${part('[{}]')}.AAAA`,
  'claims that are not UTF-8': `Bearer ${HEADER}.${part(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d))}.AAAA`,
};

test('a request without the Authorization header is missing_authorization_header, and the message names the bearer token', () =>
  withAuth(async ({ authenticator }) => {
    for (const attempt of [authenticator.authenticate, authenticator.authenticateCustomer]) {
      const error = await assertTokenFailure(() => attempt(undefined), 'missing_authorization_header');
      assert.match(error.message, /bearer token must be present/);
    }
  }));

test('an Authorization header that is not "Bearer" and a well-formed JWT is invalid_authorization_header', () =>
  withAuth(async ({ authenticator }) => {
    for (const [what, header] of Object.entries(MALFORMED)) {
      await assertTokenFailure(
        () => authenticator.authenticate(header),
        'invalid_authorization_header',
        what,
      );
      await assertTokenFailure(
        () => authenticator.authenticateCustomer(header),
        'invalid_authorization_header',
        what,
      );
    }
  }));

test('the Authorization scheme compares case-insensitively, and may be followed by several spaces', () =>
  withAuth(async ({ authenticator, seconds }) => {
    const token = forgedToken({ project_id: PROJECT.id, iat: seconds() }, { secret: PROJECT.secret });
    for (const scheme of ['Bearer ', 'bearer ', 'BEARER ', 'bEaReR   ']) {
      assert.equal((await authenticator.authenticate(scheme + token)).projectId, PROJECT.id, scheme);
    }
  }));

test('an unsigned bearer token is well-formed: it is rejected with the code of its kind of token', () =>
  withAuth(async ({ authenticator, seconds }) => {
    const forgery = { alg: 'none', signature: '' };
    const time = { iat: seconds() };
    const bearer = (claims: object) => `Bearer ${forgedToken({ ...claims, ...time }, forgery)}`;
    const { authenticate, authenticateCustomer } = authenticator;
    await assertTokenFailure(() => authenticate(bearer({ project_id: PROJECT.id })), 'invalid_project_token');
    await assertTokenFailure(() => authenticate(bearer({})), 'invalid_access_token');
    await assertTokenFailure(
      () => authenticateCustomer(bearer({ customer_id: 'acme' })),
      'invalid_customer_token',
    );
  }));

test('any Authorization header is answered with 401 and an error of the vocabulary', () =>
  withAuth(async ({ authenticator, seconds }) => {
    const claim = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom(PROJECT.id, 'acme', '\ud800', '\0', '', 1e308, -1, seconds(), seconds() + 60),
    );
    const claims = fc.dictionary(
      fc.constantFrom(
        'project_id',
        'app_id',
        'customer_id',
        'session_id',
        'user_id',
        'iat',
        'exp',
        'nbf',
        '__proto__',
      ),
      claim,
    );
    const alg = fc.oneof(
      fc.constantFrom('HS512', 'HS256', 'none', 'RS256', 'ES512', 'hs512', '__proto__'),
      fc.jsonValue(),
    );
    const header = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string().map((text) => `Bearer ${text}`),
      fc
        .tuple(fc.jsonValue(), fc.jsonValue(), fc.base64String())
        .map((parts) => `Bearer ${parts.map((p) => part(JSON.stringify(p))).join('.')}`),
      fc.record({ claims, alg, crit: fc.option(fc.jsonValue()) }).map((token) => {
        const forgery = {
          alg: token.alg,
          header: { alg: token.alg, ...(token.crit === null ? {} : { crit: token.crit }) },
        };
        return `Bearer ${forgedToken(token.claims, forgery)}`;
      }),
    );
    // An algorithm that cannot be converted to a text.
    const unprintable = forgedToken(
      { project_id: PROJECT.id, iat: seconds() },
      { alg: { toString: 0 }, secret: PROJECT.secret },
    );
    await fc.assert(
      fc.asyncProperty(header, async (text) => {
        for (const attempt of [authenticator.authenticate, authenticator.authenticateCustomer]) {
          assert.equal((await rejection(() => attempt(text))).status, 401);
        }
      }),
      { numRuns: 500, examples: [[`Bearer ${unprintable}`]] },
    );
  }));
