import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ErrorCode } from '@rollcall/protocol';
import { clockedServer } from '../support/clocked-server.ts';
import { type Claims, jwt, jwtOfText, jwtPart, rsaJwt, unsignedJwt, withPart } from '../support/jwt.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { expectTokenFailure } from '../support/token-failure.ts';

const clock = new MovedClock();
const server = clockedServer({ clock });
/** A server whose clock the test moves; the clock of the other one does not move. */
const movedOwn = new MovedClock();
const ownServer = clockedServer({ clock: movedOwn });
const NOW = Math.floor(clock.now() / 1000);
const DAY = 86_400;
const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

interface Kind {
  readonly name: string;
  readonly claim: string;
  readonly opens: string;
  readonly invalid: ErrorCode;
  readonly unknown: ErrorCode;
}

const PROJECT_KIND: Kind = {
  name: 'project token',
  claim: 'project_id',
  opens: '/v1/groups',
  invalid: 'invalid_project_token',
  unknown: 'project_not_found',
};
const KINDS: readonly Kind[] = [
  PROJECT_KIND,
  {
    name: 'app token',
    claim: 'app_id',
    opens: '/v1/groups',
    invalid: 'invalid_app_token',
    unknown: 'application_not_found',
  },
  {
    name: 'customer token',
    claim: 'customer_id',
    opens: '/v1/projects',
    invalid: 'invalid_customer_token',
    unknown: 'invalid_customer_token',
  },
];

/** The ID that a token of the kind names, and the secret that signs it. */
const holder = ({ claim }: Kind) =>
  claim === 'customer_id'
    ? { id: server.raw.customerId, secret: server.raw.customerSecret }
    : { id: server.raw.projectId, secret: server.raw.projectSecret };

const present = (kind: Kind, token: string) => server.call(token, 'GET', kind.opens);

/** A validly signed token of the kind, with further claims. */
function sign(kind: Kind, claims: Claims, shape = {}): string {
  const { id, secret } = holder(kind);
  return jwt({ [kind.claim]: id, ...claims }, secret, shape);
}

const ACCEPTED: readonly [string, Claims][] = [
  ['issued just now', { iat: NOW }],
  ['issued 29 s in the future, within the clock tolerance', { iat: NOW + 29 }],
  ['issued a minute less than 24 hours ago', { iat: NOW - DAY + 60 }],
  ['issued 24 hours and 29 s ago, within the clock tolerance', { iat: NOW - DAY - 29 }],
  ['that has exp and no iat', { exp: NOW + 60 }],
  ['that expired 29 s ago, within the clock tolerance', { iat: NOW - 60, exp: NOW - 29 }],
  ['whose nbf has been reached', { iat: NOW, nbf: NOW }],
  ['whose nbf is 29 s ahead, within the clock tolerance', { iat: NOW, nbf: NOW + 29 }],
  [
    'with claims that mean nothing here',
    { iat: NOW, iss: 'x', aud: ['y'], sub: 'z', jti: '1', role: { a: 1 } },
  ],
];

const REJECTED: readonly [string, Claims][] = [
  ['issued 31 s in the future', { iat: NOW + 31 }],
  ['issued an hour in the future', { iat: NOW + 3_600 }],
  ['issued 24 hours and 31 s ago', { iat: NOW - DAY - 31 }],
  ['issued too long ago, though exp is ahead', { iat: NOW - 2 * DAY, exp: NOW + 60 }],
  ['that expired 31 s ago', { iat: NOW - 60, exp: NOW - 31 }],
  ['that expired and has no iat', { exp: NOW - 31 }],
  ['whose nbf is 31 s ahead', { iat: NOW, nbf: NOW + 31 }],
  ['that has no iat, and whose nbf is an hour ahead', { exp: NOW + 3_660, nbf: NOW + 3_600 }],
  ['with neither iat nor exp', {}],
  ['whose iat is a text', { iat: String(NOW) }],
  ['whose iat is null', { iat: null }],
  ['whose iat is an object', { iat: {} }],
  ['whose iat is in milliseconds', { iat: NOW * 1000 }],
  ['whose iat is negative', { iat: -1 }],
  ['whose exp is a text', { iat: NOW, exp: String(NOW + 60) }],
  ['whose exp is null', { iat: NOW, exp: null }],
  ['whose exp is true', { iat: NOW, exp: true }],
  ['whose nbf is a text', { iat: NOW, nbf: String(NOW) }],
  ['whose nbf is an array', { iat: NOW, nbf: [NOW] }],
];

