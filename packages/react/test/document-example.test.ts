import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type DocumentServer, startDocument } from '../../../examples/document/document-server.ts';
import { type Rollcall, startRollcall } from '../../server/src/index.ts';
import { skipsPages, visit } from '../../server/test/pages/chromium.ts';

/** High enough to show all sections: in a smaller window a click may scroll the page, and so move the reader twice. */
const WHOLE_PAGE = { width: 1280, height: 1200 };

let rollcall: Rollcall | undefined;
let example: DocumentServer;

before(async () => {
  example = await startDocument(0, async (origin) => {
    rollcall = await startRollcall({ environment: { ROLLCALL_CORS_ORIGINS: origin } });
    return rollcall;
  });
});

after(async () => {
  await example.close();
  await rollcall?.close();
});

const open = (user: string, use: Parameters<typeof visit<void>>[2]) =>
  visit(`${example.url}/?user=${user}`, { viewport: WHOLE_PAGE }, use);

describe('the document example in Chromium', { skip: skipsPages }, () => {
  test('two windows show the presence, the pointer data and the messages of each other', async () => {
    await open('ada', async ({ page: adas, complaints }) => {
      await open('bruno', async ({ page: brunos }) => {
        const summary = adas.getByRole('list', { name: 'Reading In short' });
        await summary.getByRole('img', { name: 'Bruno Sato' }).waitFor();
        await brunos.locator('#risks p').click();
        await adas.getByRole('list', { name: 'Reading What may go wrong' }).getByRole('img').waitFor();
        await summary.getByRole('img').waitFor({ state: 'detached' });

        await brunos.locator('#risks h2').hover();
        await adas.locator('.cursor[data-user=bruno]').waitFor();

        await brunos.getByLabel('Your comment').fill('What about the wind?');
        await brunos.keyboard.press('Enter');
        await adas.locator('#risks').getByRole('button', { name: '1 new' }).click();
        await adas.locator('li.sent').getByText('What about the wind?').waitFor();
        await adas.locator('#risks').getByRole('button', { name: '1 comment' }).waitFor();
        await adas.getByLabel('Your comment').fill('The dome stays shut.');
        await adas.keyboard.press('Enter');
        await brunos.locator('li.sent').getByText('The dome stays shut.').waitFor();
        // Ada reads the comments of this section.
        await brunos.getByLabel('Your comment').fill('And the rain?');
        await brunos.keyboard.press('Enter');
        await adas.locator('li.sent').getByText('And the rain?').waitFor();
        await adas.locator('#risks').getByRole('button', { name: '3 comments' }).waitFor();
      });
      await adas.locator('.cursor').waitFor({ state: 'detached' });
      // The thread of a section is missing until its first comment; the browser reports that answer.
      assert.deepEqual(
        complaints.filter((text) => !/React DevTools|\[vite\]|404 \(Not Found\)/.test(text)),
        [],
      );
    });
  });

  test('a comment that is being written stays when another user writes the first one', async () => {
    await open('ada', async ({ page: adas }) => {
      await open('bruno', async ({ page: brunos }) => {
        for (const page of [adas, brunos]) await page.locator('#goals p').click();
        await adas.getByLabel('Your comment').pressSequentially('One');
        await brunos.getByLabel('Your comment').fill('First!');
        await brunos.keyboard.press('Enter');
        await adas.locator('li.sent').getByText('First!').waitFor();
        await adas.keyboard.type(' planet');
        assert.equal(await adas.getByLabel('Your comment').inputValue(), 'One planet');
      });
    });
  });
});
