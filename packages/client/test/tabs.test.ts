import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { skipsPages, visit } from '../../server/test/pages/chromium.ts';
import { type TestServer, withServer } from '../../server/test/support/server.ts';
import { suiteResource } from '../../server/test/support/suite-resource.ts';
import { until } from '../../server/test/support/waiting.ts';
import { Rollcall } from '../src/index.ts';
import { signClientToken } from '../src/server/index.ts';
import { withPageSite } from './support/page-site.ts';

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
  const filter = parameters.get('watches') === 'each' ? { location: { tab } } : {};
  for await (const event of client.presence.watch(filter)) window.state = presenceAfter(state, event);
})();
`;

interface Site {
  readonly server: TestServer;
  readonly rollcall: Rollcall;
  /** The page of a tab. With `watches=each`, each tab watches another location. */
  readonly address: (tab: number, socket: boolean, watches: string) => Promise<string>;
}

const site = suiteResource<Site>((use) =>
  withPageSite(PROGRAM, (pages) =>
    withServer({ settings: { corsOrigins: pages.origin } }, async (server) => {
      const rollcall = new Rollcall({ url: server.url, token: server.projectToken });
      const users = [{ id: 'ada' }, { id: 'bob' }];
      await rollcall.batch({ users, groups: [{ id: 'g', name: 'G', members: ['ada', 'bob'] }] });
      const sign = { projectID: server.projectId, secret: server.projectSecret, userID: 'ada', groupID: 'g' };
      const address = async (tab: number, socket: boolean, watches: string) => {
        const token = await signClientToken(sign);
        return pages.address({ url: server.url, token, tab: `${tab}`, socket: `${socket}`, watches });
      };
      await use({ server, rollcall, address });
      await rollcall.close();
    }),
  ),
);

/** Opens twelve tabs of one browser profile. */
const withTabs = async (socket: boolean, use: (tabs: readonly Page[]) => Promise<void>, watches = 'same') =>
  visit(await site.value.address(0, socket, watches), {}, async ({ page }) => {
    const others = Array.from({ length: TABS - 1 }, async (_, index) => {
      const tab = await page.context().newPage();
      await tab.goto(await site.value.address(index + 1, socket, watches));
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

const statesOf = (tabs: readonly Page[]) =>
  Promise.all(tabs.map((tab) => tab.evaluate<string>('client.status.get().state')));

const metric = async (name: string) => {
  const { text } = await site.value.server.request('GET', '/metrics');
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
};

const streamsOpen = () => metric('rollcall_presence_streams');

const put = (page: string) => site.value.rollcall.presence.put('bob', { groupID: 'g', location: { page } });

describe('twelve tabs of one browser profile', { skip: skipsPages }, () => {
  test('twelve tabs of one browser profile are all present and up to date, with one socket each', async () => {
    await withTabs(true, async (tabs) => {
      await until('all tabs are present', async () => (await locationsOf('ada')) === TABS);
      await put('one');
      await Promise.all(tabs.map((tab) => shows(tab, 'bob', 'one')));
      assert.deepEqual(new Set(await statesOf(tabs)), new Set(['open']));
      assert.equal(await metric('rollcall_sockets'), TABS);
      await tabs[3]?.close({ runBeforeUnload: true });
      await until('the closed tab is absent, alone', async () => (await locationsOf('ada')) === TABS - 1);
    });
    await until('nobody is present any more', async () => (await locationsOf('ada')) === 0);
  });

  test('twelve tabs of one browser profile are all present and up to date without WebSocket, and share one stream', async () => {
    await withTabs(false, async (tabs) => {
      await until('all tabs are present', async () => (await locationsOf('ada')) === TABS);
      await until('all tabs are connected', async () =>
        (await statesOf(tabs)).every((state) => state === 'open'),
      );
      await put('two');
      await Promise.all(tabs.map((tab) => shows(tab, 'bob', 'two')));
      assert.equal(await streamsOpen(), 1);
      // Another tab reads the stream for all when the tab that did is closed.
      let left = tabs;
      for (const page of ['three', 'four']) {
        const [closed, ...others] = left as [Page, ...Page[]];
        left = others;
        await closed.close({ runBeforeUnload: true });
        await put(page);
        await Promise.all(left.map((tab) => shows(tab, 'bob', page)));
      }
      await until('the closed tabs are absent', async () => (await locationsOf('ada')) === TABS - 2);
      assert.equal(await streamsOpen(), 1);
    });
  });

  test('twelve tabs that watch twelve groups without WebSocket have four streams, and the status of the others has the reason', async () => {
    await withTabs(
      false,
      async (tabs) => {
        const reasons = () =>
          Promise.all(
            tabs.map((tab) =>
              tab.evaluate('client.status.get().reason?.message ?? client.status.get().state'),
            ),
          );
        const hasReason = (reason: unknown) => /^this browser has 4 streams open/.test(String(reason));
        const countOf = async (isOf: (reason: unknown) => boolean) => (await reasons()).filter(isOf).length;
        const isOpen = (reason: unknown) => reason === 'open';
        await until('four tabs have a stream, and the others say why they have none', async () => {
          return (await countOf(isOpen)) === 4 && (await countOf(hasReason)) === TABS - 4;
        });
        assert.equal(await locationsOf('ada'), TABS, 'all tabs are present');
        // Each permit that is given back goes to one of the others, whichever tab had it.
        for (const left of [TABS - 1, TABS - 2, TABS - 3, TABS - 4]) {
          const leading = (await reasons()).findIndex(isOpen);
          await tabs[leading]?.close();
          tabs = tabs.filter((_, index) => index !== leading);
          await until('another tab has a stream', async () => (await countOf(isOpen)) === 4);
          assert.equal(tabs.length, left);
        }
      },
      'each',
    );
  });
});
