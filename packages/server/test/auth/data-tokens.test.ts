import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorCode } from '@rollcall/protocol';
import { mintAppToken, mintCustomerToken, mintProjectToken } from '../../src/auth/sign.ts';
import { assertTokenFailure, CUSTOMER, PROJECT, withAuth } from './auth-case.ts';
import { type Forgery, forgedToken } from './forged-token.ts';

const signed: Forgery = { secret: PROJECT.secret };
const DAY = 86_400;

test('project and app tokens signed with HS512, HS384 or HS256 open the project', () =>
  withAuth(async ({ authenticator, project, seconds }) => {
    for (const alg of ['HS512', 'HS384', 'HS256']) {
      for (const claim of ['project_id', 'app_id']) {
        const token = forgedToken({ [claim]: PROJECT.id, exp: seconds() + 60 }, { ...signed, alg });
        const caller = await authenticator.authenticate(`Bearer ${token}`);
        const actor = { kind: claim === 'app_id' ? 'app_token' : 'project_token', id: PROJECT.id };
        const expected = { actor, projectId: PROJECT.id, project: project.key, sessionId: null };
        assert.deepEqual(caller, expected, alg);
      }
    }
  }));

test('a minted project token opens the project for a day', () =>
  withAuth(async ({ authenticator, clock }) => {
    const header = `Bearer ${await mintProjectToken(PROJECT.id, PROJECT.secret, clock.now())}`;
    assert.equal((await authenticator.authenticate(header)).projectId, PROJECT.id);
    clock.move(DAY * 1_000);
    assert.equal((await authenticator.authenticate(header)).projectId, PROJECT.id);
    clock.move(31_000);
    await assertTokenFailure(() => authenticator.authenticate(header), 'invalid_project_token');
  }));

test('minted tokens expire after the requested number of seconds', () =>
  withAuth(async ({ authenticator, clock }) => {
    for (const [mint, code] of [
      [mintProjectToken, 'invalid_project_token'],
      [mintAppToken, 'invalid_app_token'],
    ] as const) {
      const header = `Bearer ${await mint(PROJECT.id, PROJECT.secret, clock.now(), 60)}`;
      clock.move(89_000);
      assert.equal((await authenticator.authenticate(header)).projectId, PROJECT.id);
      clock.move(1_000);
      await assertTokenFailure(() => authenticator.authenticate(header), code);
    }
  }));

/** The error of each token, its claims beside `iat`, its signature, and the code of the answer. */
const REJECTED: [what: string, claims: object, forgery: Forgery, code: ErrorCode][] = [
  ['a project that does not exist', { project_id: 'nobody' }, signed, 'project_not_found'],
  ['an application that does not exist', { app_id: 'nobody' }, signed, 'application_not_found'],
  [
    'a project that does not exist, unsigned',
    { project_id: 'no' },
    { alg: 'none', signature: '' },
    'project_not_found',
  ],
  ['another secret', { project_id: PROJECT.id }, { secret: 'another' }, 'invalid_project_token'],
  ['another secret', { app_id: PROJECT.id }, { secret: 'another' }, 'invalid_app_token'],
  ['the customer secret', { project_id: PROJECT.id }, { secret: CUSTOMER.secret }, 'invalid_project_token'],
  ['an empty secret', { project_id: PROJECT.id }, { secret: '' }, 'invalid_project_token'],
  ['no signature', { project_id: PROJECT.id }, { ...signed, signature: '' }, 'invalid_project_token'],
  ['a cut signature', { project_id: PROJECT.id }, { ...signed, signature: 'AAAA' }, 'invalid_project_token'],
  ['alg none', { project_id: PROJECT.id }, { ...signed, alg: 'none' }, 'invalid_project_token'],
  ['alg None', { project_id: PROJECT.id }, { ...signed, alg: 'None' }, 'invalid_project_token'],
  ['alg RS256', { project_id: PROJECT.id }, { ...signed, alg: 'RS256' }, 'invalid_project_token'],
  ['alg hs512', { project_id: PROJECT.id }, { ...signed, alg: 'hs512' }, 'invalid_project_token'],
  ['alg 512', { project_id: PROJECT.id }, { ...signed, alg: 512 }, 'invalid_project_token'],
  ['no alg', { project_id: PROJECT.id }, { ...signed, header: {} }, 'invalid_project_token'],
  [
    'a critical extension',
    { project_id: PROJECT.id },
    { ...signed, header: { alg: 'HS512', b64: false, crit: ['b64'] } },
    'invalid_project_token',
  ],
  ['a project_id that is a number', { project_id: 5 }, signed, 'invalid_project_token'],
  ['a project_id that is null', { project_id: null }, signed, 'invalid_project_token'],
  ['a project_id that is empty', { project_id: '' }, signed, 'invalid_project_token'],
  ['a project_id with NUL', { project_id: 'wiki\0' }, signed, 'invalid_project_token'],
  ['a project_id with half a surrogate pair', { project_id: '\ud800' }, signed, 'invalid_project_token'],
  ['a project_id that is too long', { project_id: 'x'.repeat(321) }, signed, 'invalid_project_token'],
  ['an app_id that is an object', { app_id: { id: PROJECT.id } }, signed, 'invalid_app_token'],
  [
    'a project_id before an app_id',
    { project_id: 'nobody', app_id: PROJECT.id },
    signed,
    'project_not_found',
  ],
  ['an ID in another case', { project_id: 'Wiki' }, signed, 'project_not_found'],
  ['a user: a client token', { project_id: PROJECT.id, user_id: 'ada' }, signed, 'invalid_access_token'],
  ['a user that is null', { app_id: PROJECT.id, user_id: null }, signed, 'invalid_access_token'],
  ['a user and nothing else', { user_id: 'ada' }, signed, 'invalid_access_token'],
  ['a customer', { customer_id: CUSTOMER.id }, { secret: CUSTOMER.secret }, 'invalid_access_token'],
  ['none of the claims', { sub: PROJECT.id }, signed, 'invalid_access_token'],
  ['a session without a signature', { session_id: 's' }, { secret: '' }, 'invalid_access_token'],
  ['a session of the project secret', { session_id: 's' }, signed, 'invalid_access_token'],
  ['a session that is a number', { session_id: 1 }, signed, 'invalid_access_token'],
];

