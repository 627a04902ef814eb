import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { skipsPages, visit } from '../../server/test/pages/chromium.ts';
import { oneHost } from './support/host.ts';

/** Waits until the page shows this value. */
const shows = (page: Page, id: string, value: unknown) =>
  page.waitForFunction(
    `document.getElementById('${id}')?.textContent === ${JSON.stringify(JSON.stringify(value))}`,
  );

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
      let release = () => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      await adas.route('**/messages', async (route) => {
        if (route.request().method() === 'POST') await held;
        await route.continue();
      });
      await adas.locator('#send').click();
      await shows(adas, 'messages', ['one sending', 'two sending']);
      release();
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

  test('useThread loads older messages, and applies appends, changes and removals', async () => {
    const project = await host.value.project('ada');
    const write = (method: string, path: string, body?: unknown) =>
      host.value.server.request(method, path, {
        token: project.token,
        ...(body !== undefined && { body }),
      });
    await write('PUT', '/v1/threads/t', { groupID: 'g', name: 'T' });
    const text = (text: string) => [{ type: 'markdown', children: [{ text }] }];
    for (let index = 0; index < 53; index += 1) {
      const id = `m${index}`;
      await write('PUT', `/v1/threads/t/messages/${id}`, { authorID: 'ada', content: text(id) });
    }
    await host.value.open(react, project, 'ada', { view: 'conversation' }, async ({ page }) => {
      await shows(page, 'thread', ready('T', true));
      await page.locator('#older').click();
      await shows(page, 'thread', ready('T', false));
      const all = Array.from({ length: 53 }, (_, index) => `m${index} sent`);
      await shows(page, 'messages', all);
      await write('POST', '/v1/threads/t/messages/m52/append', { text: ' and more' });
      await write('PUT', '/v1/threads/t/messages/m0', { content: text('changed') });
      await write('DELETE', '/v1/threads/t/messages/m1');
      await shows(page, 'messages', ['changed sent', ...all.slice(2, -1), 'm52 and more sent']);
    });
  });

  test('useThread reports the error of a message that cannot be sent, and sends it again with retry', async () => {
    const project = await host.value.project('ada');
    await host.value.open(react, project, 'ada', { view: 'conversation' }, async ({ page }) => {
      await shows(page, 'threads', { isLoading: false, names: [] });
      const body = { error: 'invalid_request', message: 'no' };
      const rejected = '**/messages';
      const headers = { 'access-control-allow-origin': '*' };
      await page.route(rejected, (route) =>
        route.request().method() === 'POST'
          ? route.fulfill({ status: 400, json: body, headers })
          : route.continue(),
      );
      await page.locator('#send').click();
      await shows(page, 'messages', ['one failed', 'two failed']);
      await shows(page, 'failed', 'invalid_request');
      await page.unroute(rejected);
      await page.locator('#retry').click();
      await shows(page, 'messages', ['one sent', 'two failed']);
      assert.equal(await page.locator('#failed').textContent(), '"invalid_request"');
    });
  });

  test('useThread retries a message with its createThread, also when the viewer was read after it was written', async () => {
    const project = await host.value.project('ada');
    await visit('about:blank', {}, async ({ page }) => {
      const headers = { 'access-control-allow-origin': '*' };
      const viewer = Promise.withResolvers<void>();
      await page.route('**/viewer', async (route) => {
        await viewer.promise;
        await route.continue();
      });
      const rejected = '**/messages';
      const body = { error: 'invalid_request', message: 'no' };
      await page.route(rejected, (route) =>
        route.request().method() === 'POST'
          ? route.fulfill({ status: 400, json: body, headers })
          : route.continue(),
      );
      await page.goto(await host.value.address(react, project, 'ada', { view: 'conversation' }));
      await page.locator('#send').click();
      await shows(page, 'messages', ['one failed', 'two failed']);
      const isRead = page.waitForResponse('**/viewer');
      viewer.resolve();
      await isRead;
      await page.unroute(rejected);
      await page.locator('#retry').click();
      await shows(page, 'messages', ['one sent', 'two failed']);
      await shows(page, 'thread', ready('New', false));
    });
  });

  test('useThread applies what changes while older messages are loaded, and each message has its place', async () => {
    const project = await host.value.project('ada');
    const write = (method: string, path: string, body?: unknown) =>
      host.value.server.request(method, path, {
        token: project.token,
        ...(body !== undefined && { body }),
      });
    await write('PUT', '/v1/threads/t', { groupID: 'g', name: 'T' });
    const text = (text: string) => [{ type: 'markdown', children: [{ text }] }];
    for (let index = 0; index < 55; index += 1)
      await write('PUT', `/v1/threads/t/messages/m${index}`, { authorID: 'ada', content: text(`m${index}`) });
    await host.value.open(react, project, 'ada', { view: 'conversation' }, async ({ page }) => {
      await shows(page, 'thread', ready('T', true));
      const isRead = Promise.withResolvers<void>();
      const isChanged = Promise.withResolvers<void>();
      await page.route('**/messages?*', async (route) => {
        const response = await route.fetch();
        isRead.resolve();
        await isChanged.promise;
        await route.fulfill({ response });
      });
      await page.locator('#older').click();
      await isRead.promise;
      await write('PUT', '/v1/threads/t/messages/m0', { content: text('changed') });
      await write('DELETE', '/v1/threads/t/messages/m1');
      await write('POST', '/v1/threads/t/messages/m2/append', { text: ' and more' });
      await write('PUT', '/v1/threads/t/messages/new', { authorID: 'ada', content: text('new') });
      await page.waitForFunction("document.getElementById('messages').textContent.includes('new sent')");
      isChanged.resolve();
      await shows(page, 'thread', ready('T', false));
      const others = Array.from({ length: 52 }, (_, index) => `m${index + 3} sent`);
      await shows(page, 'messages', ['changed sent', 'm2 and more sent', ...others, 'new sent']);
    });
  });

  test('useThreads applies what changes while more threads are loaded, and each thread has its place', async () => {
    const project = await host.value.project('ada');
    const write = (method: string, id: string, body?: unknown) =>
      host.value.server.request(method, `/v1/threads/${id}`, {
        token: project.token,
        ...(body !== undefined && { body }),
      });
    const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
    for (let index = 0; index < 55; index += 1) {
      const name = `t${index}`;
      await write('PUT', name, { groupID: 'g', name, createdTimestamp: at(index) });
    }
    await host.value.open(react, project, 'ada', { view: 'conversation' }, async ({ page }) => {
      const names = (from: number, to: number) =>
        Array.from({ length: from - to + 1 }, (_, index) => `t${from - index} 0`);
      await shows(page, 'threads', { isLoading: false, names: names(54, 5) });
      const isRead = Promise.withResolvers<void>();
      const isChanged = Promise.withResolvers<void>();
      await page.route('**/threads?*', async (route) => {
        const response = await route.fetch();
        isRead.resolve();
        await isChanged.promise;
        await route.fulfill({ response });
      });
      await page.locator('#more-threads').click();
      await isRead.promise;
      await write('DELETE', 't3');
      await write('PUT', 't0', { name: 'renamed' });
      await write('PUT', 'new', { groupID: 'g', name: 'new' });
      await page.waitForFunction("document.getElementById('threads').textContent.includes('new 0')");
      isChanged.resolve();
      const loaded = ['new 0', ...names(54, 4), 't2 0', 't1 0', 'renamed 0'];
      await shows(page, 'threads', { isLoading: false, names: loaded });
    });
  });

  test('useThread shows a message that failed while its thread was not shown, until it is retried or discarded', async () => {
    const project = await host.value.project('ada');
    await visit('about:blank', {}, async ({ page }) => {
      await page.clock.install();
      const headers = { 'access-control-allow-origin': '*' };
      const isLeft = Promise.withResolvers<void>();
      const rejected = '**/messages';
      await page.route(rejected, async (route) => {
        if (route.request().method() !== 'POST') return route.continue();
        await isLeft.promise;
        return route.fulfill({ status: 400, json: { error: 'invalid_request', message: 'no' }, headers });
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
      await page.unroute(rejected);
      await page.locator('#retry').click();
      await shows(page, 'failed', 'thread_not_found');
    });
  });

  test('useThread shows a message as sent that had arrived although no response did', async () => {
    const project = await host.value.project('ada');
    await host.value.server.request('PUT', '/v1/threads/t', {
      token: project.token,
      body: { groupID: 'g', name: 'T' },
    });
    await host.value.open(react, project, 'ada', { view: 'conversation' }, async ({ page }) => {
      await shows(page, 'thread', ready('T', false));
      const headers = { 'access-control-allow-origin': '*' };
      const taken = { error: 'message_already_exists', message: 'taken' };
      await page.route('**/messages', (route) =>
        route.request().method() === 'POST'
          ? route.fulfill({ status: 409, json: taken, headers })
          : route.continue(),
      );
      await page.locator('#send').click();
      await shows(page, 'messages', ['one sent', 'two sent']);
    });
  });

  test('useThread shows no message of a thread that is gone, or that the viewer may not read any more, except what failed', async () => {
    const project = await host.value.project('ada');
    const write = (method: string, path: string, body?: unknown) =>
      host.value.server.request(method, path, {
        token: project.token,
        ...(body !== undefined && { body }),
      });
    const gone = (error: string) => ({ name: null, error, isLoading: false, hasOlder: false });
    for (const [id, error, end] of [
      ['t', 'thread_not_found', () => write('DELETE', '/v1/threads/t')],
      ['u', 'group_not_found', () => write('PUT', '/v1/groups/g', { members: [] })],
    ] as const) {
      await write('PUT', `/v1/threads/${id}`, { groupID: 'g', name: 'T' });
      for (let count = 0; count < 51; count += 1) {
        await write('PUT', `/v1/threads/${id}/messages/m${count}`, {
          authorID: 'ada',
          content: [{ text: `${count}` }],
        });
      }
      await host.value.open(react, project, 'ada', { view: 'switcher' }, async ({ page }) => {
        await page.locator(`#to-${id}`).click();
        await shows(page, 'thread', ready('T', true));
        const headers = { 'access-control-allow-origin': '*' };
        await page.route('**/messages', (route) =>
          route.request().method() === 'POST'
            ? route.fulfill({ status: 400, json: { error: 'invalid_request', message: 'no' }, headers })
            : route.continue(),
        );
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
      const headers = {
        'access-control-allow-origin': '*',
        'access-control-expose-headers': 'retry-after',
        'retry-after': '3600',
      };
      const json = { error: 'error', message: 'the server is down for an hour' };
      await page.route('**/messages', (route) =>
        route.request().method() === 'POST'
          ? route.fulfill({ status: 503, json, headers })
          : route.continue(),
      );
      await page.locator('#send').click();
      await shows(page, 'messages', ['one failed', 'two failed']);
      await page.unroute('**/messages');
      await page.locator('#retry').click();
      await shows(page, 'messages', ['two failed', 'one sent']);
    });
  });
});
