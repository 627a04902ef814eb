import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { describe, test } from 'node:test';
import { anchorsIn, anchorsOf, linksIn, linksOf, ROOT, readPage } from './markdown.ts';

const exclude = ['**/node_modules/**', 'data/**'];
const PAGES = globSync('**/*.md', { cwd: ROOT, exclude }).sort();
const EXTERNAL = /^[a-z][a-z+.-]*:/i;
/** Home directories, temporary ones and the folder that this repository happens to be in. */
const LOCAL_PATH = /(?:^|[\s"'`(=])(?:\/home\/\w|\/root\b|\/Users\/\w|\/work\/|\/tmp\/)/m;

describe('every page', () => {
  for (const page of PAGES) {
    test(`${page} links to existing files and headings`, () => {
      const broken = linksOf(page).filter(
        (target) => !EXTERNAL.test(target) && !leadsSomewhere(page, target),
      );
      assert.deepEqual(broken, []);
    });

    test(`${page} names no path of the machine on which it was written`, () => {
      const text = readPage(page);
      assert.doesNotMatch(text, LOCAL_PATH);
      for (const path of [ROOT, homedir()]) assert.ok(path.length < 2 || !text.includes(`${path}/`), path);
    });
  }
});

test('the contents of a page lead to every chapter of it', () => {
  const withContents = PAGES.filter((page) => readPage(page).includes('\n**Contents**\n'));
  assert.ok(withContents.length > 3);
  const missing = withContents.flatMap((page) => {
    const [, contents = ''] = readPage(page).split('**Contents**');
    const linked = linksIn(contents.split(/^#/m, 1)[0] ?? '');
    const chapters = anchorsIn([...readPage(page).matchAll(/^## .+$/gm)].join('\n'));
    return chapters.filter((anchor) => !linked.includes(`#${anchor}`)).map((anchor) => `${page}#${anchor}`);
  });
  assert.deepEqual(missing, []);
});

test('every page of docs that the sources name exists', () => {
  const sources = globSync('{packages,bench}/**/*.{ts,mjs,json,sql,css}', { cwd: ROOT, exclude });
  const missing = sources.flatMap((source) =>
    [...readFileSync(join(ROOT, source), 'utf8').matchAll(/\bdocs\/(?:adr\/\d{4}|[\w/-]+\.md)/g)]
      .filter(([name]) => globSync(`${name}*`, { cwd: ROOT }).length === 0)
      .map(([name]) => `${source}: ${name}`),
  );
  assert.deepEqual(missing, []);
});

function leadsSomewhere(page: string, target: string): boolean {
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? page : normalize(join(dirname(page), path));
  if (file.startsWith('..') || !existsSync(join(ROOT, file))) return false;
  if (anchor === undefined) return true;
  return statSync(join(ROOT, file)).isFile() && anchorsOf(file).includes(anchor);
}
