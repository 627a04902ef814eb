import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { ErrorCode, PresenceEntry } from '@rollcall/protocol';
import { Browser, clientToken } from '../support/browser.ts';
import { clockedServer } from '../support/clocked-server.ts';
import { CLIENT_ENDPOINTS, DATA_ENDPOINTS, projectEndpoints } from '../support/endpoints.ts';
import { expectDone, expectError, expectNotFound, expectOk } from '../support/expect.ts';
import {
  base64url,
  type Claims,
  jwt,
  jwtOfText,
  jwtPart,
  rsaJwt,
  unsignedJwt,
  withPart,
} from '../support/jwt.ts';
import { MovedClock } from '../support/moved-clock.ts';
import type { Project } from '../support/project-client.ts';
import { expectTokenFailure } from '../support/token-failure.ts';

const clock = new MovedClock();
const server = clockedServer({ clock });
let project: Project;

before(async () => {
  project = await server.project();
  await project.seed({
    users: [{ id: 'u' }, { id: 'v' }],
    groups: [
      { id: 'g', name: 'G', members: ['u', 'v'] },
      { id: 'h', name: 'H', members: ['u'] },
      { id: 'foreign', name: 'Foreign', members: ['v'] },
    ],
  });
});

const token = (claims: Claims, of = project) => clientToken(of, { user_id: 'u', ...claims }, clock.now());
const viewer = (bearer: string) => server.call(bearer, 'GET', '/v1/client/viewer');
const browser = (claims: Claims = {}, of = project) => new Browser(of, token(claims, of));

describe('what opens /v1/client', () => {
  test('/v1/client accepts a client token by project_id or app_id, signed with any of the three algorithms', async () => {
    for (const claim of ['project_id', 'app_id']) {
      for (const alg of ['HS256', 'HS384', 'HS512'] as const) {
        const claims = { [claim]: project.id, user_id: 'u', iat: server.now() };
        expectOk(await viewer(jwt(claims, project.secret, { alg })));
      }
    }
  });

  test('a token without user_id, of any kind, is invalid_access_token on /v1/client', async () => {
    const appToken = jwt({ app_id: project.id, iat: server.now() }, project.secret);
    const issued = await server.call(null, 'POST', '/v1/authorize', { signed_app_token: appToken });
    const kinds = {
      project: project.token,
      app: appToken,
      access: issued.json<{ access_token: string }>().access_token,
      customer: server.customerToken(),
      'group without user': jwt({ project_id: project.id, group_id: 'g', iat: server.now() }, project.secret),
      'user without project': jwt({ user_id: 'u', iat: server.now() }, project.secret),
      'user of a customer': server.customerToken({ user_id: 'u' }),
    };
    for (const [kind, bearer] of Object.entries(kinds)) {
      for (const { method, path, body } of CLIENT_ENDPOINTS) {
        const answer = await server.call(bearer, method, path, body);
        assert.equal(answer.status, 401, `${kind} ${method} ${path}: ${answer.text}`);
        expectTokenFailure(answer, 'invalid_access_token');
      }
    }
  });

  test('a missing header and a malformed token are rejected on /v1/client', async () => {
    for (const { method, path, body } of CLIENT_ENDPOINTS) {
      expectTokenFailure(await server.call(null, method, path, body), 'missing_authorization_header');
      expectTokenFailure(await server.call('x', method, path, body), 'invalid_authorization_header');
    }
  });
});

