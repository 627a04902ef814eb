/** The connection of a page in a browser: through sleep, loss, restarts and reloads. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { KNOWN, PROJECT, type ServeProcess, withServe } from '../../server/test/cli/cli-process.ts';
import { skipsPages, visit } from '../../server/test/pages/chromium.ts';
import { withDataDir } from '../../server/test/support/server.ts';
import { suiteResource } from '../../server/test/support/suite-resource.ts';
import { until } from '../../server/test/support/waiting.ts';
import { Rollcall } from '../src/index.ts';
import { signClientToken, signProjectToken } from '../src/server/index.ts';
import { type Balancer, withBalancer } from './support/balancer.ts';
import { type PageSite, withPageSite } from './support/page-site.ts';

const SIGN = { projectID: PROJECT.id, secret: PROJECT.secret };
/** The server keeps what a page held for two seconds. */
const BACK_WITHIN_MS = 1_500;
/** How many times a page is loaded anew in time, and how many times at most too late. */
const RELOADS = 3;
const LATE_MAX = 20;

/** A page announces its user, and keeps the state of the group and all states of the connection. */
const PROGRAM = `
import { NOBODY, presenceAfter, RollcallClient } from '/client.js';
const parameters = new URLSearchParams(location.search);
const client = new RollcallClient({ url: parameters.get('url'), token: () => window.token(parameters.get('user')) });
window.states = [];
client.status.subscribe(() => {
  const { state, reason } = client.status.get();
  states.push(reason === null ? state : state + ' ' + reason.code);
});
client.presence.announce({ location: { page: parameters.get('page') ?? 'a' } });
window.state = NOBODY;
(async () => {
  for await (const event of client.presence.watch()) window.state = presenceAfter(state, event);
})();
`;

