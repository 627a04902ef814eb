import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { build, type Rolldown } from 'vite';
import { skipsPages, visit } from '../../server/test/pages/chromium.ts';
import { type TestServer, withServer } from '../../server/test/support/server.ts';
import { suiteResource } from '../../server/test/support/suite-resource.ts';
import { until } from '../../server/test/support/waiting.ts';
import { Rollcall } from '../src/index.ts';
import { signClientToken } from '../src/server/index.ts';

const TABS = 12;

/** What each tab does: it announces its own location, and keeps the state of the group. */
const PROGRAM = `
import { NOBODY, presenceAfter, RollcallClient } from '/client.js';
const parameters = new URLSearchParams(location.search);
const client = new RollcallClient({
  url: parameters.get('url'), token: parameters.get('token'), socket: parameters.get('socket') === 'true',
});
window.client = client;
window.errors = [];
const tab = parameters.get('tab');
client.presence.announce({ location: { tab }, onError: (error) => errors.push(error.message) });
window.state = NOBODY;
(async () => {
  for await (const event of client.presence.watch()) window.state = presenceAfter(state, event);
})();
`;

interface Site {
  readonly server: TestServer;
  readonly rollcall: Rollcall;
  readonly address: (tab: number, socket: boolean) => Promise<string>;
}

const site = suiteResource<Site>(async (use) => {
  const client = await clientModule();
  const pages = createServer(({ url = '' }, response) => {
    const files: Record<string, string> = { '/client.js': client, '/program.js': PROGRAM };
    const script = files[url];
    if (script !== undefined) return response.setHeader('content-type', 'text/javascript').end(script);
    response.setHeader('content-type', 'text/html');
    return response.end(
      '<!doctype html><link rel="icon" href="data:,"><script type="module" src="/program.js"></script>',
    );
  });
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  try {
    await withServer({ settings: { corsOrigins: origin } }, async (server) => {
      const rollcall = new Rollcall({ url: server.url, token: server.projectToken });
      const users = [{ id: 'ada' }, { id: 'bob' }];
      await rollcall.batch({ users, groups: [{ id: 'g', name: 'G', members: ['ada', 'bob'] }] });
      const sign = { projectID: server.projectId, secret: server.projectSecret, userID: 'ada', groupID: 'g' };
      const address = async (tab: number, socket: boolean) => {
        const token = await signClientToken(sign);
        return `${origin}/?${new URLSearchParams({ url: server.url, token, tab: `${tab}`, socket: `${socket}` })}`;
      };
      await use({ server, rollcall, address });
      await rollcall.close();
    });
  } finally {
    pages.closeAllConnections();
    await new Promise((resolve) => pages.close(resolve));
  }
});

async function clientModule(): Promise<string> {
  const result = await build({
    configFile: false,
    logLevel: 'error',
    root: import.meta.dirname,
    build: {
      write: false,
      rolldownOptions: {
        input: join(import.meta.dirname, '../src/index.ts'),
        preserveEntrySignatures: 'strict',
      },
    },
  });
  return (result as Rolldown.RolldownOutput).output[0].code;
}

/** Opens twelve tabs of one browser profile. */
const withTabs = async (socket: boolean, use: (tabs: readonly Page[]) => Promise<void>) =>
  visit(await site.value.address(0, socket), {}, async ({ page }) => {
    const others = Array.from({ length: TABS - 1 }, async (_, index) => {
      const tab = await page.context().newPage();
      await tab.goto(await site.value.address(index + 1, socket));
      return tab;
    });
    await use([page, ...(await Promise.all(others))]);
  });

const locationsOf = async (user: string) => {
  const { ephemeral } = await site.value.rollcall.presence.get(user, 'g');
  return ephemeral.locations.length;
};

const shows = (tab: Page, user: string, page: string) =>
  tab.waitForFunction(
    `state.get('${user}')?.ephemeral.locations.some((location) => location.page === '${page}')`,
  );

const put = (page: string) => site.value.rollcall.presence.put('bob', { groupID: 'g', location: { page } });

describe('twelve tabs of one browser profile', { skip: skipsPages }, () => {
  test('are all present and up to date, with one socket each', async () => {
    await withTabs(true, async (tabs) => {
      await until('all tabs are present', async () => (await locationsOf('ada')) === TABS);
      await put('one');
      await Promise.all(tabs.map((tab) => shows(tab, 'bob', 'one')));
      const states = await Promise.all(tabs.map((tab) => tab.evaluate('client.status.get().state')));
      assert.deepEqual(new Set(states), new Set(['open']));
      const { text } = await site.value.server.request('GET', '/metrics');
      assert.match(text, new RegExp(`^rollcall_sockets ${TABS}$`, 'm'));
      await tabs[3]?.close({ runBeforeUnload: true });
      await until('the closed tab is absent, alone', async () => (await locationsOf('ada')) === TABS - 1);
    });
    await until('nobody is present any more', async () => (await locationsOf('ada')) === 0);
  });

  test('are all present without a socket, and those without a stream say why', async () => {
    await withTabs(false, async (tabs) => {
      await until('all tabs are present', async () => (await locationsOf('ada')) === TABS);
      const reasons = () =>
        Promise.all(
          tabs.map((tab) => tab.evaluate('client.status.get().reason?.message ?? client.status.get().state')),
        );
      const isSaid = (reason: unknown) =>
        /^other tabs of this browser have 4 streams open/.test(String(reason));
      await until('four tabs have a stream, and the others say why they have none', async () => {
        const all = await reasons();
        return (
          all.filter((reason) => reason === 'open').length === 4 && all.filter(isSaid).length === TABS - 4
        );
      });
      await put('two');
      const open = (await reasons())
        .map((reason, index) => (reason === 'open' ? index : -1))
        .filter((at) => at !== -1);
      await Promise.all(open.map((index) => shows(tabs[index] as Page, 'bob', 'two')));
      // A permit that is given back goes to one of the others.
      await tabs[open[0] as number]?.close();
      const left = tabs.filter((_, index) => index !== open[0]);
      await until('another tab has a stream', async () => {
        const states = await Promise.all(left.map((tab) => tab.evaluate('client.status.get().state')));
        return states.filter((state) => state === 'open').length === 4;
      });
    });
  });
});
