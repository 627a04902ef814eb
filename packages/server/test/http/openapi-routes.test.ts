import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pino } from 'pino';
import { buildApp } from '../../src/app.ts';
import { systemClock } from '../../src/core/clock.ts';
import type { OpenApiDocument } from '../../src/http/openapi/openapi-document.ts';
import { createServices } from '../../src/services.ts';
import { closeEngine, openEngine } from '../../src/wiring.ts';
import { expectRefused } from '../support/expect.ts';
import { send } from '../support/http-client.ts';
import { testSettings, withDataDir, withServer } from '../support/server.ts';

/** What the application registers, and what it says of itself. */
async function routesAndDocument(): Promise<{ routes: string[]; document: OpenApiDocument }> {
  return withDataDir(undefined, async (dataDir) => {
    const settings = testSettings(dataDir);
    await using opened = new AsyncDisposableStack();
    const engine = opened.adopt(await openEngine(settings), closeEngine);
    const log = pino({ level: 'silent' });
    const services = opened.adopt(await createServices(engine, systemClock, settings, log), (built) =>
      built.close(),
    );
    const app = opened.adopt(buildApp(services), (built) => built.close());
    const routes: string[] = [];
    // The scopes with routes are loaded when the application gets ready, so this sees them all but the root's own.
    app.addHook('onRoute', ({ method, url }) => {
      routes.push(`${String(method)} ${url.replaceAll(/:\w+/g, '*')}`);
    });
    const answer = await app.inject('/openapi.json');
    return { routes, document: answer.json() };
  });
}

describe('the routes and the description', () => {
  test('are the same, both ways; a HEAD comes with every GET and is not repeated', async () => {
    const { routes, document } = await routesAndDocument();
    const described = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, '*')}`),
    );
    const own = ['GET /openapi.json', 'GET /docs'];
    const registered = routes.filter((route) => !route.startsWith('HEAD '));
    assert.ok(registered.length > 30, 'the routes were seen');
    assert.deepEqual(described.sort(), [...registered, ...own].sort());
    const heads = routes.filter((route) => route.startsWith('HEAD ')).map((route) => route.slice(5));
    const gets = registered.filter((route) => route.startsWith('GET ')).map((route) => route.slice(4));
    assert.deepEqual(heads.sort(), gets.sort());
  });
});

describe('/openapi.json and /docs', () => {
  test('need no token and take GET and HEAD only', async () => {
    await withServer({}, async ({ url }) => {
      for (const path of ['/openapi.json', '/docs']) {
        const got = await send(url, 'GET', path);
        assert.equal(got.status, 200, got.text);
        const head = await send(url, 'HEAD', path);
        assert.deepEqual([head.status, head.text], [200, '']);
        assert.equal(head.headers['content-length'], got.headers['content-length']);
        for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
          const refused = await send(url, method, path);
          expectRefused(refused, 405, 'invalid_request');
          assert.equal(refused.headers.allow, 'GET, HEAD');
        }
      }
    });
  });

  test('say what they are', async () => {
    await withServer({}, async ({ url }) => {
      const document = await send(url, 'GET', '/openapi.json');
      assert.equal(document.headers['content-type'], 'application/json; charset=utf-8');
      const page = await send(url, 'GET', '/docs');
      assert.equal(page.headers['content-type'], 'text/html; charset=utf-8');
    });
  });
});
