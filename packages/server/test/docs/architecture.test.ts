import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, posix } from 'node:path';
import { test } from 'node:test';
import { ROOT, readPage, tableOf } from './markdown.ts';

const SERVER = 'packages/server/src';
const page = readPage('ARCHITECTURE.md');

/** The code spans of the page that look like a path. */
const paths = [...page.matchAll(/`([\w.-]+\/[\w./-]*|[\w-]+\.(?:ts|cjs))`/g)].map(([, path = '']) => path);

test('every path that ARCHITECTURE.md names exists', () => {
  assert.ok(paths.length > 50);
  const missing = paths.filter(
    (path) => ![ROOT, join(ROOT, SERVER)].some((base) => existsSync(join(base, path))),
  );
  assert.deepEqual(missing, []);
});

test('ARCHITECTURE.md names every folder and every file of the top of packages/server/src', () => {
  const folders = globSync('**/*/', { cwd: join(ROOT, SERVER) }).map((path) => `${path.replace(/\/$/, '')}/`);
  const files = globSync('*.ts', { cwd: join(ROOT, SERVER) });
  const unnamed = [...folders, ...files].filter((path) => !paths.includes(path));
  assert.deepEqual(unnamed, []);
});

test('ARCHITECTURE.md names every folder of packages/server/test', () => {
  const folders = globSync('packages/server/test/*/', { cwd: ROOT }).map((path) => path.replace(/\/$/, ''));
  assert.deepEqual(
    folders.filter((path) => !paths.includes(path)),
    [],
  );
});

test('ARCHITECTURE.md lists every import rule of .dependency-cruiser.cjs and no other', () => {
  const { forbidden } = createRequire(import.meta.url)(join(ROOT, '.dependency-cruiser.cjs'));
  // The rules of folders are one for each folder.
  const rules = new Set<string>(
    forbidden.map(({ name }: { name: string }) => name.replace(/(import-downwards)-.+$/, '$1')),
  );
  const listed = tableOf('ARCHITECTURE.md', 'Rule').map(([name = '']) => name);
  assert.deepEqual(listed.sort(), [...rules].sort());
});

test('ARCHITECTURE.md lists the layers of the server in the order of .dependency-cruiser.cjs', () => {
  const layers = [...page.matchAll(/^\d+\. ((?:`[a-z-]+\/`(?:, )?)+)$/gm)].map(([, layer = '']) =>
    [...layer.matchAll(/`([a-z-]+)\/`/g)].map(([, folder = '']) => folder),
  );
  const { forbidden } = createRequire(import.meta.url)(join(ROOT, '.dependency-cruiser.cjs'));
  const rules = forbidden.flatMap(({ name, to }: { name: string; to: { path: readonly string[] } }) =>
    name.startsWith('folders-import-downwards-') ? [[name, to.path[0]]] : [],
  );
  const listed = layers.flatMap((layer, index) => {
    const rejected = layers.slice(index).flat().join('|');
    return layer.map((folder) => [`folders-import-downwards-${folder}`, `^${SERVER}/(${rejected})/`]);
  });
  assert.deepEqual(listed, rules);
});

test('ARCHITECTURE.md names the folders of streams in the order in which they may import each other', () => {
  const named = [...page.matchAll(/`realtime\/([a-z]+)\/`:/g)].map(([, folder]) => folder);
  const { forbidden } = createRequire(import.meta.url)(join(ROOT, '.dependency-cruiser.cjs'));
  const [lowest] = forbidden.filter(({ name }: { name: string }) => name === 'streams-import-downwards-0');
  const [, from, others] = /\/([a-z]+),.*\/\(([a-z|]+)\)/.exec(`${lowest.from.path},${lowest.to.path}`) ?? [];
  assert.deepEqual(named, [from, ...(others ?? '').split('|')]);
});

/**
 * Which folder or file imports which other one of the same folder: an import between `core/changes/a.ts` and `core/clock.ts` is
 * one of `core/changes` and `core/clock.ts`.
 */
function importsOfNeighbours(): Map<string, Set<string>> {
  const imports = new Map<string, Set<string>>();
  const cwd = join(ROOT, SERVER);
  for (const file of globSync('**/*.ts', { cwd })) {
    const text = readFileSync(join(cwd, file), 'utf8');
    for (const [, path = ''] of text.matchAll(/ from '(\.\.?\/[^']+)'/g)) {
      const from = file.split('/');
      const to = posix.join(posix.dirname(file), path).split('/');
      const depth = from.findIndex((part, index) => part !== to[index]);
      const [importing, imported] = [from, to].map((parts) => parts.slice(0, depth + 1).join('/'));
      if (!importing || !imported) continue;
      imports.set(importing, (imports.get(importing) ?? new Set()).add(imported));
    }
  }
  return imports;
}

test('no folder of packages/server/src imports a neighbour that imports it, however indirectly', () => {
  const imports = importsOfNeighbours();
  assert.ok(imports.size > 200);
  // What imports nothing that is left is no part of a circle.
  for (let size = 0; size !== imports.size; ) {
    size = imports.size;
    for (const [importing, imported] of imports)
      if (![...imported].some((path) => imports.has(path))) imports.delete(importing);
  }
  assert.deepEqual([...imports.keys()], []);
});

/** The folders that know the older name of a group: the others know groups only. */
const TRANSLATING = /^(?:http|wire|auth|api-description)\//;
/** The older name and the vocabulary of its translation, in prose and in names of code: these are split into words. */
const TRANSLATION =
  /organi[sz]ation|\bolder[-_ ]names?\b|\bgroup nouns?\b|\b(?:group|caller'?s) words?\b|\bin words of\b/;

/** The names that the translation exports. */
const exported = [
  ...readFileSync(join(ROOT, SERVER, 'http/older-names.ts'), 'utf8').matchAll(/^export \w+ (\w+)/gm),
].map(([, name = '']) => name);

test('only http, wire, auth and the API description name "organization", or what translates it', () => {
  assert.ok(exported.length > 0);
  const cwd = join(ROOT, SERVER);
  const naming = globSync('**/*.{ts,lua}', { cwd, exclude: (path) => TRANSLATING.test(`${path}/`) }).filter(
    (file) => {
      const text = readFileSync(join(cwd, file), 'utf8');
      const words = text.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
      return TRANSLATION.test(words) || exported.some((name) => new RegExp(`\\b${name}\\b`).test(text));
    },
  );
  assert.deepEqual(naming, []);
});
