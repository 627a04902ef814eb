import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { User, Viewer } from '@rollcall/protocol';
import { Browser, clientToken } from '../support/browser.ts';
import { clockedServer } from '../support/clocked-server.ts';
import { expectDone, expectError, expectNotFound, expectOk } from '../support/expect.ts';
import { send } from '../support/http-client.ts';
import { jwt, jwtOfText } from '../support/jwt.ts';
import { MovedClock } from '../support/moved-clock.ts';
import { Presence } from '../support/presence-client.ts';
import type { Project } from '../support/project-client.ts';
import { type TestServer, withDataDir, withServer } from '../support/server.ts';
import { expectTokenFailure } from '../support/token-failure.ts';

const clock = new MovedClock();
const server = clockedServer({ clock });
let project: Project;

beforeEach(async () => {
  project = await server.project();
});

const browserWith = (user_details: unknown, claims: Record<string, unknown> = {}) =>
  new Browser(project, clientToken(project, { user_id: 'ada', user_details, ...claims }, clock.now()));

const login = async (browser: Browser): Promise<User> => expectOk<Viewer>(await browser.viewer()).user;

const DETAILS = {
  name: 'Ada',
  short_name: 'A',
  email: 'ada@example.com',
  profile_picture_url: 'https://example.com/ada.png',
  metadata: { team: 'x' },
};

