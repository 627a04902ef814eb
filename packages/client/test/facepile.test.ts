import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pino } from 'pino';
import type { Page } from 'playwright-core';
import { type FacepileServer, GROUP, startFacepile } from '../../../examples/facepile/facepile-server.ts';
import { signToken } from '../../../examples/facepile/sign-token.ts';
import { start } from '../../server/src/start.ts';
import { skipsPages, type Visit, visit } from '../../server/test/pages/chromium.ts';
import { MovedClock } from '../../server/test/support/moved-clock.ts';
import { testSettings } from '../../server/test/support/server.ts';
import { until } from '../../server/test/support/waiting.ts';
import { Rollcall } from '../src/index.ts';

/** The server's clock stands still at this much after the machine's, so that tokens signed later are not from the future. */
const AHEAD_MS = 600_000;

let rollcall: { readonly url: string; close(): Promise<void> };
let host: Rollcall;
let facepile: FacepileServer;
let dataDir: string;

before(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'rollcall-facepile-'));
  facepile = await startFacepile(0, async (origin) => {
    const settings = testSettings(dataDir, { corsOrigins: origin });
    // The clock stands still, so no presence expires: every departure was sent.
    const clock = new MovedClock(Date.now() + AHEAD_MS);
    rollcall = await start(settings, { clock, log: pino({ level: 'silent' }), announce: () => {} });
    const { projectId, projectSecret } = settings;
    const service = { url: rollcall.url, projectId: projectId as string, secret: projectSecret as string };
    host = new Rollcall({ url: service.url, token: () => signToken(service) });
    return service;
  });
});

after(async () => {
  await facepile.close();
  await host.close();
  await rollcall.close();
  await rm(dataDir, { recursive: true, force: true });
});

/** Opens the page as a user, and navigates away at the end: a killed browser would send no absence. */
const open = (user: string, use: (visit: Visit) => Promise<void>, options = {}) =>
  visit(`${facepile.url}/?user=${user}`, options, async (visited) => {
    const { page } = visited;
    await use(visited);
    if (!page.isClosed()) await page.goto('about:blank');
    await until(`${user} is absent`, async () => !(await present()).includes(user));
  });

const present = async () => (await Array.fromAsync(host.presence.list(GROUP))).map(({ id }) => id);

/** Waits until the page shows these users beside this section, in any order. */
const shows = (page: Page, section: string, users: string[]) =>
  page.waitForFunction(
    `JSON.stringify([...document.querySelectorAll('.avatar[data-user][data-section="${section}"]')]
      .map(({ dataset }) => dataset.user).sort()) === ${JSON.stringify(JSON.stringify(users.sort()))}`,
  );

const isGone = (page: Page, user: string) =>
  page.waitForFunction(`document.querySelector('[data-user=${user}]') === null`);

