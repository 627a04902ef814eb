import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, test } from 'node:test';
import type { BrowserContextOptions } from 'playwright-core';
import { oneServer } from '../support/one-server.ts';
import { skipsPages, visit } from './chromium.ts';

const server = oneServer();
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const VISITS: Readonly<Record<string, BrowserContextOptions>> = {
  'on a desktop': { viewport: { width: 1440, height: 900 } },
  'on a phone in the dark': {
    viewport: { width: 390, height: 844 },
    isMobile: true,
    hasTouch: true,
    colorScheme: 'dark',
  },
};

describe('/docs for everybody', { skip: skipsPages }, () => {
  for (const [name, options] of Object.entries(VISITS)) {
    test(`axe finds nothing to mend in /docs ${name}, the open search included`, () =>
      visit(`${server.running.url}/docs`, options, async ({ page }) => {
        await page.keyboard.press('/');
        await page.keyboard.type('group');
        // Operations are alike, and so are schemas: a few stand for all.
        const violations = await page.evaluate<{ id: string; nodes: string[] }[]>(`(() => {
          ${AXE}
          const exclude = ['.operation:nth-of-type(n + 3)', '#schemas > section:nth-of-type(n + 6)'];
          return axe.run({ exclude }).then(({ violations }) => violations.map(({ id, nodes }) => ({
            id, nodes: nodes.slice(0, 5).map(({ html, failureSummary }) => html + failureSummary),
          })));
        })()`);
        assert.deepEqual(violations, []);
      }));
  }
});