describe('user_details of a client token', () => {
  test('user_details of a client token create the user at the login', async () => {
    const user = await login(browserWith(DETAILS));
    assert.deepEqual({ ...user, ...DETAILS }, user);
    assert.equal(user.status, 'active');
    assert.deepEqual(await project.user('ada'), user);
  });

  test('user_details of a client token update the user at the login: the supplied fields only, and null clears', async () => {
    await project.seed({ users: [{ id: 'ada', ...DETAILS }] });
    const user = await login(browserWith({ name: 'Ada Lovelace', email: null, metadata: {} }));
    assert.deepEqual(
      [user.name, user.email, user.metadata, user.short_name],
      ['Ada Lovelace', null, {}, DETAILS.short_name],
    );
  });

  test('user_details of a client token are applied by the first request, whichever endpoint it is for', async () => {
    await project.seedGroup('g', 'ada');
    expectDone(await browserWith({ name: 'One' }, { group_id: 'g' }).putPresence({}));
    assert.equal((await project.user('ada')).name, 'One');
    expectOk(await browserWith({ name: 'Two' }).get('/v1/client/presence?groupID=g'));
    assert.equal((await project.user('ada')).name, 'Two');
    expectOk(await browserWith({ name: 'Three' }).get('/v1/client/groups/g/members'));
    assert.equal((await project.user('ada')).name, 'Three');
  });

  test('user_details of a client token write nothing when the user has the same fields, and nothing again with the same token', async () => {
    const first = browserWith(DETAILS);
    await login(first);
    const etag = async () => (await project.get('/v1/users/ada')).headers.etag;
    const before = await etag();
    for (const browser of [first, first, browserWith(DETAILS, { other: 1 })]) await login(browser);
    assert.equal(await etag(), before);
  });

  test('user_details of a client token do not undo what the host writes after the login', async () => {
    const browser = browserWith({ name: 'Of the token' });
    await login(browser);
    expectDone(await project.put('/v1/users/ada', { name: 'Of the host' }));
    assert.equal((await login(browser)).name, 'Of the host');
  });

  test('user_details of a client token have the time of its iat: a server that has not seen it retains later writes of the host', () =>
    withDataDir(async (dataDir) => {
      const options = { clock, dataDir };
      const signed = { iat: server.now(), user_id: 'ada', user_details: { name: 'Of the token' } };
      const nameAt = async ({ url, projectId: id, projectSecret }: TestServer) => {
        const headers = { authorization: `Bearer ${jwt({ project_id: id, ...signed }, projectSecret)}` };
        return expectOk<Viewer>(await send(url, 'GET', '/v1/client/viewer', { headers })).user.name;
      };
      await withServer(options, async (first) => {
        assert.equal(await nameAt(first), 'Of the token');
        clock.move(30_000);
        // The clocks of host and server may differ by as much, so the server cannot order the two writes.
        await first.request('PUT', '/v1/users/ada', { body: { name: 'Of the host, maybe before' } });
      });
      await withServer(options, async (second) => {
        assert.equal(await nameAt(second), 'Of the token');
        clock.move(1_000);
        await second.request('PUT', '/v1/users/ada', { body: { name: 'Of the host' } });
      });
      await withServer(options, async (third) => assert.equal(await nameAt(third), 'Of the host'));
    }));

  test('user_details of a token without iat count as of now', async () => {
    await login(browserWith({ name: 'Before' }));
    clock.move(60_000);
    expectDone(await project.put('/v1/users/ada', { name: 'Of the host' }));
    const undated = browserWith({ name: 'Undated' }, { iat: undefined, exp: server.now() + 60 });
    assert.equal((await login(undated)).name, 'Undated');
  });

  test('user_details of a client token are not applied again by another spelling of the same signature, which is rejected', async () => {
    const browser = browserWith({ name: 'Of the token' }, { iat: undefined, exp: server.now() + 60 });
    await login(browser);
    expectDone(await project.put('/v1/users/ada', { name: 'Of the host' }));
    // The last of 86 letters has four unused bits.
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const respelled = letters[letters.indexOf(browser.token.at(-1) as string) + 1];
    const again = new Browser(project, `${browser.token.slice(0, -1)}${respelled}`);
    expectTokenFailure(await again.viewer(), 'invalid_project_token');
    assert.equal((await login(browser)).name, 'Of the host');
  });

  test('user_details of a client token do not activate a user who is set deleted, and are not stored', async () => {
    await project.seed({ users: [{ id: 'ada', name: 'Ada' }] });
    const before = browserWith({ name: 'Back', status: 'active' });
    expectDone(await project.put('/v1/users/ada', { status: 'deleted' }));
    for (const browser of [
      before,
      before,
      browserWith({ status: 'active' }),
      browserWith({ name: 'Back' }),
    ]) {
      expectNotFound(await project.unchanged(() => browser.viewer()), 'user_not_found', 'ada', 'deleted');
    }
    expectDone(await project.put('/v1/users/ada', { status: 'active' }));
    assert.equal((await login(before)).name, 'Back');
  });

  test('user_details of a client token do not create a user who was removed after the login', async () => {
    const browser = browserWith(DETAILS);
    await login(browser);
    expectDone(await project.delete('/v1/users/ada'));
    expectNotFound(await browser.viewer(), 'user_not_found', 'ada');
    assert.deepEqual(await project.userIds(), []);
  });

  test('user_details of a client token that set the user deleted lock them out, with their presence', async () => {
    await project.seedGroup('g', 'ada');
    const presence = new Presence(project);
    await presence.set('ada', { page: '1' });
    expectNotFound(await browserWith({ status: 'deleted' }).viewer(), 'user_not_found', 'ada', 'deleted');
    assert.equal((await project.user('ada')).status, 'deleted');
    assert.deepEqual(await presence.everyone(), []);
  });

  test('user_details of a client token add no user to a group', async () => {
    await project.seed({ groups: [{ id: 'g', name: 'G' }] });
    for (const field of ['groups', 'groupID', 'members', 'group_id']) {
      expectError(await browserWith({ [field]: ['g'] }).viewer(), 400, 'unexpected_field', field);
    }
    expectNotFound(await browserWith(DETAILS, { group_id: 'g' }).viewer(), 'group_not_found', 'g');
  });

  test('user_details of many requests at once are applied once, and all of them are answered', async () => {
    const browser = browserWith({ name: 'Once' });
    const users = await Promise.all(Array.from({ length: 20 }, () => login(browser)));
    assert.deepEqual(new Set(users.map(({ updated_at, name }) => `${name} ${updated_at}`)).size, 1);
  });

  test('user_details of any number of racing client tokens are each applied as a whole', async () => {
    const names = Array.from({ length: 60 }, (_, index) => `Name ${index}`);
    await Promise.all(names.map((name) => login(browserWith({ name, short_name: name }))));
    const user = await project.user('ada');
    assert.equal(user.short_name, user.name);
    assert.ok(names.includes(user.name as string));
  });

  const REJECTED: [
    what: string,
    details: unknown,
    code: 'unexpected_field' | 'invalid_field',
    field: string,
  ][] = [
    ['a field of nobody', { nick: 'x' }, 'unexpected_field', 'user_details.nick'],
    ['an ID', { id: 'bob' }, 'unexpected_field', 'user_details.id'],
    ['created_at', { created_at: '2026-01-01T00:00:00.000Z' }, 'unexpected_field', 'user_details.created_at'],
    ['a name that is none', { name: '' }, 'invalid_field', 'user_details.name'],
    ['a name of another type', { name: 7 }, 'invalid_field', 'user_details.name'],
    ['an address that is none', { email: 'x' }, 'invalid_field', 'user_details.email'],
    ['a script as picture', { profile_picture_url: 'javascript:1' }, 'invalid_field', 'profile_picture_url'],
    ['a status that is none', { status: 'admin' }, 'invalid_field', 'user_details.status'],
    ['a text', 'Ada', 'invalid_field', 'user_details'],
    ['a list', [DETAILS], 'invalid_field', 'user_details'],
    ['null', null, 'invalid_field', 'user_details'],
  ];
  for (const [what, details, code, field] of REJECTED) {
    test(`user_details of a client token with ${what} are rejected, and nothing is written`, async () => {
      const answer = await project.unchanged(() => browserWith(details).viewer());
      expectError(answer, 400, code, field);
    });
  }

  test('user_details of a client token with a number that JSON readers alter, or names of Object.prototype, are rejected', async () => {
    const claims = `"project_id":${JSON.stringify(project.id)},"user_id":"ada","iat":${server.now()}`;
    const send = (details: string) =>
      new Browser(project, jwtOfText(`{${claims},"user_details":${details}}`, project.secret)).viewer();
    for (const number of ['1e400', '12345678901234567890']) {
      expectError(await send(`{"metadata":{"n":${number}}}`), 400, 'invalid_field', 'user_details.metadata');
    }
    expectError(await send('{"__proto__":{"name":"x"}}'), 400, 'unexpected_field', '__proto__');
    assert.deepEqual(await project.userIds(), []);
  });
});
