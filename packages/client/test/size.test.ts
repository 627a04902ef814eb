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
    const bytes = gzipSync(
      await bundle(`export { ${what} } from ${JSON.stringify(join(SOURCES, entry))}`),
    ).length;
    assert.ok(bytes < bytesMax, `${bytes} bytes`);
    assert.ok(bytes > bytesMax / 4, `${bytes} bytes: is this the whole bundle?`);
  });
}

async function bundle(source: string): Promise<string> {
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
  return (result as Rolldown.RolldownOutput).output[0].code;
}
