import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
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

/** The files that translate "organization", and the claim of the same meaning. */
const OLDER_NAMES = ['http/older-names.ts', 'api-description/older-names.ts', 'auth/client-claims.ts'];

test('only the files that translate "organization" name it in packages/server/src', () => {
  const cwd = join(ROOT, SERVER);
  const naming = globSync('**/*.ts', { cwd }).filter((file) =>
    /organi[sz]ation/i.test(readFileSync(join(cwd, file), 'utf8')),
  );
  assert.deepEqual(naming.sort(), OLDER_NAMES.toSorted());
});