describe('the facepile example in Chromium', { skip: skipsPages }, () => {
  test('two people see each other arrive, move and leave', async () => {
    await open('ada', async ({ page: adas, complaints }) => {
      await shows(adas, 'summary', ['ada']);
      await open('bruno', async ({ page: brunos }) => {
        await shows(adas, 'summary', ['ada', 'bruno']);
        await shows(brunos, 'summary', ['ada', 'bruno']);
        assert.match(String(await adas.locator('#summary .names').textContent()), /^you, Bruno$/);

        await brunos.locator('#risks').scrollIntoViewIfNeeded();
        await brunos.locator('#risks h2').click();
        await shows(adas, 'risks', ['bruno']);
        await shows(adas, 'summary', ['ada']);
        assert.equal(
          await adas.locator('[role=status]').textContent(),
          'Bruno is reading "What may go wrong"',
        );

        await adas.locator('#goals h2').click();
        await shows(brunos, 'goals', ['ada']);

        await brunos.close({ runBeforeUnload: true });
        await isGone(adas, 'bruno');
      });
      assert.match(String(await adas.locator('#status').textContent()), /^Live · 1 here$/);
      assert.deepEqual(complaints, []);
    });
  });

  test('a user with two tabs at one location is present until the last one is closed', async () => {
    await open('ada', async ({ page: first }) => {
      await shows(first, 'summary', ['ada']);
      const second = await first.context().newPage();
      await second.goto(first.url());
      await shows(second, 'summary', ['ada']);
      const events = host.presence.watch({ groupID: GROUP });
      await events.next();
      const closed = first.waitForEvent('close');
      await first.close({ runBeforeUnload: true });
      await closed;
      // What the server has published so far comes before this arrival.
      await host.presence.put('bruno', { groupID: GROUP, location: { page: 'elsewhere' } });
      for await (const event of events) {
        assert.notEqual(event.type, 'departed', 'ada is still present in the other tab');
        if (event.type === 'arrived' && event.id === 'bruno') break;
      }
      assert.ok((await present()).includes('ada'));
      await host.presence.put('bruno', { groupID: GROUP, location: { page: 'elsewhere' }, absent: true });
      await second.close({ runBeforeUnload: true });
    });
  });

  test('a user whose tab moved just before it was closed is absent', async () => {
    await open('ada', async ({ page: adas }) => {
      await open('femi', async ({ page: femis }) => {
        await shows(adas, 'summary', ['ada', 'femi']);
        // What is under way is given up, and the server may have it or not.
        await femis.evaluate("document.querySelector('#goals h2').click()");
        await femis.close({ runBeforeUnload: true });
        await isGone(adas, 'femi');
      });
    });
  });

  test('a user who scrolls moves to the section that they read, and so does the avatar', async () => {
    await open('ada', async ({ page }) => {
      await shows(page, 'summary', ['ada']);
      const top = "document.querySelector('[data-user=ada]').getBoundingClientRect().top + scrollY";
      const before = await page.evaluate<number>(top);
      await page.evaluate("document.querySelector('#questions').scrollIntoView()");
      await shows(page, 'questions', ['ada']);
      await page.waitForFunction(`${top} > ${before + 400}`);
    });
  });

  test('a user is absent while their tab shows another page, and present after they come back', async () => {
    await open('ada', async ({ page: adas }) => {
      await open('carmen', async ({ page: carmens }) => {
        await shows(adas, 'summary', ['ada', 'carmen']);
        await carmens.goto(`${facepile.url}/avatars/carmen.svg`);
        await shows(adas, 'summary', ['ada']);
        await carmens.goBack();
        await shows(adas, 'summary', ['ada', 'carmen']);
      });
    });
  });

  for (const width of [360, 768, 1000, 1440]) {
    test(`the page fits a window of ${width} pixels`, async () => {
      const options = { viewport: { width, height: 800 } };
      const fits = async ({ page }: Visit) => {
        await shows(page, 'summary', ['esme']);
        const [needed, given] = await page.evaluate<[number, number]>(
          '[document.documentElement.scrollWidth, innerWidth]',
        );
        assert.ok(needed <= given, `${needed} of ${given} pixels`);
      };
      await open('esme', fits, options);
    });
  }

  test('every control of the page has an accessible name', async () => {
    await open('ada', async ({ page }) => {
      await shows(page, 'summary', ['ada']);
      await page.getByLabel('You are').selectOption('Dmitri Lund');
      await shows(page, 'summary', ['dmitri']);
      assert.deepEqual(await present(), ['dmitri']);
      assert.equal(await page.getByRole('button', { name: 'Go to where Dmitri Lund is' }).isEnabled(), true);
      assert.equal(
        await page.getByRole('button', { name: 'Go to where Femi Adeyemi is' }).isEnabled(),
        false,
      );
      await page.goto('about:blank');
      await until('no user is present', async () => (await present()).length === 0);
    });
  });

  test('the page sends requests to its own server and to Rollcall only', async () => {
    await open('ada', async ({ page, requests }) => {
      await shows(page, 'summary', ['ada']);
      const origins = new Set(
        requests.map((url) => new URL(url).origin).filter((origin) => origin !== 'null'),
      );
      assert.deepEqual([...origins].sort(), [facepile.url, rollcall.url].sort());
    });
  });
});

test('npm run example starts the page, gives each visitor another user, and removes everything at the end', async () => {
  const root = join(import.meta.dirname, '../../..');
  const child = spawn('npm', ['run', '--silent', 'example'], { cwd: root, detached: true });
  try {
    let printed = '';
    while (!/http:\S+/.test(printed)) printed += (await once(child.stdout, 'data'))[0];
    const [url = ''] = /http:\S+/.exec(printed) ?? [];
    const first = await fetch(url);
    const second = await fetch(url);
    assert.deepEqual([first.status, second.status], [200, 200]);
    assert.notEqual(first.url, second.url);
    assert.equal((await fetch(`${url}/client/../../package.json`)).status, 404);
    assert.equal((await fetch(`${url}/client/..%2f..%2fpackage.json`)).status, 404);
    assert.equal((await fetch(`${url}/token?user=nobody`)).status, 404);
    process.kill(-(child.pid ?? 0), 'SIGINT');
    const [code] = await once(child, 'close');
    assert.ok(code === 0 || code === 130 || code === null, `exit code ${code}`);
    await assert.rejects(fetch(url));
  } finally {
    if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid ?? 0), 'SIGKILL');
  }
});
