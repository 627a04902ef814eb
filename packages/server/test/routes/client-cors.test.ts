import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { Browser } from '../support/browser.ts';
import { DATA_ENDPOINTS, projectEndpoints } from '../support/endpoints.ts';
import { type Answer, send } from '../support/http-client.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';

const PAGE = 'https://app.example.com';
const OTHER = 'https://evil.example.com';

const named = oneServer({
  settings: { corsOrigins: `${PAGE},http://localhost:5173`, rateLimitPerSecond: 1_000 },
});
const any = oneServer({ settings: { corsOrigins: '*' } });
const none = oneServer();

const preflight = (url: string, path: string, origin: string, method = 'PUT') =>
  send(url, 'OPTIONS', path, {
    headers: {
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': 'authorization,content-type',
    },
  });

const corsOf = ({ headers }: Answer) =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'));

/** Words of a header that is a list. */
const wordsOf = (answer: Answer, name: string) => String(answer.headers[name]).toLowerCase().split(', ');

describe('a preflight, which has no token', () => {
  test('a preflight is answered to the pages that ROLLCALL_CORS_ORIGINS names, without a token', async () => {
    for (const origin of [PAGE, 'http://localhost:5173']) {
      for (const [path, methods] of [
        ['/v1/client/presence', ['get', 'head', 'put']],
        ['/v1/client/viewer', ['get', 'head']],
        ['/v1/client/groups/a%2Fb/members', ['get', 'head']],
        ['/v1/client/threads', ['get', 'head', 'post']],
      ] as const) {
        const answer = await preflight(named.running.url, path, origin);
        assert.equal(answer.status, 204, answer.text);
        assert.equal(answer.text, '');
        assert.equal(answer.headers['access-control-allow-origin'], origin);
        assert.equal(answer.headers.vary, 'Origin');
        assert.equal(answer.headers['access-control-allow-credentials'], undefined);
        assert.ok(answer.headers['x-request-id'] !== undefined);
        const headers = wordsOf(answer, 'access-control-allow-headers');
        for (const name of ['authorization', 'content-type', 'last-event-id', 'if-none-match']) {
          assert.ok(headers.includes(name), name);
        }
        assert.deepEqual(wordsOf(answer, 'access-control-allow-methods'), methods);
      }
    }
  });

  test('a preflight of another page is answered without CORS headers', async () => {
    for (const origin of [
      OTHER,
      'null',
      `${PAGE}.evil.example.com`,
      'http://app.example.com',
      `${PAGE}:8443`,
      '*',
    ]) {
      const answer = await preflight(named.running.url, '/v1/client/presence', origin);
      assert.equal(answer.status, 405, origin);
      assert.deepEqual(corsOf(answer), []);
      assert.equal(answer.headers.vary, 'Origin');
    }
  });

  test('a preflight is answered for /v1/client only, because pages may not have project tokens', async () => {
    const endpoints = [
      ...DATA_ENDPOINTS,
      ...projectEndpoints('p'),
      { method: 'POST', path: '/v1/authorize' },
    ];
    for (const { url } of [named.running, any.running]) {
      for (const { method, path } of endpoints) {
        const answer = await preflight(url, path, PAGE, method);
        assert.equal(answer.status, 405, path);
        assert.deepEqual(corsOf(answer), [], path);
        assert.equal(answer.headers.vary, undefined);
      }
    }
  });

  test('a preflight has Access-Control-Request-Method: any other OPTIONS request is 405', async () => {
    const headers = { origin: PAGE };
    const answer = await send(named.running.url, 'OPTIONS', '/v1/client/viewer', { headers });
    assert.equal(answer.status, 405);
    assert.equal(answer.headers.allow, 'GET, HEAD');
    assert.equal(answer.headers['access-control-allow-origin'], PAGE);
  });

  test('a preflight for a path that does not exist is 404, and a page can read it', async () => {
    const answer = await preflight(named.running.url, '/v1/clients', PAGE);
    assert.equal(answer.status, 404);
    assert.deepEqual(corsOf(answer).sort(), ['access-control-allow-origin', 'access-control-expose-headers']);
  });

  test('a preflight is not answered where ROLLCALL_CORS_ORIGINS is not set', async () => {
    const answer = await preflight(none.running.url, '/v1/client/presence', PAGE);
    assert.equal(answer.status, 405);
    assert.deepEqual(corsOf(answer), []);
  });
});

