import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ERRORS } from '@rollcall/protocol';
import type { Page } from 'playwright-core';
import { oneServer } from '../support/one-server.ts';
import { skipsPages, type Visit, visit } from './chromium.ts';

const server = oneServer();

const DESKTOP = { viewport: { width: 1440, height: 900 } };
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

const onDocs = (use: (visited: Visit) => Promise<void>, options = DESKTOP) =>
  visit(`${server.running.url}/docs`, options, use);

/** The targets of the results, in order. */
const resultsOf = (page: Page) =>
  page.evaluate<string[]>("[...document.querySelectorAll('#results a')].map(({ hash }) => hash.slice(1))");

async function resultsFor(page: Page, query: string): Promise<string[]> {
  await page.locator('#search').fill(query);
  return resultsOf(page);
}

/** The browser follows a link after the key or the tap was handled. */
const leadsTo = (page: Page, hash: string) => page.waitForFunction(`location.hash === '${hash}'`);

const focused = (page: Page) =>
  page.evaluate<string>("document.activeElement.id || document.activeElement.hash || ''");

describe('the search of /docs', { skip: skipsPages }, () => {
  test('the search finds operations by title, path and ID, error codes, fields, schemas and chapters', () =>
    onDocs(async ({ page }) => {
      const first = async (query: string) => (await resultsFor(page, query))[0];
      assert.equal(await first('create or update a group'), 'putGroup');
      assert.equal(await first('PUT /v1/groups'), 'putGroup');
      assert.equal(await first('appendtomessage'), 'appendToMessage');
      assert.equal(await first('concurrency'), 'concurrency');
      assert.equal(await first('PresenceEntry'), 'schema-PresenceEntry');
      for (const code of Object.keys(ERRORS)) assert.equal(await first(code), `error-${code}`);
      const fields = await resultsFor(page, 'exclusiveWithin');
      assert.ok(fields.includes('putPresence.body.exclusiveWithin'), fields.join());
      assert.ok((await resultsFor(page, 'page token limit')).length > 0, 'words in any order');
    }));

  test('the search finds an operation by a word of the lists in its description', () =>
    onDocs(async ({ page }) => {
      const found = await resultsFor(page, 'presence data');
      assert.ok(found.includes('putPresence'), found.join());
      assert.ok(found.indexOf('putPresence') < found.indexOf('deleteUser'), found.join());
    }));

  test('a search without results reports that, and an empty query shows the list again', () =>
    onDocs(async ({ page }) => {
      assert.deepEqual(await resultsFor(page, 'zebra crossing'), []);
      assert.equal(await page.getByRole('status').textContent(), 'Nothing found');
      await resultsFor(page, '');
      assert.equal(await page.locator('#contents-list').isVisible(), true);
      assert.equal(await page.locator('#results').isVisible(), false);
    }));

  test('at most 40 results are shown, with the count of all', () =>
    onDocs(async ({ page }) => {
      assert.equal((await resultsFor(page, 'e')).length, 40);
      assert.match(String(await page.getByRole('status').textContent()), /^\d{3,} found, 40 shown$/);
    }));

  test('every result leads to a part of the page', () =>
    onDocs(async ({ page }) => {
      for (const query of ['group', 'presence', 'id', 'v1', 'not_found', 'organization']) {
        const missing = await page.evaluate<string[]>(
          `${JSON.stringify(await resultsFor(page, query))}.filter((id) => document.getElementById(id) === null)`,
        );
        assert.deepEqual(missing, []);
      }
    }));

  test('a query is text, whatever it contains', () =>
    onDocs(async ({ page, complaints }) => {
      for (const query of ['<img src=x onerror=alert(1)>', '.*', '[', '\\', '"#', '{group_id}'])
        await resultsFor(page, query);
      assert.ok((await resultsOf(page)).length > 0, 'a parameter of a path is found');
      assert.deepEqual(complaints, []);
    }));

  test('/ begins a search, arrows move along the results, Enter follows one, Escape clears', () =>
    onDocs(async ({ page, requests }) => {
      await page.keyboard.press('/');
      assert.equal(await focused(page), 'search');
      await page.keyboard.type('member');
      const [first, second] = await resultsOf(page);
      assert.equal(await page.locator('#search').inputValue(), 'member');
      await page.keyboard.press('ArrowDown');
      assert.equal(await focused(page), `#${first}`);
      await page.keyboard.press('ArrowDown');
      assert.equal(await focused(page), `#${second}`);
      await page.keyboard.press('ArrowUp');
      await page.keyboard.press('ArrowUp');
      assert.equal(await focused(page), 'search');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.type('s');
      assert.equal(await page.locator('#search').inputValue(), 'members', 'typing goes on with the query');
      await page.keyboard.press('Escape');
      assert.deepEqual([await page.locator('#search').inputValue(), await focused(page)], ['', 'search']);
      await page.keyboard.type('delete a group');
      await page.keyboard.press('Enter');
      await leadsTo(page, '#deleteGroup');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await leadsTo(page, '#deleteGroup');
      assert.equal(requests.length, 1, 'a search requests nothing');
    }));

  test('on a phone a button opens the search, and a result closes it', () =>
    onDocs(async ({ page }) => {
      assert.equal(await page.locator('#search').isVisible(), false);
      await page.getByRole('button', { name: 'Search' }).tap();
      assert.equal(await focused(page), 'search');
      await resultsFor(page, 'create or update a user');
      await page.locator('#results a').first().tap();
      assert.equal(await page.locator('#contents').isVisible(), false);
      await leadsTo(page, '#putUser');
    }, PHONE));
});
