import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { type FacepileServer, startFacepile } from '../../../examples/facepile/facepile-server.ts';
import {
  startTemporaryRollcall,
  type TemporaryRollcall,
} from '../../../examples/facepile/temporary-rollcall.ts';
import { skipsPages, type Visit, visit } from '../../server/test/pages/chromium.ts';

let rollcall: TemporaryRollcall;
let facepile: FacepileServer;

before(async () => {
  facepile = await startFacepile(0, async (origin) => {
    rollcall = await startTemporaryRollcall(origin);
    return rollcall;
  });
});

after(async () => {
  await facepile.close();
  await rollcall.close();
});

/** Opens the page as somebody, and leaves it as people do: what a test closes by force would be present for a while. */
const open = (user: string, use: (visit: Visit) => Promise<void>, options = {}) =>
  visit(`${facepile.url}/?user=${user}`, options, async (visited) => {
    await use(visited);
    if (!visited.page.isClosed()) await visited.page.goto('about:blank');
  });

/** Waits until the page shows these people beside this section, in any order. */
const shows = (page: Page, section: string, users: string[]) =>
  page.waitForFunction(
    `JSON.stringify([...document.querySelectorAll('.avatar[data-user][data-section="${section}"]')]
      .map(({ dataset }) => dataset.user).sort()) === ${JSON.stringify(JSON.stringify(users.sort()))}`,
    undefined,
    { timeout: 10_000 },
  );

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
        // Long before it expires: the page says so when it goes.
        await adas.waitForFunction("document.querySelector('[data-user=bruno]') === null", undefined, {
          timeout: 5_000,
        });
      });
      assert.match(String(await adas.locator('#status').textContent()), /^Live · 1 here$/);
      assert.deepEqual(complaints, []);
    });
  });

  test('whoever scrolls is where they read, and the avatar wanders there', async () => {
    await open('ada', async ({ page }) => {
      await shows(page, 'summary', ['ada']);
      const top = "document.querySelector('[data-user=ada]').getBoundingClientRect().top + scrollY";
      const before = await page.evaluate<number>(top);
      await page.evaluate("document.querySelector('#questions').scrollIntoView()");
      await shows(page, 'questions', ['ada']);
      await page.waitForFunction(`${top} > ${before + 400}`);
    });
  });

  test('whoever goes to another page and comes back is away meanwhile', async () => {
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
    test(`fits a window of ${width} pixels`, async () => {
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

  test('has a name for everything that can be chosen', async () => {
    await open('ada', async ({ page }) => {
      await shows(page, 'summary', ['ada']);
      await page.getByLabel('You are').selectOption('Dmitri Lund');
      await shows(page, 'summary', ['dmitri']);
      assert.equal(await page.getByRole('button', { name: 'Go to where Dmitri Lund is' }).isEnabled(), true);
      assert.equal(
        await page.getByRole('button', { name: 'Go to where Femi Adeyemi is' }).isEnabled(),
        false,
      );
    });
  });

  test('asks nobody but its own server and Rollcall', async () => {
    await open('ada', async ({ page, requests }) => {
      await shows(page, 'summary', ['ada']);
      const origins = new Set(
        requests.map((url) => new URL(url).origin).filter((origin) => origin !== 'null'),
      );
      assert.deepEqual([...origins].sort(), [facepile.url, rollcall.url].sort());
    });
  });
});

test('npm run example starts it, gives everybody another name, and ends without a trace', async () => {
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
