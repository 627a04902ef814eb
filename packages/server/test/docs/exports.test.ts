/** A name that no other file uses is not exported. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from './markdown.ts';

const EXPORTED = /^export (?:async )?(?:const|function\*?|class|interface|type) (\w+)/gm;
/** Files of which the client's package publishes every type. */
const PUBLISHED_WHOLE = [
  'packages/client/src/protocol.ts',
  'packages/client/src/resources/conversation-event.ts',
];
/** The declarations of every schema with an optional field need its name. */
const DECLARED = 'OptionalSchema';

const paths = globSync('{packages,bench,cluster,examples,generators}/**/*.{ts,tsx,mjs}', {
  cwd: ROOT,
  exclude: (path) => /node_modules|dist/.test(path),
});
const texts = new Map(paths.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]));

test('every name that a source file of the packages exports is used in another file too', () => {
  const files = new Map<string, number>();
  for (const text of texts.values())
    for (const word of new Set(text.match(/\w+/g))) files.set(word, (files.get(word) ?? 0) + 1);
  const isSource = (path: string) => /^packages\/\w+\/src\//.test(path) && !PUBLISHED_WHOLE.includes(path);
  const exported = [...texts].flatMap(([path, text]) =>
    isSource(path) ? [...text.matchAll(EXPORTED)].map(([, name = '']) => ({ path, name })) : [],
  );
  assert.ok(exported.length > 1_000);
  assert.deepEqual(
    exported.filter(({ name }) => files.get(name) === 1 && name !== DECLARED),
    [],
  );
});
