import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { send } from '../support/http-client.ts';
import { oneServer } from '../support/one-server.ts';
import { skipsPages, type Visit, visit } from './chromium.ts';

const server = oneServer();

const DESKTOP = { viewport: { width: 1440, height: 900 } };
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

const onDesktop = (use: (visited: Visit) => Promise<void>) =>
  visit(`${server.running.url}/docs`, DESKTOP, use);
const onPhone = (use: (visited: Visit) => Promise<void>) => visit(`${server.running.url}/docs`, PHONE, use);

/** Waits until the list marks exactly this link. */
async function marked(page: Page, id: string): Promise<void> {
  await page.locator(`#contents-list [aria-current][href="#${id}"]`).waitFor({ state: 'attached' });
  assert.equal(await page.locator('#contents-list [aria-current]').count(), 1);
}

/** The browser scrolls to the target of a link before it handles anything else. */
const isAtTop = (page: Page, id: string) =>
  page.evaluate<boolean>(`new Promise(requestAnimationFrame).then(() => {
    const { top } = document.getElementById('${id}').getBoundingClientRect();
    return top > -40 && top < innerHeight / 3;
  })`);

describe('the list of operations beside /docs', { skip: skipsPages }, () => {
  test('the list names the section that is read, follows scrolling and shows its link', () =>
    onDesktop(async ({ page }) => {
      for (const id of ['paging', 'putGroup', 'organizations', 'schemas', 'groups']) {
        await page.evaluate(`document.getElementById('${id}').scrollIntoView()`);
        await marked(page, id);
        const link = await page.locator('#contents-list [aria-current]').boundingBox();
        assert.ok(link !== null && link.y > 0 && link.y + link.height <= DESKTOP.viewport.height, id);
      }
    }));

  test('a link of the list leads to its section, and the list stays beside it', () =>
    onDesktop(async ({ page }) => {
      await page.locator('#contents-list a[href="#putUser"]').click();
      assert.ok(await isAtTop(page, 'putUser'));
      await marked(page, 'putUser');
      assert.equal(await page.locator('#contents').isVisible(), true);
      assert.equal(await page.getByRole('button', { name: 'Contents' }).isVisible(), false);
    }));

  test('on a phone the list is behind a button, and closes when a link is followed', () =>
    onPhone(async ({ page }) => {
      const contents = page.locator('#contents');
      assert.equal(await contents.isVisible(), false);
      await page.getByRole('button', { name: 'Contents' }).tap();
      assert.equal(await contents.isVisible(), true);
      await page.locator('#contents-list a[href="#putGroup"]').tap();
      assert.ok(await isAtTop(page, 'putGroup'));
      assert.equal(await contents.isVisible(), false);
      await page.getByRole('button', { name: 'Contents' }).tap();
      await marked(page, 'putGroup');
      await page.getByRole('button', { name: 'Close' }).tap();
      assert.equal(await contents.isVisible(), false);
    }));

  test('on a phone without scripts the button opens the list, too', () =>
    visit(`${server.running.url}/docs`, { ...PHONE, javaScriptEnabled: false }, async ({ page }) => {
      await page.getByRole('button', { name: 'Contents' }).tap();
      assert.equal(await page.locator('#contents-list a[href="#putGroup"]').isVisible(), true);
      assert.equal(await page.getByRole('button', { name: 'Search' }).isVisible(), false);
    }));
});

/** A proxy as operators run it: it takes a path off, and passes Host on. */
async function behindProxy<Result>(path: string, use: (url: string) => Promise<Result>): Promise<Result> {
  const { hostname, port } = new URL(server.running.url);
  const proxy = createServer(({ url = '', headers }, response) => {
    const target = { hostname, port, path: url.slice(path.length), headers };
    request(target, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    }).end();
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  try {
    return await use(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}${path}`);
  } finally {
    proxy.close();
    proxy.closeAllConnections();
  }
}

describe('the address in the examples of /docs', () => {
  const docsAt = async (headers: Record<string, string>) =>
    (await send(server.running.url, 'GET', '/docs', { headers })).text;

  test('the examples send to the host of the request', async () => {
    for (const host of ['rollcall.example.com', 'localhost:8080', '[::1]:8080', 'a_b.example:65535']) {
      const text = await docsAt({ host });
      assert.ok(text.includes(`curl -sS 'http://${host}/v1/groups'`), host);
      assert.ok(!text.includes('server.invalid'));
    }
  });

  test('a Host that is no host, and headers of proxies, are not shown', async () => {
    for (const host of ["'; rm -rf ~; '", '<script>', 'user@evil.example', 'a b', 'x'.repeat(300), '$(id)']) {
      const text = await docsAt({ host });
      assert.ok(!text.includes(`http://${host}`), host);
      assert.ok(text.includes(`${server.running.url}/v1/groups`), host);
    }
    const text = await docsAt({ 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' });
    assert.ok(!text.includes('evil.example'));
  });

  test(
    'in a browser the examples send to where the page came from, below the path of a proxy',
    { skip: skipsPages },
    () =>
      behindProxy('/api/rollcall', (url) =>
        visit(`${url}/docs`, DESKTOP, async ({ page, complaints }) => {
          const code = String(await page.locator('#getGroup figure code').first().textContent());
          assert.ok(code.startsWith(`curl -sS '${url}/v1/groups/analysts'`), code);
          assert.deepEqual(complaints, []);
        }),
      ),
  );

  test(
    'the root of the server leads a browser to the page, below the path of a proxy, too',
    { skip: skipsPages },
    () =>
      behindProxy('/api/rollcall', (url) =>
        visit(`${url}/`, DESKTOP, async ({ page }) => {
          assert.equal(page.url(), `${url}/docs`);
          assert.match(await page.title(), /^Rollcall API/);
        }),
      ),
  );
});
