import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { GROUP } from '../../../examples/document/document-server.ts';
import type { PresenceWatch } from '../../client/src/index.ts';
import { skipsPages, type Visit } from '../../server/test/pages/chromium.ts';
import { until } from '../../server/test/support/waiting.ts';
import { oneExample, type Way } from './support/document-example.ts';

const WAYS: readonly Way[] = ['through a socket', 'without WebSocket'];

const example = oneExample();
const open: (typeof example.value)['open'] = (...args) => example.value.open(...args);
const present = () => example.value.present();

/** Waits until the faces of these users are beside a section, and no others. */
async function shows(page: Page, title: string, ...names: string[]): Promise<void> {
  const faces = page.getByRole('list', { name: `Reading ${title}` }).getByRole('img');
  await until(`${names} are beside "${title}"`, async () => {
    const shown = await Promise.all((await faces.all()).map((face) => face.ariaSnapshot()));
    return JSON.stringify(shown.sort()) === JSON.stringify(names.map((name) => `- img "${name}"`).sort());
  });
}

/** Waits for the arrival of a user in a section. */
async function isAt(events: PresenceWatch, section: string): Promise<void> {
  for (;;) {
    const { value } = await events.next();
    assert.ok(value !== undefined, 'the watch has ended');
    if (value.type === 'arrived' && value.location.section === section) return;
  }
}

/** Closes a tab as a user does, and waits until it is closed. */
async function closeTab(tab: Page): Promise<void> {
  const closed = tab.waitForEvent('close');
  await tab.close({ runBeforeUnload: true });
  await closed;
}

/** The thread of a section is missing until its first comment; the browser reports that answer. */
const isUnexpected = (text: string) => !/React DevTools|\[vite\]|404 \(Not Found\)/.test(text);

