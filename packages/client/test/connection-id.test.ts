/** The `connectionID` of the pages of a tab, and of a tab that is made of another: no page holds what another one announced. */
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

describe('the connectionID of a page in Chromium', { skip: skipsPages }, () => {
  test('a page that is reloaded has another connectionID, and so has its copy', () =>
    visit(site.value.address({}), {}, async ({ page }) => {
      const first = await idOf(page);
      await page.reload();
      const second = await idOf(page);
      assert.equal(new Set([first, second, await idOf(await copyOf(page))]).size, 3);
    }));
});