describe('a client token', () => {
  test('a client token opens no endpoint but /v1/client, whatever other claims it has', async () => {
    const mixed: Claims[] = [
      {},
      { group_id: 'g' },
      { app_id: project.id },
      { customer_id: server.raw.customerId },
      { session_id: 'x' },
      { admin: true, scope: '*' },
    ];
    for (const claims of mixed) {
      for (const { method, path, body } of DATA_ENDPOINTS) {
        expectTokenFailure(await server.call(token(claims), method, path, body), 'invalid_access_token');
      }
      for (const { method, path, body } of projectEndpoints(project.id)) {
        expectTokenFailure(await server.call(token(claims), method, path, body), 'invalid_access_token');
      }
    }
    expectTokenFailure(await server.call(token({}), 'DELETE', '/v1/authorize'), 'invalid_access_token');
  });

  test('a client token is not accepted as an app token by POST /v1/authorize', async () => {
    const signed = jwt({ app_id: project.id, user_id: 'u', iat: server.now() }, project.secret);
    const answer = await server.call(null, 'POST', '/v1/authorize', { signed_app_token: signed });
    expectTokenFailure(answer, 'invalid_app_token', 'invalid_access_token');
  });

  test('a client token that the project has not signed is rejected, and changes nothing', async () => {
    const other = await server.project();
    const claims = { project_id: project.id, user_id: 'u', iat: server.now() };
    const withDetails = { ...claims, user_details: { name: 'Mallory' } };
    const good = token({});
    const forged: string[] = [
      jwt(withDetails, 'another secret of sixteen'),
      jwt(withDetails, other.secret),
      jwt(withDetails, server.raw.customerSecret),
      jwt(withDetails, ''),
      ...['none', 'None', 'NONE', ''].map((alg) => unsignedJwt(withDetails, alg)),
      rsaJwt(withDetails),
      jwt(withDetails, project.secret, { alg: 'HS256', header: { alg: 'HS512' } }),
      jwt(withDetails, project.secret, { header: { crit: ['x'], x: 1 } }),
      withPart(good, 1, () => jwtPart({ ...claims, user_id: 'v' })),
      withPart(good, 1, () => jwtPart({ ...claims, group_id: 'foreign' })),
      withPart(good, 1, () => jwtPart(withDetails)),
      withPart(good, 2, (part) => (part.startsWith('A') ? `B${part.slice(1)}` : `A${part.slice(1)}`)),
      withPart(good, 2, () => base64url('')),
    ];
    await project.unchanged(async () => {
      for (const bearer of forged) {
        expectTokenFailure(await viewer(bearer), 'invalid_project_token', 'invalid_authorization_header');
      }
    });
  });

  test('a client token of a project that does not exist is project_not_found or application_not_found', async () => {
    const claims = { user_id: 'u', iat: server.now() };
    expectTokenFailure(await viewer(jwt({ ...claims, project_id: 'none' }, 'x')), 'project_not_found');
    expectTokenFailure(await viewer(jwt({ ...claims, app_id: 'none' }, 'x')), 'application_not_found');
  });

  test('a client token is valid between its iat and its exp', async () => {
    const at = (times: Claims) => jwt({ project_id: project.id, user_id: 'u', ...times }, project.secret);
    const now = server.now();
    for (const times of [
      {},
      { iat: now - 86_431 },
      { iat: now + 31 },
      { iat: now, exp: now - 31 },
      { iat: now, nbf: now + 31 },
      { exp: now + 86_432 },
      { iat: '1' },
    ]) {
      expectTokenFailure(await viewer(at(times)), 'invalid_project_token');
    }
    expectOk(await viewer(at({ exp: now + 60 })));
    const app = jwt({ app_id: project.id, user_id: 'u', iat: now - 86_431 }, project.secret);
    expectTokenFailure(await viewer(app), 'invalid_app_token');
  });

  test('a client token that was accepted before is rejected after its exp', async () => {
    const bearer = token({ exp: server.now() + 10 });
    expectOk(await viewer(bearer));
    clock.move(39_999);
    expectOk(await viewer(bearer));
    clock.move(1);
    expectTokenFailure(await viewer(bearer), 'invalid_project_token');
  });

  test('a client token ends with the secret that signed it: at the end of the overlap, or at once', async () => {
    const own = await server.project();
    await own.seed({ users: [{ id: 'u' }] });
    const rotate = async (overlap_seconds: number) => {
      const path = `/v1/projects/${own.id}/rotate-secret`;
      expectOk(await server.call(server.customerToken(), 'POST', path, { overlap_seconds }));
    };
    const bearer = token({}, own);
    expectOk(await viewer(bearer));
    await rotate(60);
    expectOk(await viewer(bearer));
    clock.move(59_999);
    expectOk(await viewer(bearer));
    clock.move(1);
    expectTokenFailure(await viewer(bearer), 'invalid_project_token');

    const again = await server.project();
    await again.seed({ users: [{ id: 'u' }] });
    const another = token({}, again);
    expectOk(await viewer(another));
    const path = `/v1/projects/${again.id}/rotate-secret`;
    expectOk(await server.call(server.customerToken(), 'POST', path, { overlap_seconds: 0 }));
    expectTokenFailure(await viewer(another), 'invalid_project_token');
  });

  test('a client token of a project that was deleted is project_not_found at once', async () => {
    const own = await server.project();
    await own.seed({ users: [{ id: 'u' }] });
    const bearer = token({}, own);
    expectOk(await viewer(bearer));
    expectDone(await server.call(server.customerToken(), 'DELETE', `/v1/projects/${own.id}`));
    expectTokenFailure(await viewer(bearer), 'project_not_found');
  });

  const WRONG: [what: string, claims: Claims][] = [
    ...[null, '', 0, false, {}, [], 'a\u0000b', 'x'.repeat(321)].map((id): [string, Claims] => [
      `the user ${JSON.stringify(id).slice(0, 20)}`,
      { user_id: id },
    ]),
    ...[null, '', 7, ['g'], 'x'.repeat(321)].flatMap((id): [string, Claims][] => [
      [`the group ${JSON.stringify(id).slice(0, 20)}`, { group_id: id }],
      [`the organization ${JSON.stringify(id).slice(0, 20)}`, { organization_id: id }],
    ]),
    ['group_id beside organization_id', { group_id: 'g', organization_id: 'g' }],
  ];
  for (const [what, claims] of WRONG) {
    test(`a client token that names ${what} is an invalid token of its kind`, async () => {
      expectTokenFailure(await viewer(token(claims)), 'invalid_project_token');
      const app = { ...claims, project_id: undefined, app_id: project.id };
      expectTokenFailure(await viewer(token(app)), 'invalid_app_token');
    });
  }

  test('a client token with claims named like members of Object.prototype has no other claims', async () => {
    const text = `{"project_id":${JSON.stringify(project.id)},"iat":${server.now()},"__proto__":{"user_id":"u"}}`;
    expectTokenFailure(await viewer(jwtOfText(text, project.secret)), 'invalid_access_token');
  });

  test('a client token with huge claims is rejected with an error of the vocabulary', async () => {
    const huge = 'x'.repeat(8_000);
    expectOk(await viewer(token({ other: huge })));
    expectTokenFailure(await viewer(token({ user_id: huge })), 'invalid_project_token');
    expectTokenFailure(await viewer(token({ group_id: huge })), 'invalid_project_token');
    assert.equal((await viewer(token({ other: 'x'.repeat(60_000) }))).status, 431);
  });
});

