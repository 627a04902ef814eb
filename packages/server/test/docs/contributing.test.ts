import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT, tableOf } from './markdown.ts';

const column = (head: string) => tableOf('CONTRIBUTING.md', head).map(([path = '']) => path);

test('the files of "Adding a resource" in CONTRIBUTING.md are those that groups have', () => {
  // Migrations are not one for each resource.
  const named = column('File').filter((path) => !/migrations/.test(path));
  assert.ok(named.length > 8);
  const missing = named
    .map((path) => path.replace('thread', 'group'))
    .filter((path) => !existsSync(join(ROOT, path)));
  assert.deepEqual(missing, []);
});

test('the lists of "Adding a resource" in CONTRIBUTING.md have a line of groups', () => {
  const lists = column('List');
  assert.ok(lists.length > 8);
  const without = lists.filter((path) => !/group/i.test(readFileSync(join(ROOT, path), 'utf8')));
  assert.deepEqual(without, []);
});

test('the resource preferences has ten lines, imports included, in the lists of the server and the protocol', () => {
  const lists = column('List').filter((path) => /^packages\/(server|protocol)\/src\//.test(path));
  const lines = lists.flatMap(
    (path) => readFileSync(join(ROOT, path), 'utf8').match(/.*preference.*/gi) ?? [],
  );
  assert.equal(lines.length, 10, lines.join('\n'));
});