interface Scene {
  readonly site: PageSite;
  readonly balancer: Balancer;
  readonly rollcall: Rollcall;
  readonly dataDir: string;
  server: ServeProcess;
  /** Ends the server with a signal, and starts another one on its data. */
  restart(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

const scene = suiteResource<Scene>((use) =>
  withDataDir((dataDir) =>
    withPageSite(PROGRAM, (site) =>
      withBalancer(async (balancer) => {
        const rollcall = new Rollcall({ url: balancer.url, token: () => signProjectToken(SIGN) });
        const args = [...KNOWN, '--cors-origins', site.origin];
        let isOver = false;
        let next = Promise.withResolvers<Scene>();
        const opened = next.promise;
        const serveAll = async () => {
          while (!isOver) {
            await withServe(dataDir, args, async (server) => {
              balancer.target = server.url;
              const restart: Scene['restart'] = (signal) => {
                next = Promise.withResolvers();
                server.process.signal(signal);
                return next.promise.then(() => {});
              };
              next.resolve({ site, balancer, rollcall, dataDir, server, restart });
              await server.process.ended;
            });
          }
        };
        const served = serveAll();
        const first = await opened;
        const users = [{ id: 'ada' }, { id: 'bob' }];
        await rollcall.batch({ users, groups: [{ id: 'g', name: 'G', members: ['ada', 'bob'] }] });
        let current = first;
        await use({
          ...first,
          restart: async (signal) => {
            await current.restart(signal);
            current = await next.promise;
          },
        });
        isOver = true;
        current.server.process.signal('SIGTERM');
        await served;
        await rollcall.close();
      }),
    ),
  ),
);

/** Opens a page of a user, with tokens that are valid for so many seconds: one after the other, the last one for all others. */
async function open(use: (page: Page, tokens: () => number) => Promise<void>, lives = [600]): Promise<void> {
  const { site, balancer } = scene.value;
  await visit('about:blank', {}, async ({ page }) => {
    let tokens = 0;
    await page.context().exposeFunction('token', (userID: string) => {
      const expiresInSeconds = lives[Math.min(tokens, lives.length - 1)];
      tokens += 1;
      return signClientToken({ ...SIGN, userID, groupID: 'g', expiresInSeconds });
    });
    await page.goto(site.address({ url: balancer.url, user: 'ada' }));
    await isPresent('ada');
    await isOpen(page);
    await use(page, () => tokens);
  });
  await isPresent('ada', false);
}

/** Waits until a user is present or absent: anywhere, or on a page. */
const isPresent = (user: string, expected = true, at?: string) =>
  until(`${user} is ${expected ? 'present' : 'absent'}`, async () => {
    const present = await scene.value.rollcall.presence.list({ groupID: 'g' }).toArray();
    const isHere = present.some(
      ({ id, ephemeral }) =>
        id === user && (at === undefined || ephemeral.locations.some(({ page }) => page === at)),
    );
    return isHere === expected;
  });

const statesOf = (page: Page) => page.evaluate<string[]>('states');
const isOpen = (page: Page) => page.waitForFunction("states.at(-1) === 'open'");
const setVisibility = (page: Page, state: 'hidden' | 'visible') =>
  page.evaluate(
    `Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
    document.dispatchEvent(new Event('visibilitychange'))`,
  );
const isReconnecting = (page: Page) => page.waitForFunction("states.at(-1) === 'reconnecting network'");

let moves = 0;

/** Moves another user, and waits until the page shows it, or does so when the result is called. */
async function move(): Promise<(page: Page) => Promise<unknown>> {
  moves += 1;
  const location = { page: 'b', at: `${moves}` };
  await scene.value.rollcall.presence.put('bob', { groupID: 'g', location, exclusiveWithin: { page: 'b' } });
  return (page) =>
    page.waitForFunction(`state.get('bob')?.ephemeral.locations.some(({ at }) => at === '${location.at}')`);
}

describe('the connection of a page in Chromium', { skip: skipsPages }, () => {
  test('a connection that goes offline and online is reconnecting and then open, and shows what it missed', async () => {
    await open(async (page) => {
      const { balancer } = scene.value;
      const { target } = balancer;
      await page.context().setOffline(true);
      balancer.cut();
      await isReconnecting(page);
      balancer.target = target;
      const isShown = await move();
      await page.context().setOffline(false);
      await isOpen(page);
      await isShown(page);
      await isPresent('ada');
    });
  });

  test('a connection that is lost while the machine sleeps is open again when it wakes, and shows what it missed', async () => {
    await open(async (page) => {
      const { balancer } = scene.value;
      const { target } = balancer;
      const devTools = await page.context().newCDPSession(page);
      await devTools.send('Page.setWebLifecycleState', { state: 'frozen' });
      balancer.cut();
      balancer.target = target;
      const isShown = await move();
      await devTools.send('Page.setWebLifecycleState', { state: 'active' });
      await isShown(page);
      await isOpen(page);
      await isPresent('ada');
    });
  });

  test('the connection of a hidden tab stays open, and the tab is present and up to date', async () => {
    await open(async (page) => {
      await setVisibility(page, 'hidden');
      const isShown = await move();
      await isShown(page);
      await isPresent('ada');
      assert.deepEqual(await statesOf(page), ['connecting', 'open'].slice(-(await statesOf(page)).length));
    });
  });

  test('the connection of a page ends at once when the page enters the back/forward cache, and is opened when the page returns', async () => {
    await open(async (page) => {
      const dispatch = (type: string) =>
        page.evaluate(`dispatchEvent(new PageTransitionEvent('${type}', { persisted: true }))`);
      await dispatch('pagehide');
      // Browsers hide a page after its pagehide.
      await setVisibility(page, 'hidden');
      await isPresent('ada', false);
      const isShown = await move();
      await setVisibility(page, 'visible');
      await dispatch('pageshow');
      await isPresent('ada');
      await isShown(page);
      await isOpen(page);
    });
  });

  test('the user of a page that is reloaded stays present, and no stream has a departure', async () => {
    await open(async (page) => {
      const { rollcall, site, balancer } = scene.value;
      const events = rollcall.presence.watch({ groupID: 'g' });
      await events.next();
      // A busy machine may load a page too late, after which the user is seen to leave.
      let late = 0;
      for (let inTime = 0; inTime < RELOADS; ) {
        const leftAt = performance.now();
        await page.reload();
        await isOpen(page);
        if (performance.now() - leftAt < BACK_WITHIN_MS) inTime += 1;
        else late += 1;
        assert.ok(late <= LATE_MAX, `${late} pages were not loaded within ${BACK_WITHIN_MS} ms`);
      }
      // The page of another user is left after that, and its presence ends as late.
      const other = await page.context().newPage();
      await other.goto(site.address({ url: balancer.url, user: 'bob' }));
      await isPresent('bob', true, 'a');
      await other.close({ runBeforeUnload: true });
      const seen: string[] = [];
      for await (const event of events) {
        // What bob has elsewhere is of the tests before.
        if (!('location' in event) || event.location.page !== 'a') continue;
        seen.push(`${event.id} ${event.type}`);
        if (event.id === 'bob' && event.type === 'departed') break;
      }
      const ofBob = seen.filter((event) => event.startsWith('bob '));
      assert.deepEqual(ofBob, ['bob arrived', 'bob departed']);
      // A late page is a departure and an arrival.
      assert.ok(seen.length - ofBob.length <= 2 * late, `${late} late: ${seen}`);
    });
  });

  test('the user of a page that is left for another one in its tab is at the location of the second alone', async () => {
    await open(async (page) => {
      const { site, balancer } = scene.value;
      await page.goto(site.address({ url: balancer.url, user: 'ada', page: 'c' }));
      await isPresent('ada', true, 'c');
      await isPresent('ada', false, 'a');
      await isPresent('ada', true, 'c');
    });
  });

  test('the connection of a page gets a new token before the old one ends, and stays open', async () => {
    await open(
      async (page, tokens) => {
        // The server reports the end of a token 60 seconds before, so that of the first one at once.
        await until('the second token was fetched', () => tokens() === 2);
        const isShown = await move();
        await isShown(page);
        assert.ok(!(await statesOf(page)).some((state) => state.startsWith('reconnecting')));
      },
      [20, 600],
    );
  });

  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    test(`the connection of a page is reconnecting and then open when the server ends with ${signal} and starts again, and its user is present`, async () => {
      await open(async (page) => {
        await page.evaluate('states.length = 0');
        await scene.value.restart(signal);
        await page.waitForFunction("states.includes('reconnecting network')");
        await isOpen(page);
        const isShown = await move();
        await isShown(page);
        await isPresent('ada');
      });
    });
  }
});
