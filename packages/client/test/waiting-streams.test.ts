/** Tabs of one browser profile that have four streams and wait for another one. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { skipsPages } from '../../server/test/pages/chromium.ts';
import {
  hasReason,
  IMPATIENT,
  type Scene,
  STOP_CLOCK,
  shows,
  snapshot,
  watch,
  withScene,
  write,
} from './support/page-tabs.ts';
import type { Received } from './support/scripted-server.ts';
import { written } from './support/scripted-streams.ts';

const watchMessages = (tab: Page, thread: string) =>
  tab.evaluate(`void watch(client.threads.messages('${thread}'))`);

/** A tab that has all of the streams. */
async function greedyTab({ opened, tab }: Scene): Promise<Page> {
  const greedy = await tab();
  for (const [index, thread] of ['t', 'u', 'v', 'w'].entries()) {
    await watchMessages(greedy, thread);
    await opened(index);
  }
  return greedy;
}

describe('a tab that waits for a stream', { skip: skipsPages }, () => {
  test('a tab that follows a shared stream waits as long as the tab that reads it waits for a connection', async () => {
    await withScene(async (scene) => {
      const { opened, tab, streams } = scene;
      const leading = await greedyTab(scene);
      await watch(leading);
      await hasReason(leading);
      const following = await tab();
      await following.evaluate(STOP_CLOCK);
      await watch(following, IMPATIENT);
      write(await opened(4), snapshot('e-0'));
      await shows(following, 'snapshot');
      await hasReason(following);
      const checks = await following.evaluate<number>('now += 1_000, checks');
      await following.waitForFunction(`checks > ${checks} + 1`);
      assert.deepEqual(await following.evaluate('retries'), []);
      assert.equal(streams.length, 5);
    });
  });

  test('a tab that waits for a stream takes one of several that are given back at once, and no other', async () => {
    await withScene(async (scene) => {
      const { opened, tab } = scene;
      const greedy = await greedyTab(scene);
      const waiting = await tab();
      await watchMessages(waiting, 'x');
      await hasReason(waiting);
      await greedy.close();
      await opened(4);
      for (const [index, thread] of ['y', 'z', 'a'].entries()) {
        await watchMessages(await tab(), thread);
        await opened(5 + index);
      }
    });
  });

  test('a client whose watches wait for a stream ends them when it is closed', async () => {
    await withScene(async (scene) => {
      await greedyTab(scene);
      const waiting = await scene.tab();
      await waiting.evaluate(
        "window.watching = ['x', 'y'].map((thread) => watch(client.threads.messages(thread))); void 0",
      );
      await hasReason(waiting);
      await waiting.evaluate('client.close().then(() => Promise.all(watching)).then(() => 0)');
      assert.equal(scene.streams.length, 4);
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
      await hasReason(page);
      await opened(3);
      assert.equal(streams.length, 4);
      await (tabs[1] as Page).close();
      await opened(4);
    });
  });
});