test('a token that does not open its project is rejected with the code of its kind, and the message does not repeat it', (t) =>
  withAuth(async ({ authenticator, seconds }) => {
    for (const [what, claims, forgery, code] of REJECTED) {
      await t.test(`a token of ${Object.keys(claims)} with ${what} is ${code}`, async () => {
        const token = forgedToken({ iat: seconds(), ...claims }, forgery);
        const error = await assertTokenFailure(() => authenticator.authenticate(`Bearer ${token}`), code);
        assert.ok(!error.message.includes(token), error.message);
      });
    }
  }));

/** Seconds relative to now. */
const TIMES: [what: string, times: Record<string, unknown>, good: boolean][] = [
  ['iat', { iat: 0 }, true],
  ['exp', { exp: 60 }, true],
  ['iat a day and the tolerance old', { iat: -DAY - 30 }, true],
  ['iat older than that', { iat: -DAY - 31 }, false],
  ['iat an hour in the future', { iat: 3_600 }, false],
  ['exp passed by less than the tolerance', { exp: -29 }, true],
  ['exp passed', { exp: -31 }, false],
  ['exp more than a day ahead', { exp: DAY + 31 }, false],
  ['nbf not reached', { iat: 0, nbf: 31 }, false],
  ['no time', {}, false],
  ['iat as text', { iat: '0' }, false],
];

test('a token before its iat or after its exp is rejected as invalid, with the code of its kind', () =>
  withAuth(async ({ authenticator, seconds }) => {
    for (const [what, relative, good] of TIMES) {
      const times = Object.fromEntries(
        Object.entries(relative).map(([name, value]) => [
          name,
          typeof value === 'number' ? seconds() + value : value,
        ]),
      );
      for (const [claim, code] of [
        ['project_id', 'invalid_project_token'],
        ['app_id', 'invalid_app_token'],
      ] as const) {
        const header = `Bearer ${forgedToken({ [claim]: PROJECT.id, ...times }, signed)}`;
        if (good) assert.equal((await authenticator.authenticate(header)).projectId, PROJECT.id, what);
        else await assertTokenFailure(() => authenticator.authenticate(header), code, what);
      }
    }
  }));

test('a token whose exp or iat is too large for a JSON number is invalid', () =>
  withAuth(async ({ authenticator }) => {
    const header = `Bearer ${forgedToken({ project_id: PROJECT.id, exp: 'HUGE' }, signed)}`;
    const [head, claims, signature] = header.split('.');
    const text = Buffer.from(claims ?? '', 'base64url')
      .toString()
      .replace('"HUGE"', '1e999');
    const forged = [head, Buffer.from(text).toString('base64url'), signature].join('.');
    await assertTokenFailure(() => authenticator.authenticate(forged), 'invalid_project_token');
  }));

test('unknown claims of a token are ignored', () =>
  withAuth(async ({ authenticator, seconds }) => {
    const claims = {
      project_id: PROJECT.id,
      iat: seconds(),
      customer_id: 7,
      session_id: null,
      aud: 'x',
      iss: [1],
      jti: {},
    };
    const caller = await authenticator.authenticate(`Bearer ${forgedToken(claims, signed)}`);
    assert.deepEqual([caller.projectId, caller.sessionId], [PROJECT.id, null]);
  }));

test("the key of a token's signature is the UTF-8 of the secret", () =>
  withAuth(async ({ authenticator, store, seconds }) => {
    const secret = 'Schlüssel 🔑';
    await store.projects.create({ ...PROJECT, id: 'umlaut', secret });
    const header = `Bearer ${forgedToken({ project_id: 'umlaut', iat: seconds() }, { secret: Buffer.from(secret, 'utf8') })}`;
    assert.equal((await authenticator.authenticate(header)).projectId, 'umlaut');
  }));

test('a project with an empty secret accepts no token', () =>
  withAuth(async ({ authenticator, store, seconds }) => {
    await store.projects.create({ ...PROJECT, id: 'open', secret: '' });
    const header = `Bearer ${forgedToken({ project_id: 'open', iat: seconds() }, { secret: '' })}`;
    await assertTokenFailure(() => authenticator.authenticate(header), 'invalid_project_token');
  }));

test('a customer token opens the projects endpoints and no data', () =>
  withAuth(async ({ authenticator, clock }) => {
    const header = `Bearer ${await mintCustomerToken(CUSTOMER.id, CUSTOMER.secret, clock.now())}`;
    const actor = { kind: 'customer_token', id: CUSTOMER.id };
    const caller = await authenticator.authenticateCustomer(header);
    assert.deepEqual(caller, { actor, customerId: CUSTOMER.id });
    await assertTokenFailure(() => authenticator.authenticate(header), 'invalid_access_token');
  }));
