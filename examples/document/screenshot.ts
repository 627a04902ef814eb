/** Makes document.png, the picture of the README: the application with four users. `all` makes it dark and for a phone too. */
import { join } from 'node:path';
import process from 'node:process';
import { chromium, type Page } from 'playwright-core';
import { type Rollcall, startRollcall } from '../../packages/server/src/index.ts';
import { startDocument } from './document-server.ts';

const [target = join(import.meta.dirname, 'document.png'), only] = process.argv.slice(2);
const DESKTOP = { width: 1180, height: 840 };

/** The other users: the section that they read, where their pointer is beside its text, and what they write. */
const OTHERS = {
  bruno: {
    section: 'goals',
    pointer: { x: 625, y: 95 },
    comment: 'Can we promise one planet? In October only Saturn is up early.',
  },
  carmen: {
    section: 'goals',
    pointer: { x: 400, y: 10 },
    comment: 'Saturn is the one they want to see. I keep the promise.',
  },
  esme: {
    section: 'timeline',
    pointer: { x: 620, y: 75 },
    comment: 'The road crew asked for one more week.',
  },
};

let rollcall: Rollcall | undefined;
const document = await startDocument(0, async (origin) => {
  rollcall = await startRollcall({ environment: { ROLLCALL_CORS_ORIGINS: origin } });
  return rollcall;
});
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
try {
  for (const [user, { section, comment, pointer }] of Object.entries(OTHERS)) {
    const page = await open(user, DESKTOP, 'light');
    await page.locator(`#${section} p`).click();
    await page.getByLabel('Your comment').fill(comment);
    await page.keyboard.press('Enter');
    await page.locator('li.sent').getByText(comment).waitFor();
    await page.locator(`#${section}`).hover({ position: pointer });
  }
  await shoot(await open('ada', DESKTOP, 'light'), target);
  if (only === 'all') {
    await shoot(await open('ada', DESKTOP, 'dark'), target.replace('.png', '-dark.png'));
    await shoot(
      await open('ada', { width: 390, height: 900 }, 'light'),
      target.replace('.png', '-phone.png'),
    );
  }
} finally {
  await browser.close();
  await document.close();
  await rollcall?.close();
}

async function open(user: string, viewport: typeof DESKTOP, colorScheme: 'light' | 'dark'): Promise<Page> {
  const page = await (await browser.newContext({ viewport, colorScheme })).newPage();
  page.on('pageerror', (error) => process.stderr.write(`${error}\n`));
  await page.goto(`${document.url}/?user=${user}`);
  return page;
}

async function shoot(page: Page, path: string): Promise<void> {
  await page.locator('#goals p').click();
  await page.locator('#timeline .count.unread').waitFor();
  // The comments that are shown are read.
  await page.locator('#goals').getByRole('button', { name: '2 comments' }).waitFor();
  await page.locator('#goals').getByRole('img').nth(1).waitFor();
  await page.locator('.cursor').nth(2).waitFor();
  await page.screenshot({ path, animations: 'disabled' });
}
