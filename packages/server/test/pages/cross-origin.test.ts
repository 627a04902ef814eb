/** What a page of another origin may send and read, in a browser that enforces it. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { readPage } from '../docs/markdown.ts';
import { Browser } from '../support/browser.ts';
import { Project } from '../support/project-client.ts';
import { withServer } from '../support/server.ts';
import { skipsPages, visit } from './chromium.ts';

/** The headers of a row of the documentation. */
function headersIn(row: string): string[] {
  const [, list = ''] = readPage('docs/api.md').match(new RegExp(`^\\| ${row} \\| (.*) \\|$`, 'm')) ?? [];
  return [...list.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}

/** Values that the server accepts, of the headers whose value it checks. */
const VALUES: Readonly<Record<string, string>> = {
  'Content-Type': 'application/json',
  'If-Match': '*',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
};

/** An empty page of another origin. */
async function withOrigin(use: (origin: string) => Promise<void>): Promise<void> {
  const server = createServer((_, response) =>
    response.setHeader('content-type', 'text/html').end('<!doctype html>'),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

test('a page of another origin may send and read the headers that docs/api.md lists', {
  skip: skipsPages,
}, async () => {
  const sent = headersIn('A page may send').filter((name) => name !== 'Authorization');
  const readable = headersIn('A page can read').map((name) => name.toLowerCase());
  assert.ok(sent.length > 5 && readable.length > 5);
  await withOrigin((origin) =>
    withServer({ settings: { corsOrigins: origin, rateLimitPerSecond: 1_000 } }, async (server) => {
      const { url } = server;
      const project = Project.of(server);
      await project.seedGroup('g', 'u');
      await project.post('/v1/threads', { id: 't', groupID: 'g', name: 'T' });
      const content = [{ type: 'p', children: [{ text: 'a' }] }];
      await project.post('/v1/threads/t/messages', { id: 'm', authorID: 'u', content });
      const { token } = await Browser.of(project, 'u');
      await visit(origin, {}, async ({ page }) => {
        const answers = await page.evaluate(
          async ({ address, headers, bearer }) => {
            const authorization = `Bearer ${bearer}`;
            const request = async (method: string, more: object, body?: string) => {
              const answer = await fetch(address, {
                method,
                headers: { authorization, ...more },
                body: body ?? null,
              });
              return { status: answer.status, headers: Object.fromEntries(answer.headers) };
            };
            return {
              read: await request('GET', {}),
              write: await request('PUT', headers, '{"deleted":true}'),
              rejected: await request('GET', { authorization: 'Bearer x' }),
            };
          },
          {
            address: `${url}/v1/client/threads/t/messages/m`,
            headers: Object.fromEntries(sent.map((name) => [name, VALUES[name] ?? '0'])),
            bearer: token,
          },
        );
        const { read, write, rejected } = answers;
        assert.deepEqual([read.status, write.status, rejected.status], [200, 200, 401]);
        const seen = new Set(Object.values(answers).flatMap(({ headers }) => Object.keys(headers)));
        // Only an overload has a Retry-After.
        assert.deepEqual(
          readable.filter((name) => !seen.has(name)),
          ['retry-after'],
        );
      });
    }),
  );
});

test('a page of another origin sees with which protocol its requests went, so that it has more streams over HTTP/2', {
  skip: skipsPages,
}, async () => {
  await withOrigin((origin) =>
    withServer({ settings: { corsOrigins: origin } }, async ({ url }) => {
      await visit(origin, {}, async ({ page }) => {
        const protocol = await page.evaluate(async (address) => {
          const measured = new Promise<PerformanceResourceTiming>((resolve) => {
            const found = (list: PerformanceObserverEntryList) =>
              resolve(list.getEntriesByName(address)[0] as PerformanceResourceTiming);
            new PerformanceObserver(found).observe({ type: 'resource' });
          });
          await fetch(address);
          return (await measured).nextHopProtocol;
        }, `${url}/v1/client/viewer`);
        assert.equal(protocol, 'http/1.1');
      });
    }),
  );
});

test('docs/api.md lists every header that the server lets pages send and read', async () => {
  await withServer({ settings: { corsOrigins: '*' } }, async ({ request }) => {
    const { headers } = await request('OPTIONS', '/v1/client/presence', {
      token: null,
      headers: { origin: 'https://app.example.com', 'access-control-request-method': 'PUT' },
    });
    const listed = (name: string) => String(headers[name]).split(', ').sort();
    assert.deepEqual(listed('access-control-allow-headers'), headersIn('A page may send').sort());
    assert.deepEqual(listed('access-control-expose-headers'), headersIn('A page can read').sort());
  });
});
