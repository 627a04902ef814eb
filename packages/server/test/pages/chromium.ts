/** The system's Chromium, for tests of pages. */
import { after } from 'node:test';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { findProgram, isRequired } from '../support/programs.ts';
import { WAIT_MAX_MS } from '../support/waiting.ts';

/** The shell first: it is the same browser without a user interface, which takes three quarters of the time of a small page. */
const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
];

const executablePath = findProgram(NAMES);

/** Why tests of pages are skipped here, or false when they are not: where Chromium is required, its absence fails them. */
export const skipsPages =
  executablePath === undefined && !isRequired('chromium')
    ? `none of ${NAMES.join(', ')} is in the PATH`
    : false;

/** A page in the browser, with its requests and messages. */
export interface Visit {
  readonly page: Page;
  /** URLs of all requests, the page itself first. */
  readonly requests: readonly string[];
  /** Console messages and uncaught errors. */
  readonly complaints: readonly string[];
}

let browser: Promise<Browser> | undefined;

after(async () => {
  await (await browser)?.close();
});

function launch(): Promise<Browser> {
  if (executablePath === undefined) throw new Error(`none of ${NAMES.join(', ')} is in the PATH`);
  // The sandbox needs rights that a container or root does not have, and the pages are our own.
  return chromium.launch({
    executablePath,
    timeout: WAIT_MAX_MS,
    args: ['--no-sandbox', '--disable-gpu'],
  });
}

/** Opens a URL in a new browser context, and closes it when `use` is done. The calling file shares one browser. */
export async function visit<Result>(
  url: string,
  options: BrowserContextOptions,
  use: (visit: Visit) => Promise<Result>,
): Promise<Result> {
  browser ??= launch();
  await using context = await (await browser).newContext(options);
  context.setDefaultTimeout(WAIT_MAX_MS);
  const page = await context.newPage();
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(url);
  return await use({ page, requests, complaints });
}