describe('presence in the document example in Chromium', { skip: skipsPages }, () => {
  test('two people see each other arrive, move and leave', async () => {
    await open('ada', async ({ page: adas, complaints }) => {
      await open('bruno', async ({ page: brunos }) => {
        await shows(adas, 'In short', 'Bruno Sato');
        await shows(brunos, 'In short', 'Ada Okafor');
        await brunos.locator('#risks p').click();
        await shows(adas, 'What may go wrong', 'Bruno Sato');
        await shows(adas, 'In short');
        await adas.getByText('Bruno Sato is reading "What may go wrong"').waitFor({ state: 'attached' });

        await brunos.locator('#risks h2').hover();
        await adas.locator('.cursor[data-user=bruno]').waitFor();
        await adas.locator('#goals p').click();
        await shows(brunos, 'What we want', 'Ada Okafor');
      });
      await adas.locator('.cursor').waitFor({ state: 'detached' });
      await shows(adas, 'What may go wrong');
      await adas.getByText('Live', { exact: true }).waitFor();
      assert.deepEqual(complaints.filter(isUnexpected), []);
    });
  });

  for (const way of WAYS) {
    test(`a user with two tabs at one location is present until the last one is closed, ${way}`, async () => {
      const use = async ({ page: first }: Visit) => {
        await until('ada is present', async () => (await present()).includes('ada'));
        const second = await first.context().newPage();
        await second.goto(first.url());
        await second.getByText('Live', { exact: true }).waitFor();
        const { rollcall, leaves } = example.value;
        const events = rollcall.presence.watch({ groupID: GROUP });
        await events.next();
        // The newest holder of the region is there when the user is seen at its locations.
        await second.locator('#goals p').click();
        await isAt(events, 'goals');
        await second.locator('#summary p').click();
        await isAt(events, 'summary');
        await closeTab(first);
        // Bruno comes and leaves after the first tab.
        await open(
          'bruno',
          () => until('bruno is present', async () => (await present()).includes('bruno')),
          {
            way,
          },
        );
        for await (const event of events) {
          if (event.type !== 'departed') continue;
          assert.equal(event.id, 'bruno', 'ada is still present in the other tab');
          break;
        }
        assert.deepEqual(await present(), ['ada']);
        await closeTab(second);
        await leaves(way, 'ada');
      };
      await open('ada', use, { way });
    });

    test(`a user whose tab moved just before it was closed is absent, ${way}`, async () => {
      await open('ada', async ({ page: adas }) => {
        const use = async ({ page: femis }: Visit) => {
          await shows(adas, 'In short', 'Femi Adeyemi');
          // What is under way is given up, and the server may have it or not.
          await femis.evaluate(
            "document.querySelector('#goals').dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }))",
          );
          await closeTab(femis);
          await example.value.leaves(way, 'femi');
        };
        await open('femi', use, { way });
      });
    });

    test(`a user is absent while their tab shows another page, and present after they come back, ${way}`, async () => {
      await open('ada', async ({ page: adas }) => {
        const use = async ({ page: carmens }: Visit) => {
          await shows(adas, 'In short', 'Carmen Ruiz');
          await carmens.goto(`${example.value.url}/avatars/carmen.svg`);
          await example.value.leaves(way, 'carmen');
          await shows(adas, 'In short');
          await carmens.goBack();
          await shows(adas, 'In short', 'Carmen Ruiz');
        };
        await open('carmen', use, { way });
      });
    });
  }

  test('a user who scrolls moves to the section that they read', async () => {
    await open('ada', async ({ page: adas }) => {
      const esmes = async ({ page }: Visit) => {
        await shows(adas, 'In short', 'Esme Tran');
        await page.evaluate("document.querySelector('#risks').scrollIntoView()");
        await page.locator('#risks.mine').waitFor();
        await shows(adas, 'What may go wrong', 'Esme Tran');
      };
      await open('esme', esmes, { viewport: { width: 800, height: 300 } });
    });
  });

  test('the page fits windows of 360 to 1440 pixels, also with a pointer of a wider one', async () => {
    const fits = async ({ page }: Visit) => {
      await page.locator('.cursor[data-user=bruno]').waitFor({ state: 'attached' });
      const [needed, given] = await page.evaluate<[number, number]>(
        '[document.documentElement.scrollWidth, innerWidth]',
      );
      assert.ok(needed <= given, `${needed} of ${given} pixels`);
    };
    await open('bruno', async ({ page }) => {
      await page.locator('#goals').hover({ position: { x: 600, y: 80 } });
      for (const width of [360, 768, 1000, 1440])
        await open('esme', fits, { viewport: { width, height: 800 } });
    });
  });

  test('every control of the page has an accessible name', async () => {
    await open('ada', async ({ page }) => {
      await page.getByLabel('You are').selectOption('Dmitri Lund');
      await until('dmitri is present', async () => (await present()).includes('dmitri'));
      for (const role of ['button', 'combobox', 'textbox'] as const) {
        const count = await page.getByRole(role).count();
        assert.ok(count > 0, role);
        assert.equal(await page.getByRole(role, { name: /\S/ }).count(), count, role);
      }
      await example.value.leaves('through a socket', 'ada');
      assert.deepEqual(await present(), ['dmitri']);
      await page.goto('about:blank');
      await example.value.leaves('through a socket', 'dmitri');
    });
  });

  test('the page sends requests to its own server and to Rollcall only', async () => {
    await open('ada', async ({ page, requests }) => {
      const { url, rollcallURL } = example.value;
      await page.getByText('Live', { exact: true }).waitFor();
      const origins = new Set(requests.map((address) => new URL(address).origin));
      origins.delete('null');
      assert.deepEqual([...origins].sort(), [url, rollcallURL].sort());
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
    assert.equal((await fetch(`${url}/avatars/..%2f..%2fpackage.json`)).status, 404);
    assert.equal((await fetch(`${url}/avatars/nobody.svg`)).status, 404);
    assert.equal((await fetch(`${url}/token?user=nobody`)).status, 404);
    assert.equal((await fetch(`${url}/@fs/etc/hostname`)).status, 403);
    process.kill(-(child.pid ?? 0), 'SIGINT');
    const [code] = await once(child, 'close');
    assert.ok(code === 0 || code === 130 || code === null, `exit code ${code}`);
    await assert.rejects(fetch(url));
  } finally {
    if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid ?? 0), 'SIGKILL');
  }
});
