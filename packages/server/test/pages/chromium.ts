/** The system's Chromium, for tests of pages. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { after } from 'node:test';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const executablePath = (process.env.PATH ?? '')
  .split(delimiter)
  .flatMap((directory) => NAMES.map((name) => join(directory, name)))
  .find(isExecutable);

const isRequired = (process.env.ROLLCALL_TEST_REQUIRE ?? '').includes('chromium');

/** Why tests of pages are skipped here, or false when they are not: where Chromium is required, its absence fails them. */
export const skipsPages =
  executablePath === undefined && !isRequired ? `none of ${NAMES.join(', ')} is in the PATH` : false;

/** A page as a visitor has it, and all that went on in it. */
export interface Visit {
  readonly page: Page;
  /** URLs of everything that was asked for, the page itself first. */
  readonly requests: readonly string[];
  /** What the console and uncaught errors said. */
  readonly complaints: readonly string[];
}

let browser: Promise<Browser> | undefined;

after(async () => {
  await (await browser)?.close();
});

function launch(): Promise<Browser> {
  if (executablePath === undefined) throw new Error(`none of ${NAMES.join(', ')} is in the PATH`);
  // The sandbox needs rights that a container or root does not have, and the pages are our own.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
}

/** Opens a URL as somebody who was never there, and closes it when `use` is done. The calling file shares one browser. */
export async function visit<Result>(
  url: string,
  options: BrowserContextOptions,
  use: (visit: Visit) => Promise<Result>,
): Promise<Result> {
  browser ??= launch();
  const context = await (await browser).newContext(options);
  try {
    const page = await context.newPage();
    const requests: string[] = [];
    const complaints: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(String(error)));
    await page.goto(url);
    return await use({ page, requests, complaints });
  } finally {
    await context.close();
  }
}
