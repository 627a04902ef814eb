/** Tabs of one browser profile that share the streams of a scripted server. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { skipsPages, visit } from '../../server/test/pages/chromium.ts';
import { suiteResource } from '../../server/test/support/suite-resource.ts';
import { until } from '../../server/test/support/waiting.ts';
import { signClientToken } from '../src/server/index.ts';
import { type PageSite, withPageSite } from './support/page-site.ts';
import { type Received, type Script, withScriptedServer } from './support/scripted-server.ts';
import { errorEvent, SOON, stream, written } from './support/scripted-streams.ts';

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

interface Scene {
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
const withScene = async (use: (scene: Scene) => Promise<void>) => {
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

const write = ({ response }: Received, ...texts: string[]) => response.write(texts.join(''));
const snapshot = (id: string) => written(id, 'snapshot', { users: [], messages: [], threads: [] });
const arrived = (id: string, user: string) => written(id, 'arrived', { id: user, location: {} });

/** Begins to watch presence; does not wait for the end. */
const watch = (tab: Page, options = '{}') =>
  tab.evaluate(`void watch(client.presence, undefined, ${options})`);

const shows = async (tab: Page, ...events: string[]) => {
  await tab.waitForFunction(`events.length >= ${events.length}`);
  assert.deepEqual(await tab.evaluate('events'), events);
};

const isOpen = (tab: Page) => tab.waitForFunction("client.status.get().state === 'open'");

/**
 * Opens a tab that reads the stream from the snapshot `e-0`, and one that follows it from another snapshot.
 * @param before runs in the following tab before it watches
 */
async function leadAndFollow({ opened, tab }: Scene, id: string, options = '{}', before = '') {
  const leading = await tab();
  await watch(leading);
  const source = await opened(0);
  write(source, snapshot('e-0'));
  await shows(leading, 'snapshot');
  const following = await tab();
  await following.evaluate(before);
  await watch(following, options);
  write(await opened(1), snapshot(id));
  await shows(following, 'snapshot');
  await isOpen(following);
  return { leading, following, source };
}

