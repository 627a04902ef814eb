import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { PresenceEntry } from '../../client/src/index.ts';
import { signClientToken } from '../../client/src/server/index.ts';
import { skipsPages, visit } from '../../server/test/pages/chromium.ts';
import { until } from '../../server/test/support/waiting.ts';
import { REACT_VERSIONS } from './support/bundle.ts';
import { oneHost, shows } from './support/host.ts';

const host = oneHost();

const shown = async (page: Page, id: string) =>
  JSON.parse(String(await page.locator(`#${id}`).textContent()));

/** A call is sent three times before it fails, and two hooks read. */
const FAILURES = 8;

/** React's development version recommends its tools on the console. */
const isNoAdvertisement = (text: string) => !text.includes('React DevTools');

for (const react of REACT_VERSIONS) {
  describe(`presence with React ${react} in Chromium`, { skip: skipsPages }, () => {
    test('two users see each other arrive and leave, in StrictMode with one stream and one presence each', async () => {
      const project = await host.value.project('ada', 'bob');
      await host.value.open(react, project, 'ada', { view: 'faces' }, async ({ page: adas, complaints }) => {
        await shows(adas, 'self', 'ada');
        await shows(adas, 'viewer', 'ADA');
        await shows(adas, 'others', []);
        await shows(adas, 'status', ['open', null]);
        await host.value.open(react, project, 'bob', { view: 'faces', page: 'b' }, async ({ page: bobs }) => {
          await shows(adas, 'others', [['bob', ['b']]]);
          await shows(bobs, 'others', [['ada', ['a']]]);
          const { text } = await host.value.server.request('GET', '/metrics');
          assert.match(text, /^rollcall_presence_streams 2$/m);
          await bobs.evaluate('unmount()');
          await shows(adas, 'others', []);
        });
        assert.deepEqual(complaints.filter(isNoAdvertisement), []);
      });
    });

    test('a page whose provider gets the client of another user shows that user, and the one before has left', async () => {
      const project = await host.value.project('ada', 'bob', 'eve');
      const { id: projectID, secret } = project;
      const other = await signClientToken({ projectID, secret, userID: 'eve', groupID: 'g' });
      await host.value.open(react, project, 'bob', { view: 'faces', page: 'b' }, async ({ page: bobs }) => {
        await host.value.open(
          react,
          project,
          'ada',
          { view: 'faces', other },
          async ({ page, complaints }) => {
            await shows(page, 'others', [['bob', ['b']]]);
            await shows(bobs, 'others', [['ada', ['a']]]);
            await page.locator('#login').click();
            await shows(page, 'viewer', 'EVE');
            await shows(page, 'self', 'eve');
            await shows(page, 'others', [['bob', ['b']]]);
            await shows(page, 'status', ['open', null]);
            await shows(bobs, 'others', [['eve', ['a']]]);
            assert.deepEqual(complaints.filter(isNoAdvertisement), []);
          },
        );
      });
    });

    test('a page whose client is closed shows nothing of what its user has read', async () => {
      const project = await host.value.project('ada', 'bob');
      const unread = { count: 0, total: null, hasMore: false, isLoading: true };
      await project.put('/v1/users/bob/presence', { groupID: 'g', location: { page: 'b' } });
      await host.value.open(react, project, 'ada', { view: 'hydrated' }, async ({ page }) => {
        await shows(page, 'viewer', 'ADA');
        await shows(page, 'others', [['bob', ['b']]]);
        await shows(page, 'members', { count: 2, total: 2, hasMore: false, isLoading: false });
        await page.locator('#create').click();
        await shows(page, 'threads', { isLoading: false, names: ['Made 0'] });
        await page.locator('#close').click();
        await shows(page, 'status', ['closed', null]);
        const showsNothing = async () => {
          await shows(page, 'viewer', null);
          await shows(page, 'others', []);
          await shows(page, 'members', unread);
          await shows(page, 'members-error', null);
          await shows(page, 'threads', { isLoading: true, names: [] });
        };
        await showsNothing();
        await page.locator('#mount').click();
        // Long enough for an error to be rendered.
        await page.evaluate('new Promise((done) => setTimeout(done, 50))');
        await showsNothing();
      });
    });

    test('a component with a selector of useOthers renders only when its selection changes', async () => {
      const project = await host.value.project('ada', 'bob', 'eve');
      await host.value.open(react, project, 'ada', { view: 'watcher' }, async ({ page }) => {
        const put = (user: string, location: Record<string, string>) =>
          project.put(`/v1/users/${user}/presence`, { groupID: 'g', location });
        await put('bob', { page: 'a' });
        await shows(page, 'others', [['bob', ['a']]]);
        const before = await shown(page, 'count');
        for (const letter of ['b', 'c', 'd']) await put('bob', { page: letter });
        await shows(page, 'others', [['bob', ['a', 'b', 'c', 'd']]]);
        assert.deepEqual(await shown(page, 'count'), before, 'the number did not change');
        await page.locator('#again').click();
        await shows(page, 'round', 1);
        assert.deepEqual(await shown(page, 'count'), before, 'the provider has the same client');
        await put('eve', { page: 'a' });
        await page.waitForFunction(`JSON.parse(document.getElementById('count').textContent).count === 2`);
      });
    });

    test('a user who is not a member gets group_not_found from useMyPresence and useConnectionStatus goes on', async () => {
      const project = await host.value.project('ada');
      await project.seed({ users: [{ id: 'out' }] });
      await host.value.open(react, project, 'out', { view: 'faces' }, async ({ page }) => {
        await shows(page, 'my-error', 'group_not_found');
        await shows(page, 'viewer', 'group_not_found');
        await shows(page, 'others', []);
      });
    });

    test('what an effect of a child publishes with update when it is mounted is the data of the presence', async () => {
      const project = await host.value.project('ada');
      await host.value.open(react, project, 'ada', { view: 'published' }, async ({ page }) => {
        await shows(page, 'published', [{ tool: 'pen' }]);
      });
    });

    test('useMyPresence goes to a location without the region of before, and on after one that is rejected', async () => {
      const project = await host.value.project('ada');
      await host.value.open(react, project, 'ada', { view: 'walker' }, async ({ page }) => {
        await shows(page, 'where', [{ page: 'a', part: '1' }]);
        await page.locator('#next').click();
        await shows(page, 'where', [{ list: 'x' }]);
        await shows(page, 'my-error', null);
        await page.locator('#next').click();
        await shows(page, 'my-error', 'invalid_field');
        await page.locator('#next').click();
        await shows(page, 'where', [{ list: 'y' }]);
        await shows(page, 'my-error', null);
      });
    });

    test('useMyPresence goes on to a location that comes while the one before is rejected, or left', async () => {
      const project = await host.value.project('ada');
      await visit('about:blank', {}, async ({ page }) => {
        let isLast = false;
        let leave: (() => void) | undefined;
        await page.routeWebSocket('**/v1/client/socket', (socket) => {
          const server = socket.connectToServer();
          socket.onMessage((frame) => {
            const send = () => server.send(frame);
            if (isLast && JSON.parse(String(frame)).op === 'absent') leave = send;
            else send();
          });
        });
        await page.goto(await host.value.address(react, project, 'ada', { view: 'walker' }));
        await shows(page, 'where', [{ page: 'a', part: '1' }]);
        await page.locator('#next').click();
        await shows(page, 'where', [{ list: 'x' }]);
        const next = "document.getElementById('next').click();";
        // The second step comes after the first one is sent, and before it is rejected.
        await page.evaluate(
          `(async () => { ${next} for (let task = 0; task < 50; task += 1) await null; ${next} })()`,
        );
        await shows(page, 'where', [{ list: 'y' }]);
        await shows(page, 'my-error', null);
        isLast = true;
        await page.locator('#next').click();
        await until('the page leaves', () => leave !== undefined);
        await page.locator('#next').click();
        leave?.();
        await shows(page, 'where', [{ list: 'z' }]);
        await shows(page, 'my-error', null);
      });
    });

    test('useViewer, useSelf and useMembers read again after errors that pass', async () => {
      const project = await host.value.project('ada', 'bob');
      await visit('about:blank', {}, async ({ page }) => {
        let failed = 0;
        const headers = { 'access-control-allow-origin': '*' };
        await page.route(/\/(viewer|members\?.*)$/, (route) => {
          if (route.request().method() === 'OPTIONS' || failed >= FAILURES) return route.continue();
          failed += 1;
          return route.fulfill({ status: 503, headers, json: { error: 'error', message: 'no' } });
        });
        await page.goto(await host.value.address(react, project, 'ada', { view: 'everything' }));
        await shows(page, 'viewer', 'error');
        await shows(page, 'viewer', 'ADA');
        await shows(page, 'self', 'ada');
        await shows(page, 'members', { count: 2, total: 2, hasMore: false, isLoading: false });
        assert.equal(failed, FAILURES);
      });
    });

    test('what ended with user_not_found is read again when the client is connected again', async () => {
      const project = await host.value.project('ada');
      await host.value.open(react, project, 'new', { view: 'walker' }, async ({ page }) => {
        await shows(page, 'my-error', 'user_not_found');
        await project.seed({ users: [{ id: 'new' }], groups: [{ id: 'g', members: ['ada', 'new'] }] });
        await page.locator('#next').click();
        await shows(page, 'where', [{ list: 'x' }]);
        await shows(page, 'my-error', null);
      });
    });

    test('a user whose presence ended with user_not_found is present when the client is connected again', async () => {
      const project = await host.value.project('ada');
      await host.value.open(react, project, 'new', { view: 'returning' }, async ({ page }) => {
        await shows(page, 'my-error', 'user_not_found');
        await project.seed({ users: [{ id: 'new' }], groups: [{ id: 'g', members: ['ada', 'new'] }] });
        // Another thread is read, through a new connection.
        await page.locator('#to-u').click();
        await shows(page, 'my-error', null);
        await until('the user is present', async () => {
          const reading = await project.get('/v1/users/new/presence?groupID=g');
          return reading.json<PresenceEntry>().ephemeral.locations.length === 1;
        });
      });
    });

    test('useMembers reports missing_field for a viewer of two groups where none is named', async () => {
      const project = await host.value.project('ada');
      await project.seed({ groups: [{ id: 'h', name: 'H', members: ['ada'] }] });
      const { id, secret } = project;
      const token = await signClientToken({ projectID: id, secret, userID: 'ada' });
      const address = await host.value.address(react, project, 'ada', { view: 'members', token });
      await visit(address, {}, async ({ page }) => {
        await shows(page, 'members-error', 'missing_field');
        await shows(page, 'members', { count: 0, total: null, hasMore: false, isLoading: false });
      });
    });

    test('useMembers loads the members page by page', async () => {
      const ids = Array.from({ length: 150 }, (_, index) => `user-${index}`);
      const project = await host.value.project('ada', ...ids);
      await host.value.open(react, project, 'ada', { view: 'members' }, async ({ page }) => {
        await shows(page, 'members', { count: 100, total: 151, hasMore: true, isLoading: false });
        await page.locator('#more-members').click();
        await shows(page, 'members', { count: 151, total: 151, hasMore: false, isLoading: false });
      });
    });
  });
}
