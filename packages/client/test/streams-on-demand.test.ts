/** A page loads the code of streams over HTTP when it has no socket. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { skipsPages, type Visit, visit } from '../../server/test/pages/chromium.ts';
import { withServer } from '../../server/test/support/server.ts';
import { suiteResource } from '../../server/test/support/suite-resource.ts';
import { Rollcall } from '../src/index.ts';
import { signClientToken } from '../src/server/index.ts';
import { withPageSite } from './support/page-site.ts';

const SCRIPT = '**/page-stream.js';

const PROGRAM = `
import { RollcallClient } from '/client.js';
const parameters = new URLSearchParams(location.search);
const client = new RollcallClient({
  url: parameters.get('url'), token: parameters.get('token'), socket: parameters.get('socket') === 'true',
});
window.client = client;
window.events = [];
window.reasons = [];
window.watchFor = async (signal) => {
  for await (const { type } of client.presence.watch({ signal, onRetry: ({ message }) => reasons.push(message) })) events.push(type);
};
client.presence.announce({ location: { page: 'a' } });
`;

interface Site {
  readonly rollcall: Rollcall;
  address(socket: boolean): Promise<string>;
}

const site = suiteResource<Site>((use) =>
  withPageSite(PROGRAM, (pages) =>
    withServer({ settings: { corsOrigins: pages.origin } }, async (server) => {
      const rollcall = new Rollcall({ url: server.url, token: server.projectToken });
      await rollcall.batch({ users: [{ id: 'ada' }], groups: [{ id: 'g', name: 'G', members: ['ada'] }] });
      const sign = { projectID: server.projectId, secret: server.projectSecret, userID: 'ada', groupID: 'g' };
      const address = async (socket: boolean) =>
        pages.address({ url: server.url, token: await signClientToken(sign), socket: `${socket}` });
      await use({ rollcall, address });
      await rollcall.close();
    }),
  ),
);

const openPage = (socket: boolean, use: (visited: Visit) => Promise<void>) =>
  visit('about:blank', {}, async (visited) => {
    await visited.page.goto(await site.value.address(socket));
    await visited.page.waitForFunction('window.watchFor');
    await use(visited);
  });

const isLoaded = (requests: readonly string[]) => requests.some((url) => url.endsWith('/page-stream.js'));

/** Begins to watch; does not wait for its end. */
const watch = (page: Page) => page.evaluate('void watchFor()');

describe('the script that reads streams over HTTP', { skip: skipsPages }, () => {
  test('a page that has a socket does not load the script that reads streams over HTTP', async () => {
    await openPage(true, async ({ page, requests }) => {
      await watch(page);
      await page.waitForFunction("events.includes('snapshot')");
      assert.ok(!isLoaded(requests));
    });
  });

  test('a page without a socket loads the script that reads streams over HTTP, and watches with it', async () => {
    await openPage(false, async ({ page, requests }) => {
      await watch(page);
      await page.waitForFunction("events.includes('snapshot')");
      assert.ok(isLoaded(requests));
      assert.equal(await page.evaluate('client.status.get().state'), 'open');
    });
  });

  test('the status is reconnecting with the reason, and the user is still announced, when the script is missing', async () => {
    await openPage(false, async ({ page }) => {
      await page.route(SCRIPT, (route) => route.fulfill({ status: 404 }));
      await watch(page);
      await page.waitForFunction('reasons.length === 2', undefined, { polling: 50 });
      const { state, reason } = await page.evaluate<{ state: string; reason: Record<string, unknown> }>(
        '(({ state, reason: { code, message, retryable } }) => ({ state, reason: { code, message, retryable } }))(client.status.get())',
      );
      assert.equal(state, 'reconnecting');
      assert.deepEqual([reason.code, reason.retryable], ['network', true]);
      assert.match(String(reason.message), /^the script that reads streams over HTTP was not loaded, reload/);
      const [present] = await site.value.rollcall.presence.list({ groupID: 'g' }).toArray();
      assert.deepEqual(present?.ephemeral.locations, [{ page: 'a' }]);
    });
  });

  test('a watch whose script does not arrive ends at once when its signal aborts', async () => {
    await openPage(false, async ({ page }) => {
      await page.route(SCRIPT, () => {});
      await page.evaluate(`(async () => {
        const stop = new AbortController();
        const ended = watchFor(stop.signal);
        setTimeout(() => stop.abort(), 0);
        await ended;
      })()`);
      assert.deepEqual(await page.evaluate('[events, reasons]'), [[], []]);
    });
  });
});
