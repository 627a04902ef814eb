import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { OLD_NODE } from '../../server/test/packages/nodes.ts';
import { runModule } from '../../server/test/packages/run-module.ts';
import { skipsPages, visit } from '../../server/test/pages/chromium.ts';
import { directoryOfFile } from '../../server/test/support/temporary-directory.ts';
import { bundle, REACT_VERSIONS } from './support/bundle.ts';
import { oneHost } from './support/host.ts';

/** A face as a page shows it, in CSS pixels. */
interface Face {
  readonly text: string;
  readonly left: number;
  readonly right: number;
  readonly box: readonly number[];
  /** Red, green and blue. */
  readonly colour: readonly number[];
  readonly isSignFirst: boolean;
}

const host = oneHost();
const directory = directoryOfFile('rendering');

for (const react of REACT_VERSIONS) {
  describe(`rendering on a server with React ${react}`, () => {
    let server: typeof import('./support/server-rendering.ts');
    let path: string;

    before(async () => {
      path = join(directory, `server-${react}.mjs`);
      await writeFile(path, await bundle('support/server-rendering.ts', react, 'server'));
      server = await import(pathToFileURL(path).href);
    });

    test('every hook renders on a server, without a request', () => {
      const faces = server.render('faces');
      assert.match(faces, /<output id="status">\[&quot;connecting&quot;,null\]<\/output>/);
      assert.match(faces, /<output id="others">\[\]<\/output>/);
      assert.match(server.render('members'), /&quot;isLoading&quot;:true/);
      assert.match(server.render('conversation'), /<output id="messages">\[\]<\/output>/);
    });

    test('Node 20 renders every hook to the same text', { skip: OLD_NODE.skip }, async () => {
      const views = ['faces', 'members', 'conversation'];
      const file = join(directory, `views-${react}.mjs`);
      await writeFile(
        file,
        `import { render } from ${JSON.stringify(path)};
        console.log(JSON.stringify(${JSON.stringify(views)}.map(render)));`,
      );
      const { stdout, stderr } = await runModule(OLD_NODE.node, [file], directory);
      assert.equal(stderr, '');
      assert.deepEqual(
        JSON.parse(stdout),
        views.map((view) => server.render(view)),
      );
    });

    test('a page takes over what the server has rendered without an error, and becomes live', {
      skip: skipsPages,
    }, async () => {
      host.value.rendered.set(`${react} hydrated`, server.render('hydrated'));
      const project = await host.value.project('ada');
      await host.value.open(react, project, 'ada', { view: 'hydrated' }, async ({ page, complaints }) => {
        await page.waitForFunction(`document.getElementById('self').textContent === '"ada"'`);
        assert.deepEqual(
          complaints.filter((text) => !text.includes('React DevTools')),
          [],
        );
      });
    });

    test('AvatarStack shows initials where the picture has failed before the page takes over what the server has rendered', {
      skip: skipsPages,
    }, async () => {
      host.value.rendered.set(`${react} broken`, server.render('broken'));
      const project = await host.value.project('ada');
      await visit('about:blank', {}, async ({ page }) => {
        const failed = Promise.withResolvers<void>();
        await page.route('**/nothing.png*', async (route) => {
          await route.abort();
          failed.resolve();
        });
        await page.route('**/page.js', async (route) => {
          await failed.promise;
          await route.continue();
        });
        await page.goto(await host.value.address(react, project, 'ada', { view: 'broken' }));
        const face = page.getByRole('img', { name: 'Ada Okafor' });
        await page.waitForFunction("document.querySelector('li img') === null");
        assert.equal(await face.textContent(), 'AO');
      });
    });

    test('AvatarStack gives every face its name, and counts the others, without a style sheet', {
      skip: skipsPages,
    }, async () => {
      const picture = 'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg"/>';
      const people = [
        { id: 'a', name: 'Ada Okafor', pictureURL: picture },
        { id: 'b', name: '🦊 Bob <i>', pictureURL: null },
        { id: 'c', name: null, pictureURL: null },
        { id: 'd', name: 'Dora', pictureURL: null },
      ];
      const html = server.renderAvatars({ people, max: 2, size: 40, label: 'Readers' });
      await visit(`${host.value.origin}/empty/`, {}, async ({ page, complaints }) => {
        await page.setContent(`<main>${html}</main>`);
        const tree = await page.locator('ul').ariaSnapshot();
        assert.equal(
          tree,
          [
            '- list "Readers":',
            '  - listitem:',
            '    - img "Ada Okafor"',
            '  - listitem:',
            '    - img "🦊 Bob <i>": 🦊<',
            '  - listitem:',
            '    - img "and c, Dora": "+2"',
          ].join('\n'),
        );
        assert.deepEqual((await page.locator('img').boundingBox())?.width, 40);
        assert.deepEqual(complaints, []);
      });
    });

    test('AvatarStack outlines every face where the system has colours of its own', {
      skip: skipsPages,
    }, async () => {
      const picture = 'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg"/>';
      const people = ['a', 'b', 'c'].map((id) => ({ id, name: id, pictureURL: id === 'a' ? picture : null }));
      const html = server.renderAvatars({ people, max: 2 });
      const outlines = (forcedColors: 'active' | 'none') =>
        visit(`${host.value.origin}/empty/`, { forcedColors }, async ({ page }) => {
          await page.setContent(`<main>${html}</main>`);
          return page.evaluate(`[...document.querySelectorAll('li > *')].map((face) => {
            const { outlineStyle, outlineColor, color } = getComputedStyle(face);
            return outlineStyle === 'solid' && outlineColor === color;
          })`);
        });
      assert.deepEqual(await outlines('active'), [true, true, true]);
      assert.deepEqual(await outlines('none'), [false, false, false]);
    });

    for (const dir of ['ltr', 'rtl']) {
      test(`AvatarStack covers no text, however many people it counts, and gives IDs in a row distant colours, ${dir}`, {
        skip: skipsPages,
      }, async () => {
        const people = Array.from({ length: 10_000 }, (_, index) => ({
          ...{ id: `user-${index}`, name: index === 1 ? ' ' : 'Ada Okafor', pictureURL: null },
        }));
        const html = server.renderAvatars({ people, moreLabel: (hidden) => `${hidden.length} more` });
        await visit(`${host.value.origin}/empty/`, {}, async ({ page }) => {
          await page.setContent(`<main dir="${dir}">${html}</main>`);
          const faces = (await page.evaluate(`[...document.querySelectorAll('li > *')].map((face) => {
            const range = document.createRange();
            range.selectNodeContents(face);
            const [{ left, right }, box] = [range.getBoundingClientRect(), face.getBoundingClientRect()];
            const colour = getComputedStyle(face).backgroundColor.match(/\\d+/g).map(Number);
            range.setEnd(face.firstChild, 1);
            const isSignFirst = range.getBoundingClientRect().left === left;
            return { text: face.textContent, left, right, box: [box.left, box.right], colour, isSignFirst };
          })`)) as readonly Face[];
          assert.deepEqual(
            faces.map(({ text }) => text),
            ['AO', 'U', 'AO', 'AO', 'AO', '+9995'],
          );
          for (const [index, { left, right, box }] of faces.entries()) {
            const [start = 0, end = 0] = box;
            assert.ok(start <= left && right <= end, `${index} is wider than its face`);
            // The next face has a ring of two pixels.
            const next = faces[index + 1]?.box;
            if (next && dir === 'ltr') assert.ok(right <= (next[0] as number) - 2, `${index} is covered`);
            if (next && dir === 'rtl') assert.ok(left >= (next[1] as number) + 2, `${index} is covered`);
          }
          assert.equal(faces.at(-1)?.isSignFirst, true);
          const colours = faces.slice(0, -1).map(({ colour }) => colour);
          for (const [index, colour] of colours.entries()) {
            const before = colours[index - 1] ?? [0, 0, 0];
            const distance = colour.reduce(
              (sum, part, at) => sum + Math.abs(part - (before[at] as number)),
              0,
            );
            assert.ok(distance > 50, `${before} and ${colour} are alike`);
          }
        });
      });
    }
  });
}