describe('a client token acts', () => {
  const presenceOf = async (userId: string, groupId: string, of = project) =>
    expectOk<PresenceEntry>(await of.get(`/v1/users/${userId}/presence?groupID=${groupId}`)).ephemeral
      .locations;

  test('a client token acts as its own user only', async () => {
    for (const field of ['userID', 'user_id', 'id', 'userId']) {
      const answer = await browser().putPresence({ groupID: 'g', [field]: 'v' });
      expectError(answer, 400, 'unexpected_field', field);
    }
    for (const query of ['?userID=v', '?user_id=v']) {
      const body = { groupID: 'g', location: { page: '1' } };
      expectError(await browser().put(`/v1/client/presence${query}`, body), 400, 'unexpected_field');
    }
    assert.deepEqual(await presenceOf('v', 'g'), []);
  });

  test('a client token acts in its own groups only, and with a group_id in that one only', async () => {
    const attempts: [Claims, Record<string, string>, ErrorCode][] = [
      [{}, { groupID: 'foreign' }, 'group_not_found'],
      [{}, { groupID: 'nowhere' }, 'group_not_found'],
      [{}, { organizationID: 'foreign' }, 'organization_not_found'],
      [{ group_id: 'g' }, { groupID: 'h' }, 'group_not_found'],
      [{ group_id: 'g' }, { groupID: 'foreign' }, 'group_not_found'],
      [{ group_id: 'g' }, { organizationID: 'h' }, 'organization_not_found'],
      [{ group_id: 'foreign' }, {}, 'group_not_found'],
      [{ group_id: 'foreign' }, { groupID: 'g' }, 'group_not_found'],
    ];
    for (const [claims, group, code] of attempts) {
      for (const flags of [{}, { durable: true }, { absent: true }]) {
        const answer = await browser(claims).putPresence({ ...group, ...flags });
        expectNotFound(answer, code as 'group_not_found');
      }
    }
    for (const id of ['g', 'h']) assert.deepEqual(await presenceOf('u', id), []);
  });

  test('a client token acts in its own project only, also where another one has the same IDs', async () => {
    const other = await server.project();
    await other.seed({ users: [{ id: 'u' }], groups: [{ id: 'elsewhere', name: 'E', members: ['u'] }] });
    expectNotFound(await browser().putPresence({ groupID: 'elsewhere' }), 'group_not_found', 'elsewhere');
    expectNotFound(await browser({}, other).putPresence({ groupID: 'g' }), 'group_not_found');
    assert.deepEqual(await presenceOf('u', 'elsewhere', other), []);
  });
});
