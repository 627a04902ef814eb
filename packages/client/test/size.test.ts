import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { build, type Rolldown } from 'vite';

const SOURCES = join(import.meta.dirname, '../src');

/** What is imported from which entry, and how many bytes a bundler may make of it: minified and compressed. */
const BOUNDS = [
  { what: 'RollcallClient, NOBODY, presenceAfter', entry: 'index.ts', bytesMax: 10_000 },
  { what: 'Rollcall', entry: 'index.ts', bytesMax: 8_000 },
  { what: 'Changes', entry: 'changes/index.ts', bytesMax: 6_000 },
  { what: 'signClientToken', entry: 'server/index.ts', bytesMax: 1_000 },
];

for (const { what, entry, bytesMax } of BOUNDS) {
  test(`a bundle with ${what} has under ${bytesMax} bytes, minified and compressed`, async () => {
    const chunks = await bundle(`export { ${what} } from ${JSON.stringify(join(SOURCES, entry))}`);
    const bytes = chunks.reduce((sum, code) => sum + gzipSync(code).length, 0);
    assert.ok(bytes < bytesMax, `${bytes} bytes`);
    assert.ok(bytes > bytesMax / 4, `${bytes} bytes: is this the whole bundle?`);
  });
}

/** The code of the entry and of all that it imports, however indirectly; not what it loads on demand. */
async function bundle(source: string): Promise<readonly string[]> {
  const result = await build({
    configFile: false,
    logLevel: 'error',
    root: SOURCES,
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === 'virtual:entry' ? id : null),
        load: (id) => (id === 'virtual:entry' ? source : null),
      },
    ],
    build: {
      write: false,
      rolldownOptions: { input: 'virtual:entry', preserveEntrySignatures: 'strict' },
    },
  });
  const chunks = (result as Rolldown.RolldownOutput).output.filter((file) => file.type === 'chunk');
  const loaded = new Set(chunks.filter(({ isEntry }) => isEntry));
  for (const { imports } of loaded)
    for (const chunk of chunks) if (imports.includes(chunk.fileName)) loaded.add(chunk);
  return [...loaded].map(({ code }) => code);
}
