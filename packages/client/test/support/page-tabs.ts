/** Tabs of one browser profile, without sockets, and a scripted server whose streams a test writes. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { visit } from '../../../server/test/pages/chromium.ts';
import { suiteResource } from '../../../server/test/support/suite-resource.ts';
import { until } from '../../../server/test/support/waiting.ts';
import { signClientToken } from '../../src/server/index.ts';
import { type PageSite, withPageSite } from './page-site.ts';
import { type Received, type Script, withScriptedServer } from './scripted-server.ts';
import { stream, written } from './scripted-streams.ts';

/** `watch` begins to watch; `messages` counts what other tabs have published; `suspend` blocks the tab's thread. */
const PROGRAM = `
import { RollcallClient } from '/client.js';
const parameters = new URLSearchParams(location.search);
window.messages = 0;
window.channels = [];
globalThis.BroadcastChannel = class extends BroadcastChannel {
  constructor(name) {
    super(name);
    channels.push(name);
    this.addEventListener('message', () => { window.messages += 1; });
  }
};
window.client = new RollcallClient({ url: parameters.get('url'), token: parameters.get('token'), socket: false });
window.events = [];
window.retries = [];
const onRetry = ({ code, message }, delayMs) => retries.push({ code, message, delayMs });
window.watch = async (resource, handle = () => {}, options = {}) => {
  for await (const event of resource.watch({ ...options, onRetry })) {
    events.push([event.type, event.id, event.text].filter((part) => part !== undefined).join(' '));
    await handle(event);
  }
};
window.suspend = () => {
  const request = new XMLHttpRequest();
  request.open('GET', parameters.get('url') + '/resume', false);
  request.send();
};
`;

const site = suiteResource<PageSite>((use) => withPageSite(PROGRAM, use));

export interface Scene {
  /** The streams that were opened, in order. */
  readonly streams: readonly Received[];
  /** Resolves with a stream once it was opened. */
  opened(index: number): Promise<Received>;
  /** A new tab. */
  tab(): Promise<Page>;
  /** Lets the suspended tab go on. */
  resume(): void;
}

/** Runs `use` with a server that opens every stream and writes nothing. */
export const withScene = async (use: (scene: Scene) => Promise<void>) => {
  const streams: Received[] = [];
  let suspended: Received | undefined;
  const script: Script = (request) => {
    const { method, url, response } = request;
    response.setHeader('access-control-allow-origin', '*');
    response.setHeader('access-control-allow-headers', '*, authorization');
    if (method === 'OPTIONS') response.writeHead(204).end();
    else if (url === '/resume') suspended = request;
    else {
      stream(request);
      streams.push(request);
    }
  };
  await withScriptedServer(script, (server) =>
    visit('about:blank', {}, async ({ page }) => {
      const token = await signClientToken({
        projectID: 'p',
        secret: 's'.repeat(32),
        userID: 'ada',
        groupID: 'g',
      });
      const address = site.value.address({ url: server.url, token });
      await use({
        streams,
        opened: async (index) => {
          await until(`stream ${index} was opened`, () => streams.length > index);
          return streams[index] as Received;
        },
        tab: async () => {
          const tab = await page.context().newPage();
          await tab.goto(address);
          await tab.waitForFunction('window.suspend');
          return tab;
        },
        resume: () => suspended?.response.end(),
      });
    }),
  );
};

export const write = ({ response }: Received, ...texts: string[]) => response.write(texts.join(''));
export const snapshot = (id: string) => written(id, 'snapshot', { users: [], messages: [], threads: [] });
export const arrived = (id: string, user: string) => written(id, 'arrived', { id: user, location: {} });

/** Begins to watch presence; does not wait for the end. */
export const watch = (tab: Page, options = '{}') =>
  tab.evaluate(`void watch(client.presence, undefined, ${options})`);

export const shows = async (tab: Page, ...events: string[]) => {
  await tab.waitForFunction(`events.length >= ${events.length}`);
  assert.deepEqual(await tab.evaluate('events'), events);
};

/** However long a step of the test takes, no time passes for the tab. `checks` counts how often it has compared the time. */
export const STOP_CLOCK = `
  window.now = Date.now();
  Date.now = () => now;
  window.checks = 0;
  const { setInterval: every } = window;
  window.setInterval = (check, ms) => every(() => { check(); checks += 1; }, ms);
`;
/** Four times in that, a tab checks whether anything has come. */
export const IMPATIENT = '{ deadAfterMs: 400 }';

export const isOpen = (tab: Page) => tab.waitForFunction("client.status.get().state === 'open'");

export const hasReason = (tab: Page) =>
  tab.waitForFunction("client.status.get().reason?.message.startsWith('this browser has 4 streams')");
