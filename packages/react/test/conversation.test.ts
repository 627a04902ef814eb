import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { signClientToken } from '../../client/src/server/index.ts';
import { skipsPages, visit } from '../../server/test/pages/chromium.ts';
import { oneHost, shows } from './support/host.ts';

const MESSAGES = '**/messages';
const text = (text: string) => [{ type: 'markdown', children: [{ text }] }];

/** The page gets this answer to each message that it sends. */
const rejectMessages = (page: Page, error = 'invalid_request', status = 400, headers = {}) =>
  page.route(MESSAGES, (route) =>
    route.request().method() === 'POST'
      ? route.fulfill({
          status,
          json: { error, message: 'no' },
          headers: { 'access-control-allow-origin': '*', ...headers },
        })
      : route.continue(),
  );

/** Holds the answers to requests of these addresses, as they were when they were made, until `release` is called. */
async function holdAnswers(page: Page, address: string) {
  const isRead = Promise.withResolvers<void>();
  const isReleased = Promise.withResolvers<void>();
  await page.route(address, async (route) => {
    const response = await route.fetch();
    isRead.resolve();
    await isReleased.promise;
    await route.fulfill({ response });
  });
  return { isRead: isRead.promise, release: isReleased.resolve };
}

const ready = (name: string, hasOlder: boolean) => ({ name, error: null, isLoading: false, hasOlder });

/** What they do with messages does not depend on the version of React. */
const react = '19';
const host = oneHost([react]);

