import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { packPackages } from '../../server/test/support/packed.ts';
import { directoryOfFile } from '../../server/test/support/temporary-directory.ts';

const run = promisify(execFile);
const PACKAGE = join(import.meta.dirname, '..');
const IMPORTS = ['react', '@rollcall/client'];
const BYTES_MAX = 8_000;

const directory = directoryOfFile('react');

before(async () => {
  await run('tar', ['-xzf', (await packPackages()).react], { cwd: directory });
});

test('the package is one of client components, imports its own files, React and the client, and is small, compressed', async () => {
  const top = await readdir(join(directory, 'package'));
  assert.deepEqual(top.sort(), ['LICENSE', 'README.md', 'dist', 'docs', 'package.json']);
  const dist = join(directory, 'package/dist');
  const files = await readdir(dist);
  let code = '';
  for (const file of files) {
    assert.match(file, /\.js$|\.js\.map$|\.d\.ts$/);
    if (file.endsWith('.map')) continue;
    const text = await readFile(join(dist, file), 'utf8');
    if (file.endsWith('.js')) code += text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$|^\s+/gm, '');
    for (const [, imported = ''] of text.matchAll(/(?:from|import)\s*\(?["']([^"']+)["']/g)) {
      const isOwn = imported.startsWith('./') && files.includes(imported.slice(2));
      assert.ok(isOwn || IMPORTS.includes(imported), `${file} imports ${imported}`);
    }
  }
  assert.match(await readFile(join(dist, 'index.js'), 'utf8'), /^'use client';/);
  const bytes = gzipSync(code).length;
  assert.ok(bytes < BYTES_MAX, `${bytes} bytes, compressed and without comments`);
});

test('README.md has every export with its signature, and no other', async () => {
  // The sources import the client, which is built when it is packed.
  const sources = await import('../src/index.ts');
  const readme = await readFile(join(PACKAGE, 'README.md'), 'utf8');
  const [, block = ''] = readme.split('## Exports')[1]?.split('```ts\n') ?? [];
  const listed = block.split('```')[0]?.match(/^\w+(?=\()/gm);
  assert.deepEqual(listed?.toSorted(), Object.keys(sources).sort());
});