describe('an answer of /v1/client', () => {
  let browsers: Record<'named' | 'any' | 'none', Browser>;
  before(async () => {
    const browserAt = async (project: Project) => {
      await project.seedGroup('g', 'u');
      return Browser.of(project, 'u');
    };
    await Promise.all([named.started, any.started, none.started]);
    browsers = {
      named: await browserAt(await named.project()),
      any: await browserAt(await any.project()),
      none: await browserAt(await none.project()),
    };
  });

  test('an answer of /v1/client can be read by pages of the configured origins, and by no others', async () => {
    const own = await browsers.named.get('/v1/client/viewer', { origin: PAGE });
    assert.equal(own.status, 200);
    assert.equal(own.headers['access-control-allow-origin'], PAGE);
    assert.equal(own.headers['timing-allow-origin'], PAGE);
    const exposed = wordsOf(own, 'access-control-expose-headers');
    for (const name of [
      'x-request-id',
      'ratelimit-limit',
      'ratelimit-remaining',
      'ratelimit-reset',
      'retry-after',
    ]) {
      assert.ok(exposed.includes(name), name);
      if (name !== 'retry-after') assert.ok(own.headers[name] !== undefined, name);
    }
    for (const headers of [{ origin: OTHER }, {}]) {
      const answer = await browsers.named.get('/v1/client/viewer', headers);
      assert.equal(answer.status, 200);
      assert.deepEqual(corsOf(answer), []);
      assert.equal(answer.headers['timing-allow-origin'], undefined);
      assert.equal(answer.headers.vary, 'Origin');
    }
  });

  test('an answer of /v1/client can be read by every page where all origins are allowed, without credentials', async () => {
    const answer = await browsers.any.get('/v1/client/viewer', { origin: OTHER });
    assert.equal(answer.headers['access-control-allow-origin'], '*');
    assert.equal(answer.headers['access-control-allow-credentials'], undefined);
    assert.equal((await preflight(any.running.url, '/v1/client/presence', OTHER)).status, 204);
  });

  test('an answer of /v1/client can be read where it is an error, at whichever step', async () => {
    const { url } = named.running;
    const origin = { origin: PAGE };
    const { named: browser } = browsers;
    const rejections: [number, Promise<Answer>][] = [
      [401, send(url, 'GET', '/v1/client/viewer', { headers: origin })],
      [401, send(url, 'GET', '/v1/client/viewer', { headers: { ...origin, authorization: 'Bearer x' } })],
      [401, browser.get('/v1/client/presence?groupID=nowhere', origin)],
      [400, browser.get('/v1/client/presence', origin)],
      [400, browser.get('/v1/client/groups/%ff/members', origin)],
      [404, browser.get('/v1/client/nothing', origin)],
      [405, browser.project.send('DELETE', '/v1/client/viewer', undefined, origin)],
      [
        400,
        browser.project.send('PUT', '/v1/client/presence', '{', {
          ...origin,
          authorization: `Bearer ${browser.token}`,
        }),
      ],
    ];
    for (const [status, pending] of rejections) {
      const answer = await pending;
      assert.equal(answer.status, status, answer.text);
      assert.equal(answer.headers['access-control-allow-origin'], PAGE, answer.text);
    }
    const [token] = await Promise.all(rejections.map(([, answer]) => answer));
    assert.equal(token?.headers['www-authenticate'], 'Bearer');
    assert.ok(wordsOf(token as Answer, 'access-control-expose-headers').includes('www-authenticate'));
  });

  test('an answer of /v1/client has no CORS headers where ROLLCALL_CORS_ORIGINS is not set', async () => {
    const answer = await browsers.none.get('/v1/client/viewer', { origin: PAGE });
    assert.equal(answer.status, 200);
    assert.deepEqual(corsOf(answer), []);
    assert.equal(answer.headers.vary, undefined);
  });
});

test('an answer to a host has no CORS headers, also for the user whose ID is client', async () => {
  const project = await any.projectWithUsers('client');
  const preference = { key: 'notification_channels', value: {} };
  for (const answer of [
    await project.get('/v1/users', { origin: PAGE }),
    await project.get('/healthz', { origin: PAGE }),
    await project.put('/v1/client/preferences', preference, { origin: PAGE }),
  ]) {
    assert.equal(answer.status, 200);
    assert.deepEqual(corsOf(answer), []);
  }
  const headers = { origin: PAGE, 'access-control-request-method': 'PUT' };
  const answer = await send(any.running.url, 'OPTIONS', '/v1/client/preferences', { headers });
  assert.equal(answer.status, 405);
  assert.deepEqual(corsOf(answer), []);
});