describe(`threads and messages in Chromium`, { skip: skipsPages }, () => {
  test('useThread shows a message while it is sent, creates the thread, and shows it live to others', async () => {
    const project = await host.value.project('ada', 'bob');
    await host.value.open(react, project, 'ada', { view: 'conversation' }, async ({ page: adas }) => {
      await shows(adas, 'thread', {
        name: null,
        error: 'thread_not_found',
        isLoading: false,
        hasOlder: false,
      });
      const held = Promise.withResolvers<void>();
      await adas.route(MESSAGES, async (route) => {
        if (route.request().method() === 'POST') await held.promise;
        await route.continue();
      });
      await adas.locator('#send').click();
      await shows(adas, 'messages', ['one sending', 'two sending']);
      held.resolve();
      await shows(adas, 'messages', ['one sent', 'two sent']);
      await shows(adas, 'thread', ready('New', false));
      await shows(adas, 'threads', { isLoading: false, names: ['New 2'] });
      await host.value.open(react, project, 'bob', { view: 'conversation' }, async ({ page: bobs }) => {
        await shows(bobs, 'messages', ['one sent', 'two sent']);
        await bobs.locator('#send').click();
        await shows(adas, 'messages', ['one sent', 'two sent', 'one sent', 'two sent']);
        await bobs.locator('#create').click();
        await shows(adas, 'threads', { isLoading: false, names: ['Made 0', 'New 4'] });
      });
    });
  });

  test('useThread creates the thread in the group of the provider where the token names none', async () => {
    const project = await host.value.project('ada');
    const { id, secret } = project;
    const token = await signClientToken({ projectID: id, secret, userID: 'ada' });
    const query = { view: 'conversation', group: 'g', token };
    await host.value.open(react, project, 'ada', query, async ({ page }) => {
      await shows(page, 'threads', { isLoading: false, names: [] });
      await page.locator('#send').click();
      await shows(page, 'messages', ['one sent', 'two sent']);
      await shows(page, 'thread', ready('New', false));
    });
  });

  test('useThread loads older messages, and applies appends, changes and removals', async () => {
    const project = await host.value.project('ada');
    await project.put('/v1/threads/t', { groupID: 'g', name: 'T' });
    for (let index = 0; index < 53; index += 1) {
      const id = `m${index}`;
      await project.put(`/v1/threads/t/messages/${id}`, { authorID: 'ada', content: text(id) });
    }
    await host.value.open(react, project, 'ada', { view: 'conversation' }, async ({ page }) => {
      await shows(page, 'thread', ready('T', true));
      await page.locator('#older').click();
      await shows(page, 'thread', ready('T', false));
      const all = Array.from({ length: 53 }, (_, index) => `m${index} sent`);
      await shows(page, 'messages', all);
      await project.post('/v1/threads/t/messages/m52/append', { text: ' and more' });
      await project.put('/v1/threads/t/messages/m0', { content: text('changed') });
      await project.delete('/v1/threads/t/messages/m1');
      await shows(page, 'messages', ['changed sent', ...all.slice(2, -1), 'm52 and more sent']);
    });
  });

  test('useThread reports the error of a message that cannot be sent, and sends it again with retry', async () => {
    const project = await host.value.project('ada');
    await host.value.open(react, project, 'ada', { view: 'conversation' }, async ({ page }) => {
      await shows(page, 'threads', { isLoading: false, names: [] });
      await rejectMessages(page);
      await page.locator('#send').click();
      await shows(page, 'messages', ['one failed', 'two failed']);
      await shows(page, 'failed', 'invalid_request');
      await page.unroute(MESSAGES);
      await page.locator('#retry').click();
      await shows(page, 'messages', ['one sent', 'two failed']);
      assert.equal(await page.locator('#failed').textContent(), '"invalid_request"');
    });
  });

  test('useThread sends a message whose first five attempts do not reach the server, as during a restart', async () => {
    const project = await host.value.project('ada');
    await visit('about:blank', {}, async ({ page }) => {
      await page.clock.install();
      await page.goto(await host.value.address(react, project, 'ada', { view: 'conversation' }));
      await shows(page, 'threads', { isLoading: false, names: [] });
      let attempts = 0;
      await page.route(MESSAGES, (route) => {
        if (route.request().method() !== 'POST') return route.continue();
        attempts += 1;
        return attempts > 5 ? route.continue() : route.abort();
      });
      await page.locator('#send').click();
      let isOver = false;
      const areSent = shows(page, 'messages', ['one sent', 'two sent']).finally(() => {
        isOver = true;
      });
      while (!isOver) await page.clock.runFor(1_000);
      await areSent;
    });
  });

  test('useThread retries a message with its createThread, also when the viewer was read after it was written', async () => {
    const project = await host.value.project('ada');
    await visit('about:blank', {}, async ({ page }) => {
      const viewer = Promise.withResolvers<void>();
      await page.route('**/viewer', async (route) => {
        await viewer.promise;
        await route.continue();
      });
      await rejectMessages(page);
      await page.goto(await host.value.address(react, project, 'ada', { view: 'conversation' }));
      await page.locator('#send').click();
      await shows(page, 'messages', ['one failed', 'two failed']);
      const isRead = page.waitForResponse('**/viewer');
      viewer.resolve();
      await isRead;
      await page.unroute(MESSAGES);
      await page.locator('#retry').click();
      await shows(page, 'messages', ['one sent', 'two failed']);
      await shows(page, 'thread', ready('New', false));
    });
  });

  test('useThread applies what changes while older messages are loaded, and each message has its place', async () => {
    const project = await host.value.project('ada');
    await project.put('/v1/threads/t', { groupID: 'g', name: 'T' });
    for (let index = 0; index < 55; index += 1)
      await project.put(`/v1/threads/t/messages/m${index}`, { authorID: 'ada', content: text(`m${index}`) });
    await host.value.open(react, project, 'ada', { view: 'conversation' }, async ({ page }) => {
      await shows(page, 'thread', ready('T', true));
      const { isRead, release } = await holdAnswers(page, '**/messages?*');
      await page.locator('#older').click();
      await isRead;
      await project.put('/v1/threads/t/messages/m0', { content: text('changed') });
      await project.delete('/v1/threads/t/messages/m1');
      await project.post('/v1/threads/t/messages/m2/append', { text: ' and more' });
      await project.put('/v1/threads/t/messages/new', { authorID: 'ada', content: text('new') });
      await page.waitForFunction("document.getElementById('messages').textContent.includes('new sent')");
      release();
      await shows(page, 'thread', ready('T', false));
      const others = Array.from({ length: 52 }, (_, index) => `m${index + 3} sent`);
      await shows(page, 'messages', ['changed sent', 'm2 and more sent', ...others, 'new sent']);
    });
  });

  test('useThreads applies what changes while more threads are loaded, and each thread has its place', async () => {
    const project = await host.value.project('ada');
    const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
    for (let index = 0; index < 55; index += 1) {
      const name = `t${index}`;
      await project.put(`/v1/threads/${name}`, { groupID: 'g', name, createdTimestamp: at(index) });
    }
    await host.value.open(react, project, 'ada', { view: 'conversation' }, async ({ page }) => {
      const names = (from: number, to: number) =>
        Array.from({ length: from - to + 1 }, (_, index) => `t${from - index} 0`);
      await shows(page, 'threads', { isLoading: false, names: names(54, 5) });
      const { isRead, release } = await holdAnswers(page, '**/threads?*');
      await page.locator('#more-threads').click();
      await isRead;
      await project.delete('/v1/threads/t3');
      await project.put('/v1/threads/t0', { name: 'renamed' });
      await project.put('/v1/threads/new', { groupID: 'g', name: 'new' });
      await page.waitForFunction("document.getElementById('threads').textContent.includes('new 0')");
      release();
      const loaded = ['new 0', ...names(54, 4), 't2 0', 't1 0', 'renamed 0'];
      await shows(page, 'threads', { isLoading: false, names: loaded });
    });
  });

  test('useThread shows a message that failed while its thread was not shown, until it is retried or discarded', async () => {
    const project = await host.value.project('ada');
    await visit('about:blank', {}, async ({ page }) => {
      await page.clock.install();
      const isLeft = Promise.withResolvers<void>();
      await rejectMessages(page);
      await page.route(MESSAGES, async (route) => {
        if (route.request().method() === 'POST') await isLeft.promise;
        await route.fallback();
      });
      await page.goto(await host.value.address(react, project, 'ada', { view: 'switcher' }));
      await page.locator('#send').click();
      await shows(page, 'messages', ['one sending', 'two sending']);
      await page.locator('#to-u').click();
      const isLast = page.waitForResponse(async (response) => {
        if (response.request().method() !== 'POST') return false;
        return String(response.request().postData()).includes('two');
      });
      isLeft.resolve();
      await isLast;
      // Long enough for all that is shown no more to be forgotten, once another thread is shown.
      await page.clock.fastForward(20_000);
      await page.locator('#to-v').click();
      await shows(page, 'messages', []);
      await page.locator('#to-t').click();
      await shows(page, 'messages', ['one failed', 'two failed']);
      await page.locator('#discard').click();
      await shows(page, 'messages', ['two failed']);
      await page.unroute(MESSAGES);
      await page.locator('#retry').click();
      await shows(page, 'failed', 'thread_not_found');
    });
  });

  test('useThread shows nothing of a thread that was not shown for more than ten seconds until it is read again', async () => {
    const project = await host.value.project('ada');
    for (const id of ['t', 'u']) await project.put(`/v1/threads/${id}`, { groupID: 'g', name: id });
    await project.put('/v1/threads/t/messages/m', { authorID: 'ada', content: text('old') });
    await visit('about:blank', {}, async ({ page }) => {
      await page.clock.install();
      await page.goto(await host.value.address(react, project, 'ada', { view: 'switcher' }));
      await shows(page, 'messages', ['old sent']);
      await page.locator('#to-u').click();
      await shows(page, 'thread', ready('u', false));
      // The thread is not read any more, and then it is forgotten.
      for (const ms of [2_000, 20_000]) await page.clock.runFor(ms);
      await project.delete('/v1/threads/t/messages/m');
      const atOnce = await page.evaluate(`(async () => {
        document.getElementById('to-t').click();
        // React renders after the click, before anything else happens.
        for (let task = 0; task < 10; task += 1) await null;
        return document.getElementById('thread').textContent + document.getElementById('messages').textContent;
      })()`);
      const loading = { name: null, error: null, isLoading: true, hasOlder: false };
      assert.equal(atOnce, `${JSON.stringify(loading)}[]`);
      await shows(page, 'thread', ready('t', false));
      await shows(page, 'messages', []);
    });
  });

  test('useThread shows the thread that its message creates while it was read as missing', async () => {
    const project = await host.value.project('ada');
    await visit('about:blank', {}, async ({ page }) => {
      const isMissing = Promise.withResolvers<() => void>();
      await page.routeWebSocket('**/v1/client/socket', (socket) => {
        const server = socket.connectToServer();
        server.onMessage((frame) => {
          if (String(frame).includes('thread_not_found')) isMissing.resolve(() => socket.send(frame));
          else socket.send(frame);
        });
      });
      await page.goto(await host.value.address(react, project, 'ada', { view: 'conversation' }));
      const answer = await isMissing.promise;
      await page.locator('#send').click();
      await shows(page, 'messages', ['one sent', 'two sent']);
      answer();
      await shows(page, 'thread', ready('New', false));
      await shows(page, 'messages', ['one sent', 'two sent']);
    });
  });

  test('useThread shows a message as sent that had arrived although no response did', async () => {
    const project = await host.value.project('ada');
    await project.put('/v1/threads/t', { groupID: 'g', name: 'T' });
    await host.value.open(react, project, 'ada', { view: 'conversation' }, async ({ page }) => {
      await shows(page, 'thread', ready('T', false));
      await rejectMessages(page, 'message_already_exists', 409);
      await page.locator('#send').click();
      await shows(page, 'messages', ['one sent', 'two sent']);
    });
  });

  test('useThread shows no message of a thread that is gone, or that the viewer may not read any more, except what failed', async () => {
    const project = await host.value.project('ada');
    const gone = (error: string) => ({ name: null, error, isLoading: false, hasOlder: false });
    for (const [id, error, end] of [
      ['t', 'thread_not_found', () => project.delete('/v1/threads/t')],
      ['u', 'group_not_found', () => project.put('/v1/groups/g', { members: [] })],
    ] as const) {
      await project.put(`/v1/threads/${id}`, { groupID: 'g', name: 'T' });
      for (let count = 0; count < 51; count += 1) {
        await project.put(`/v1/threads/${id}/messages/m${count}`, {
          authorID: 'ada',
          content: [{ text: `${count}` }],
        });
      }
      await host.value.open(react, project, 'ada', { view: 'switcher' }, async ({ page }) => {
        await page.locator(`#to-${id}`).click();
        await shows(page, 'thread', ready('T', true));
        await rejectMessages(page);
        await page.locator('#send').click();
        await shows(page, 'failed', 'invalid_request');
        await end();
        await shows(page, 'thread', gone(error));
        await shows(page, 'messages', ['one failed', 'two failed']);
      });
    }
  });

  test('useThread shows a message as failed when the server does not take it for longer than half a minute', async () => {
    const project = await host.value.project('ada');
    await host.value.open(react, project, 'ada', { view: 'conversation' }, async ({ page }) => {
      const headers = { 'access-control-expose-headers': 'retry-after', 'retry-after': '3600' };
      await rejectMessages(page, 'error', 503, headers);
      await page.locator('#send').click();
      await shows(page, 'messages', ['one failed', 'two failed']);
      await page.unroute(MESSAGES);
      await page.locator('#retry').click();
      await shows(page, 'messages', ['one sent', 'two failed']);
    });
  });
});
