import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { ERRORS } from '@rollcall/protocol';
import type { BrowserContextOptions } from 'playwright-core';
import { ApiDescription } from '../http/api-description.ts';
import { oneServer } from '../support/one-server.ts';
import { until } from '../support/waiting.ts';
import { skipsPages, type Visit, visit } from './chromium.ts';

const server = oneServer();
let api: ApiDescription;

before(async () => {
  api = await ApiDescription.of((await server.started).url);
});

const DESKTOP = { viewport: { width: 1440, height: 900 } };
const phone = (width: number) => ({ viewport: { width, height: 800 }, isMobile: true, hasTouch: true });

const onDocs = <Result>(options: BrowserContextOptions, use: (visited: Visit) => Promise<Result>) =>
  visit(`${server.running.url}/docs`, options, use);

/** IDs of the operations that the page shows: each in a section, or in a line for older hosts. */
const shownOperations = async ({ page }: Visit): Promise<string[]> => {
  const ids = api.operations.map(({ operation }) => operation.operationId);
  const visible = await Promise.all(ids.map((id) => page.locator(`[id="${id}"]`).isVisible()));
  return ids.filter((_id, index) => visible[index]);
};

describe('/docs in Chromium', { skip: skipsPages }, () => {
  test('/docs shows the introduction, every operation with its path, every schema and every error code', async () => {
    await onDocs(DESKTOP, async (visited) => {
      const { page } = visited;
      assert.match(await page.title(), /^Rollcall API \d+\.\d+\.\d+$/);
      assert.equal(await page.locator('h1').count(), 1);
      for (const { path, method, operation } of api.operations) {
        const shown = page.locator(`[id="${operation.operationId}"]`);
        const text = String(await shown.textContent()).replaceAll(/\s+/g, ' ');
        for (const part of [operation.summary, path, method.toUpperCase()]) {
          assert.ok(text.includes(part), `${operation.operationId} shows ${part}: ${text.slice(0, 200)}`);
        }
      }
      assert.equal((await shownOperations(visited)).length, api.operations.length);
      const names = Object.keys(api.document.components.schemas).map((name) => `schema-${name}`);
      const codes = Object.keys(ERRORS).map((code) => `error-${code}`);
      for (const id of [...names, ...codes]) assert.ok(await page.locator(`#${id}`).isVisible(), id);
    });
  });

  test('/docs requests only itself, and violates no Content-Security-Policy', async () => {
    await onDocs(DESKTOP, async ({ page, requests, complaints }) => {
      await page.waitForLoadState('networkidle');
      assert.deepEqual(requests, [`${server.running.url}/docs`]);
      assert.deepEqual(complaints, []);
    });
  });

  test('/docs allows no script, style or frame but its own', async () => {
    const { headers, text } = await server.running.request('GET', '/docs', { token: null });
    const policy = String(headers['content-security-policy']);
    assert.match(policy, /^default-src 'none'; /);
    assert.ok(!policy.includes('unsafe'), policy);
    assert.doesNotMatch(
      text,
      /<[^>]+\s(style|on\w+)=/,
      'no style or script outside of what the policy names',
    );
    await onDocs(DESKTOP, async ({ page, complaints }) => {
      await page.evaluate(`
        const script = document.createElement('script');
        script.textContent = 'document.title = "taken over"';
        document.body.append(script);
      `);
      assert.notEqual(await page.title(), 'taken over');
      assert.match(complaints.join(), /Content Security Policy/);
    });
  });

  test('every link within /docs has its target, and every ID is unique', async () => {
    await onDocs(DESKTOP, async ({ page }) => {
      const ids = await page.evaluate<string[]>("[...document.querySelectorAll('[id]')].map(({ id }) => id)");
      const links = await page.locator('a[href^="#"]').all();
      const targets = await Promise.all(links.map((link) => link.getAttribute('href')));
      assert.equal(new Set(ids).size, ids.length, 'an ID is there twice');
      assert.ok(targets.length > 100);
      for (const target of targets)
        assert.ok(ids.includes(String(target).slice(1)), `${target} leads nowhere`);
    });
  });

  for (const [name, options] of Object.entries({
    phone: phone(390),
    'small phone': phone(360),
    tablet: { viewport: { width: 800, height: 1000 } },
    desktop: DESKTOP,
  })) {
    test(`/docs fits the width of a ${name}, with every operation`, async () => {
      await onDocs(options, async (visited) => {
        const { page } = visited;
        await page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true");
        // Chromium enlarges innerWidth to content that overflows the window of a phone.
        const { width } = options.viewport;
        const needed = await page.evaluate<number>('document.documentElement.scrollWidth');
        assert.ok(needed <= width, `${needed} of ${width} pixels`);
        assert.equal((await shownOperations(visited)).length, api.operations.length);
        const cut = await page.evaluate(`[...document.querySelectorAll('pre')].filter(
          (block) => block.scrollWidth > block.clientWidth && getComputedStyle(block).overflowX !== 'auto').length`);
        assert.equal(cut, 0, 'code that is too long scrolls by itself');
        const tooWide =
          await page.evaluate(`[...document.querySelectorAll('table, td, pre, .fields > div')].filter(
          (part) => part.getBoundingClientRect().right > ${width} || part.scrollWidth > part.clientWidth).length`);
        assert.equal(tooWide, 0, 'no table or list is wider than the window');
      });
    });
  }

  test('/docs is complete without scripts', async () => {
    await onDocs({ ...DESKTOP, javaScriptEnabled: false }, async (visited) => {
      assert.equal((await shownOperations(visited)).length, api.operations.length);
    });
  });

  test('/docs copies an example', async () => {
    const options = { ...DESKTOP, permissions: ['clipboard-read', 'clipboard-write'] };
    await onDocs(options, async ({ page }) => {
      const figure = page.locator('#putGroup figure').first();
      await figure.getByRole('button', { name: 'Copy' }).click();
      const clipboard = () => page.evaluate<string>('navigator.clipboard.readText()');
      await until('the copied example', async () => (await clipboard()) !== '');
      const copied = await clipboard();
      const address = `'${server.running.url}/v1/groups/analysts'`;
      assert.ok(copied.startsWith(`curl -sS -X PUT ${address} \\\n`), copied);
    });
  });

  test('/docs follows the light or dark scheme of the visitor', async () => {
    const background = (colorScheme: 'light' | 'dark') =>
      onDocs({ ...DESKTOP, colorScheme }, ({ page }) =>
        page.evaluate('getComputedStyle(document.body).backgroundColor'),
      );
    assert.notEqual(await background('light'), await background('dark'));
  });

  test('/docs shows the errors of an operation with their codes when they are unfolded', async () => {
    await onDocs(DESKTOP, async ({ page }) => {
      const errors = page.locator('#putGroup details');
      const code = errors.getByText('user_not_found');
      assert.equal(await code.isVisible(), false);
      await errors.locator('summary').click();
      assert.equal(await code.isVisible(), true);
    });
  });
});
