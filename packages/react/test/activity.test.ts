/** What React's Activity hides and shows again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { skipsPages } from '../../server/test/pages/chromium.ts';
import { until } from '../../server/test/support/waiting.ts';
import { oneHost, shows } from './support/host.ts';

const host = oneHost(['19']);

/** A stream without components ends after a second, and what it had is forgotten ten seconds later. */
const SHORT_MS = 1_000;
const FORGOTTEN_MS = 10_001;

/** Shows the component or hides it, and returns what it shows as soon as React has rendered. */
const TOGGLE = `(async () => {
  document.getElementById('toggle').click();
  for (let task = 0; task < 100; task += 1) await null;
  return document.getElementById('others').textContent;
})()`;

test('a component that was hidden for more than ten seconds shows nothing of before, and then who is present', {
  skip: skipsPages,
}, async () => {
  const project = await host.value.project('ada', 'bob');
  const streams = async () => (await host.value.server.request('GET', '/metrics')).text;
  await host.value.open('19', project, 'ada', { view: 'hideable' }, async ({ page }) => {
    await page.clock.install();
    await page.reload();
    await host.value.open('19', project, 'bob', { view: 'faces', page: 'b' }, async () => {
      await shows(page, 'others', [['bob', ['b']]]);
      assert.equal(await page.evaluate(TOGGLE), '[["bob",["b"]]]');
      await page.clock.fastForward(SHORT_MS);
      await until('one stream is left', async () => /^rollcall_presence_streams 1$/m.test(await streams()));
    });
    await page.clock.fastForward(FORGOTTEN_MS);
    assert.equal(await page.evaluate(TOGGLE), '[]');
    await host.value.open('19', project, 'bob', { view: 'faces', page: 'c' }, () =>
      shows(page, 'others', [['bob', ['c']]]),
    );
  });
});