for (const kind of KINDS) {
  describe(`a ${kind.name}`, () => {
    for (const alg of ['HS512', 'HS384', 'HS256'] as const) {
      test(`a ${kind.name} signed with ${alg} is accepted`, async () => {
        assert.equal((await present(kind, sign(kind, { iat: NOW }, { alg }))).status, 200);
      });
    }

    for (const [title, claims] of ACCEPTED) {
      test(`a ${kind.name} ${title} is accepted`, async () => {
        const answer = await present(kind, sign(kind, claims));
        assert.equal(answer.status, 200, answer.text);
      });
    }

    for (const [title, claims] of REJECTED) {
      test(`a ${kind.name} ${title} is ${kind.invalid}`, async () => {
        expectTokenFailure(await present(kind, sign(kind, claims)), kind.invalid);
      });
    }

    test(`a ${kind.name} whose iat is no number a clock can have is ${kind.invalid}`, async () => {
      const { id, secret } = holder(kind);
      for (const iat of ['1e999', '-1e999', '1e300', '-0.5e300']) {
        const token = jwtOfText(`{"${kind.claim}":"${id}","iat":${iat}}`, secret);
        expectTokenFailure(await present(kind, token), kind.invalid);
      }
    });

    test(`a ${kind.name} signed with another secret is ${kind.invalid}`, async () => {
      const claims = { [kind.claim]: holder(kind).id, iat: NOW };
      for (const secret of [
        'wrong',
        '',
        holder(kind).secret.slice(1),
        `${holder(kind).secret} `,
        holder(kind).id,
      ]) {
        expectTokenFailure(await present(kind, jwt(claims, secret)), kind.invalid);
      }
    });

    test(`a ${kind.name} that names an ID which does not exist is ${kind.unknown}`, async () => {
      for (const id of [
        'no-such',
        '',
        '__proto__',
        'constructor',
        'x'.repeat(5_000),
        'NUL \0',
        '\ud800',
        "' OR 1=1 --",
      ]) {
        const answer = await present(kind, jwt({ [kind.claim]: id, iat: NOW }, holder(kind).secret));
        expectTokenFailure(answer, kind.unknown, kind.invalid);
      }
      const plain = jwt({ [kind.claim]: 'no-such', iat: NOW }, holder(kind).secret);
      expectTokenFailure(await present(kind, plain), kind.unknown);
    });

    test(`a ${kind.name} whose ID is not a text opens nothing`, async () => {
      for (const id of [1, null, true, [holder(kind).id], { id: holder(kind).id }]) {
        const answer = await present(kind, jwt({ [kind.claim]: id, iat: NOW }, holder(kind).secret));
        expectTokenFailure(answer, kind.invalid, 'invalid_access_token', 'invalid_customer_token');
      }
    });

    test(`a ${kind.name} with alg none, in any spelling, is ${kind.invalid}`, async () => {
      const claims = { [kind.claim]: holder(kind).id, iat: NOW };
      for (const alg of ['none', 'None', 'NONE', 'nOnE', '']) {
        expectTokenFailure(await present(kind, unsignedJwt(claims, alg)), kind.invalid);
        const signed = sign(kind, { iat: NOW }, { header: { alg } });
        expectTokenFailure(await present(kind, signed), kind.invalid);
      }
    });

    test(`a ${kind.name} with alg RS256 is ${kind.invalid}, properly signed or not`, async () => {
      expectTokenFailure(
        await present(kind, rsaJwt({ [kind.claim]: holder(kind).id, iat: NOW })),
        kind.invalid,
      );
      const confused = sign(kind, { iat: NOW }, { alg: 'HS256', header: { alg: 'RS256' } });
      expectTokenFailure(await present(kind, confused), kind.invalid);
    });

    test(`a ${kind.name} whose header names another algorithm than it was signed with is ${kind.invalid}`, async () => {
      for (const alg of [
        'HS256',
        'HS384',
        'HS1',
        'hs512',
        'ES512',
        'HS512 ',
        null,
        ['HS512'],
        {},
        512,
        undefined,
      ]) {
        const token = sign(kind, { iat: NOW }, { header: { alg } });
        expectTokenFailure(await present(kind, token), kind.invalid);
      }
    });

    test(`a ${kind.name} with a changed payload, or a changed, cut or absent signature, is ${kind.invalid}`, async () => {
      const token = sign(kind, { iat: NOW });
      const other = jwtPart({ [kind.claim]: holder(kind).id, iat: NOW + 1 });
      const flip = (part: string) => (part.startsWith('A') ? 'B' : 'A') + part.slice(1);
      expectTokenFailure(
        await present(
          kind,
          withPart(token, 1, () => other),
        ),
        kind.invalid,
      );
      expectTokenFailure(await present(kind, withPart(token, 2, flip)), kind.invalid);
      expectTokenFailure(
        await present(
          kind,
          withPart(token, 2, (part) => part.slice(0, -8)),
        ),
        kind.invalid,
      );
      expectTokenFailure(
        await present(
          kind,
          withPart(token, 2, (part) => part + part),
        ),
        kind.invalid,
      );
      expectTokenFailure(
        await present(
          kind,
          withPart(token, 2, () => ''),
        ),
        kind.invalid,
      );
    });

    test(`a ${kind.name} whose signature ends in any other character is ${kind.invalid}, also where it decodes to the same bytes`, async () => {
      for (const alg of ['HS512', 'HS384', 'HS256'] as const) {
        const token = sign(kind, { iat: NOW }, { alg });
        assert.equal((await present(kind, token)).status, 200);
        const others = [...BASE64URL].filter((character) => !token.endsWith(character));
        assert.equal(others.length, 63);
        for (const last of others) {
          expectTokenFailure(await present(kind, token.slice(0, -1) + last), kind.invalid);
        }
      }
    });

    test(`a ${kind.name} with user_id is a client token, which opens no server endpoint: invalid_access_token`, async () => {
      for (const claims of [{ user_id: 'u' }, { user_id: 'u', group_id: 'g' }]) {
        const answer = await present(kind, sign(kind, { iat: NOW, ...claims }));
        if (kind.claim === 'customer_id') assert.notEqual(answer.status, 500);
        else expectTokenFailure(answer, 'invalid_access_token');
      }
    });
  });
}

describe('a token that was accepted', () => {
  test('a token that was accepted is accepted again, until it is too old', async () => {
    const token = sign(PROJECT_KIND, { iat: NOW });
    for (let count = 0; count < 3; count += 1)
      assert.equal((await ownServer.call(token, 'GET', '/v1/groups')).status, 200);
    movedOwn.jump((DAY + 31) * 1000);
    expectTokenFailure(await ownServer.call(token, 'GET', '/v1/groups'), 'invalid_project_token');
  });

  test('a token that was accepted is accepted no longer than its exp', async () => {
    const now = ownServer.now();
    const token = sign(PROJECT_KIND, { iat: now, exp: now + 60 });
    assert.equal((await ownServer.call(token, 'GET', '/v1/groups')).status, 200);
    movedOwn.move(89_000);
    assert.equal((await ownServer.call(token, 'GET', '/v1/groups')).status, 200);
    movedOwn.move(2_000);
    expectTokenFailure(await ownServer.call(token, 'GET', '/v1/groups'), 'invalid_project_token');
  });
});
