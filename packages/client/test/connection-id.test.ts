/** The `connectionID` of the pages of a tab, and of a tab that is made of another. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { skipsPages, visit } from '../../server/test/pages/chromium.ts';
import { suiteResource } from '../../server/test/support/suite-resource.ts';
import { type PageSite, withPageSite } from './support/page-site.ts';

/** The page announces its user, and has what it sends first. Nothing answers. */
const PROGRAM = `
import { RollcallClient } from '/client.js';
const send = (url, { body }) => {
  window.connectionID = JSON.parse(body).connectionID;
  return new Promise(() => {});
};
const client = new RollcallClient({ url: location.origin, token: 't', socket: false, fetch: send });
client.presence.announce({ location: { page: 'a' } });
`;

const site = suiteResource<PageSite>((use) => withPageSite(PROGRAM, use));

const idOf = async (page: Page): Promise<string> => {
  await page.waitForFunction('window.connectionID');
  return page.evaluate('connectionID');
};

/** Another tab with a copy of the session storage, as of a tab that is duplicated. */
async function copyOf(page: Page): Promise<Page> {
  const copy = page.waitForEvent('popup');
  await page.evaluate(`void window.open(${JSON.stringify(site.value.address({}))})`);
  return copy;
}

/** However long a page takes to load here, no time passes. */
const open = (use: (page: Page) => Promise<void>) =>
  visit('about:blank', {}, async ({ page }) => {
    await page.context().addInitScript('Date.now = () => 1e12;');
    await page.goto(site.value.address({}));
    await idOf(page);
    await use(page);
  });

describe('the connectionID of a page in Chromium', { skip: skipsPages }, () => {
  test('a page that is reloaded has the connectionID of before, and its copy another one', async () => {
    await open(async (page) => {
      const id = await idOf(page);
      await page.reload();
      assert.equal(await idOf(page), id);
      assert.notEqual(await idOf(await copyOf(page)), id);
    });
  });

  test('a copy of a page that came back from the back/forward cache has another connectionID', async () => {
    await open(async (page) => {
      for (const type of ['pagehide', 'pageshow'])
        await page.evaluate(`dispatchEvent(new PageTransitionEvent('${type}', { persisted: true }))`);
      assert.notEqual(await idOf(await copyOf(page)), await idOf(page));
    });
  });

  test('two tabs of a page that was left for another one have two connectionIDs', async () => {
    await open(async (page) => {
      await page.goto(`${site.value.origin}/client.js`);
      // The page before was left so long ago that the server keeps nothing for it.
      await page.context().addInitScript('Date.now = () => 1e12 + 60_000;');
      const copy = await copyOf(page);
      await page.goto(site.value.address({}));
      assert.notEqual(await idOf(copy), await idOf(page));
    });
  });
});
