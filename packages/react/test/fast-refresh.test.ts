/** The document example is edited while it is open in two windows. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { GROUP } from '../../../examples/document/document-server.ts';
import type { PresenceWatch } from '../../client/src/index.ts';
import { skipsPages, type Visit } from '../../server/test/pages/chromium.ts';
import { until } from '../../server/test/support/waiting.ts';
import { copyApplication, oneExample } from './support/document-example.ts';

const directory = mkdtemp(join(tmpdir(), 'rollcall-refresh-'));
const root = directory.then(copyApplication);
const example = oneExample(root);

after(async () => rm(await directory, { recursive: true, force: true }));

let edits = 0;

/** Changes the line above the title in src/app.tsx, and more where it is given. Waits until these windows show the line. */
async function edit(pages: readonly Page[], more = (source: string) => source): Promise<void> {
  edits += 1;
  const path = join(await root, 'src/app.tsx');
  const source = await readFile(path, 'utf8');
  await writeFile(path, more(source).replace(/(?<="kicker">)[^<]+/, `Edit ${edits}`));
  for (const page of pages) await page.locator('.kicker', { hasText: `Edit ${edits}` }).waitFor();
}

/** What the server has open for pages: sockets, and streams of all kinds. */
async function connections(): Promise<string[]> {
  const text = await (await fetch(`${example.value.rollcallURL}/metrics`)).text();
  return text.match(/^rollcall_(?:sockets|presence_streams) \d+$/gm) ?? [];
}

/** The next events, until each of these users has arrived in a section. */
async function eventsUntil(events: PresenceWatch, arrivals: Readonly<Record<string, string>>) {
  const missing = new Set(Object.keys(arrivals));
  const seen: string[] = [];
  while (missing.size > 0) {
    const { value: event } = await events.next();
    assert.ok(event !== undefined, 'the watch has ended');
    if (event.type === 'arrived') {
      seen.push(`${event.id} moved from ${event.from?.section} to ${event.location.section}`);
      if (event.location.section === arrivals[event.id]) missing.delete(event.id);
    } else if (event.type !== 'snapshot') seen.push(`${event.type} ${JSON.stringify(event)}`);
  }
  return seen.sort();
}

interface TwoWindows {
  readonly adas: Page;
  readonly brunos: Page;
  /** The presence of both, from now on. */
  readonly events: PresenceWatch;
}

/** Ada reads the first section, and Bruno the last one, with his pointer in it. The windows report no error meanwhile. */
async function inTwoWindows(use: (windows: TwoWindows) => Promise<void>): Promise<void> {
  const { open, rollcall } = example.value;
  const ofAda = ({ page: adas, complaints }: Visit) =>
    open('bruno', async ({ page: brunos, complaints: ofBruno }) => {
      await move(brunos, 'risks');
      await brunos.locator('#risks h2').hover();
      await adas.locator('.cursor[data-user=bruno]').waitFor();
      await adas.getByText('Live', { exact: true }).waitFor();
      const events = rollcall.presence.watch({ groupID: GROUP });
      await events.next();
      await use({ adas, brunos, events });
      await events.return();
      // The thread of a section is missing until its first comment; the browser reports that answer.
      const isUnexpected = (text: string) => !/React DevTools|\[vite\]|404 \(Not Found\)/.test(text);
      assert.deepEqual([...complaints, ...ofBruno].filter(isUnexpected), []);
    });
  await open('ada', ofAda);
}

const move = (page: Page, section: string) =>
  page.locator(`#${section}`).dispatchEvent('pointerdown', { bubbles: true });

const isBesides = (page: Page, title: string, name: string) =>
  page
    .getByRole('list', { name: `Reading ${title}` })
    .getByRole('img', { name })
    .waitFor();

describe('fast refresh of the document example in Chromium', { skip: skipsPages }, () => {
  test('an edit of components with useMyPresence and useOthers ends no presence, and keeps state and pointers', () =>
    inTwoWindows(async ({ adas, brunos, events }) => {
      await brunos.getByLabel('Your comment').fill('A draft');
      const before = await connections();
      await edit([adas, brunos]);
      await brunos.locator('#risks.mine').waitFor();
      await isBesides(adas, 'What may go wrong', 'Bruno Sato');
      await adas.locator('.cursor[data-user=bruno]').waitFor();
      assert.equal(await brunos.getByLabel('Your comment').inputValue(), 'A draft');
      // Updates of a page arrive in order: what the edit sent is there before these moves.
      await move(brunos, 'goals');
      await move(adas, 'timeline');
      assert.deepEqual(await eventsUntil(events, { ada: 'timeline', bruno: 'goals' }), [
        'ada moved from summary to timeline',
        'bruno moved from risks to goals',
      ]);
      await isBesides(adas, 'What we want', 'Bruno Sato');
      await until('no other connection is open', async () => `${await connections()}` === `${before}`);
    }));

  test('an edit that mounts the component with useMyPresence anew moves its user, and ends no presence', () =>
    inTwoWindows(async ({ adas, brunos, events }) => {
      const before = await connections();
      await edit([adas, brunos], (source) => source.replace('useReadSection(', 'useState(null);\n  $&'));
      // The state of the component is lost: Bruno is in the first section again.
      await brunos.locator('#summary.mine').waitFor();
      await isBesides(adas, 'In short', 'Bruno Sato');
      await move(brunos, 'goals');
      await move(adas, 'timeline');
      assert.deepEqual(await eventsUntil(events, { ada: 'timeline', bruno: 'goals' }), [
        'ada moved from summary to timeline',
        'bruno moved from risks to summary',
        'bruno moved from summary to goals',
      ]);
      await until('no other connection is open', async () => `${await connections()}` === `${before}`);
    }));
});