describe('a stream that tabs share', { skip: skipsPages }, () => {
  test('a shared stream gives a later tab all events after the offset of its snapshot, and none before it', async () => {
    await withScene(async (scene) => {
      const { following, source } = await leadAndFollow(scene, 'e-4');
      // The server gives the ID of an offset to the last one of its events, and the ID before to the others.
      write(
        source,
        arrived('e-3', 'ada'),
        arrived('e-4', 'bob'),
        arrived('e-4', 'cyd'),
        arrived('e-5', 'dan'),
      );
      await shows(following, 'snapshot', 'arrived bob', 'arrived cyd', 'arrived dan');
    });
  });

  test('a tab of a shared stream ignores what other scripts of the origin send on its channel', async () => {
    await withScene(async (scene) => {
      const { leading, following, source } = await leadAndFollow(scene, 'e-0');
      for (const tab of [leading, following]) {
        await tab.evaluate('window.thrown = [], void (window.onerror = (message) => thrown.push(message))');
        await tab.evaluate(`
          for (const message of [null, 1, 'text', [], {}, { kind: 'other' }, { kind: 'state' }, { kind: 'chunk' },
            { kind: 'chunk', session: 's', chunk: {} }, { kind: 'chunk', session: 's', chunk: { messages: [null], lastId: '' } }])
            new BroadcastChannel(channels[0]).postMessage(message);
        `);
      }
      write(source, arrived('e-1', 'bob'));
      for (const tab of [leading, following]) {
        await shows(tab, 'snapshot', 'arrived bob');
        assert.deepEqual(await tab.evaluate('[thrown, retries, client.status.get().state]'), [
          [],
          [],
          'open',
        ]);
      }
      assert.equal(scene.streams.length, 2);
    });
  });

  test('a tab of a shared stream can wait for another watch while it handles a snapshot', async () => {
    await withScene(async (scene) => {
      const { opened, tab, streams } = scene;
      const leading = await tab();
      await watch(leading);
      write(await opened(0), snapshot('e-0'));
      await leading.evaluate('void watch(client.threads)');
      write(await opened(1), snapshot('e-0'));
      await shows(leading, 'snapshot', 'snapshot');
      const following = await tab();
      await following.evaluate(
        "void watch(client.presence, async ({ type }) => { if (type === 'snapshot') await client.threads.watch().next(); events.push('both'); })",
      );
      write(await opened(2), snapshot('e-0'));
      write(await opened(3), snapshot('e-0'));
      await shows(following, 'snapshot', 'both');
      assert.match(String(streams[3]?.url), /threads/);
    });
  });

  test('a shared stream is read by another tab when its reading tab is suspended, and that tab follows when it resumes', async () => {
    await withScene(async (scene) => {
      // However long it takes here until the first heartbeat, no time passes for the tab.
      const stopClock = `
        window.now = Date.now();
        window.checks = 0;
        Date.now = () => { checks += 1; return now; };
      `;
      const options = '{ deadAfterMs: 400 }';
      const { leading, following, source } = await leadAndFollow(scene, 'e-0', options, stopClock);
      // Heartbeats show that the stream is read.
      for (const heartbeat of [1, 2, 3]) {
        const messages = await following.evaluate<number>('messages');
        write(source, ':\n\n');
        await following.waitForFunction(`messages > ${messages}`);
        const checks = await following.evaluate<number>('now += 300, checks');
        await following.waitForFunction(`checks > ${checks}`);
        assert.deepEqual(await following.evaluate('retries'), [], `after heartbeat ${heartbeat}`);
      }
      await leading.evaluate('void setTimeout(suspend)');
      await following.evaluate('void (now += 500)');
      await following.waitForFunction('retries.length > 0');
      assert.equal(await following.evaluate('retries[0].code'), 'timeout');
      const next = await scene.opened(2);
      assert.equal(next.headers['last-event-id'], 'e-0');
      write(next, arrived('e-1', 'bob'));
      await shows(following, 'snapshot', 'arrived bob');
      scene.resume();
      write(await scene.opened(3), snapshot('e-1'));
      await shows(leading, 'snapshot', 'snapshot');
      write(next, arrived('e-2', 'cyd'));
      await shows(leading, 'snapshot', 'snapshot', 'arrived cyd');
      await shows(following, 'snapshot', 'arrived bob', 'arrived cyd');
      assert.equal(await leading.evaluate('retries[0].message'), 'another tab reads the stream now');
      assert.equal(scene.streams.length, 4);
    });
  });

  test('a shared stream gives all of its tabs the delay that the server sets for reconnecting', async () => {
    await withScene(async (scene) => {
      const { leading, following, source } = await leadAndFollow(scene, 'e-0');
      const tabs = [leading, following];
      write(source, SOON, arrived('e-1', 'bob'));
      for (const tab of tabs) await shows(tab, 'snapshot', 'arrived bob');
      // The following tab gets the error of the stream, or has its lock before, and then the error of a stream of its own.
      await until('both tabs have got an error', async () => {
        for (const open of scene.streams) if (!open.response.destroyed) write(open, errorEvent('error'));
        const retries = await Promise.all(tabs.map((tab) => tab.evaluate<number>('retries.length')));
        return !retries.includes(0);
      });
      for (const tab of tabs) {
        const { code, delayMs } = await tab.evaluate<{ code: string; delayMs: number }>('retries[0]');
        assert.equal(code, 'error');
        assert.ok(delayMs <= 4, `${delayMs} ms`);
      }
    });
  });
});

describe('the messages of a thread', { skip: skipsPages }, () => {
  test('the messages of a thread have a stream in each tab, which appends a text once, and four streams at most', async () => {
    await withScene(async ({ opened, tab, streams }) => {
      const tabs = [await tab(), await tab()];
      const appended = (id: string, text: string) => written(id, 'appended', { id: 'm', text, length: 9 });
      for (const [index, page] of tabs.entries()) {
        await page.evaluate("void watch(client.threads.messages('t'))");
        write(await opened(index), snapshot(`e-${index}`));
        await shows(page, 'snapshot');
      }
      // The first tab has not received the text of e-1 yet, which the snapshot of the second one has.
      write(streams[0] as Received, appended('e-2', 'one two'));
      write(streams[1] as Received, appended('e-2', 'two'));
      await shows(tabs[0] as Page, 'snapshot', 'appended m one two');
      await shows(tabs[1] as Page, 'snapshot', 'appended m two');
      const [page] = tabs as [Page];
      for (const thread of ['u', 'v', 'w'])
        await page.evaluate(`void watch(client.threads.messages('${thread}'))`);
      await page.waitForFunction(
        "client.status.get().reason?.message.startsWith('this browser has 4 streams')",
      );
      await opened(3);
      assert.equal(streams.length, 4);
      await (tabs[1] as Page).close();
      await opened(4);
    });
  });
});
