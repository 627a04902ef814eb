/** Makes facepile.png, the picture of the README: the page with five users. `all` also makes the dark and phone versions. */
import { join } from 'node:path';
import process from 'node:process';
import { chromium, type Page } from 'playwright-core';
import { startFacepile } from './facepile-server.ts';
import { startTemporaryRollcall, type TemporaryRollcall } from './temporary-rollcall.ts';

const [target = join(import.meta.dirname, 'facepile.png'), only] = process.argv.slice(2);
const DESKTOP = { width: 1120, height: 800 };
const PHONE = { width: 390, height: 800 };

/** The other users, by the section that they read. */
const OTHERS = { bruno: 'summary', carmen: 'goals', esme: 'goals', dmitri: 'timeline' };

let temporary: TemporaryRollcall | undefined;
const facepile = await startFacepile(0, async (origin) => {
  temporary = await startTemporaryRollcall(origin);
  return temporary;
});
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
try {
  for (const [user, section] of Object.entries(OTHERS)) {
    const page = await open(user, DESKTOP, 'light');
    await page.locator(`#${section} h2`).click();
  }
  const shots = {
    light: await open('ada', DESKTOP, 'light'),
    dark: await open('ada', DESKTOP, 'dark'),
    phone: await open('ada', PHONE, 'light'),
    'phone-dark': await open('ada', PHONE, 'dark'),
  };
  for (const [name, page] of Object.entries(shots)) {
    await page.waitForFunction('document.querySelectorAll(".avatar[data-section]").length === 5');
    await page.waitForFunction('document.querySelector(".moving") === null');
    if (name === 'light' || only === 'all') {
      const path = name === 'light' ? target : target.replace('.png', `-${name}.png`);
      await page.screenshot({ path, animations: 'disabled' });
    }
  }
} finally {
  await browser.close();
  await facepile.close();
  await temporary?.close();
}

async function open(user: string, viewport: typeof DESKTOP, colorScheme: 'light' | 'dark'): Promise<Page> {
  const context = await browser.newContext({ viewport, colorScheme });
  const page = await context.newPage();
  page.on('pageerror', (error) => process.stderr.write(`${error}\n`));
  page.on('console', (message) => process.stderr.write(`${message.text()}\n`));
  await page.goto(`${facepile.url}/?user=${user}`);
  return page;
}
