import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT, tableOf } from './markdown.ts';

const PAGE = 'CONTRIBUTING.md';
const column = (head: string) => tableOf(PAGE, head).map(([path = '']) => path);
const lists = column('List');
const namedPaths = column('Place');

test('the files of "Adding a resource" in CONTRIBUTING.md are those that groups have', () => {
  // Migrations are not one for each resource.
  const named = column('File').filter((path) => !/migrations/.test(path));
  assert.ok(named.length > 8);
  const missing = named
    .map((path) => path.replace('thread', 'group').replace('/conversation/', '/roster/'))
    .filter((path) => !existsSync(join(ROOT, path)));
  assert.deepEqual(missing, []);
});

test('the lists of "Adding a resource" in CONTRIBUTING.md have a line of groups', () => {
  assert.ok(lists.length > 8);
  const without = lists.filter((path) => !/group/i.test(readFileSync(join(ROOT, path), 'utf8')));
  assert.deepEqual(without, []);
});

test('every place that "Adding a resource" in CONTRIBUTING.md names exists', () => {
  assert.deepEqual(
    namedPaths.filter((path) => !existsSync(join(ROOT, path))),
    [],
  );
});

/** The files of a resource, by the names of files and folders. */
const OWN: Readonly<Record<string, RegExp>> = {
  preference: /preference/,
  webhook: /webhook/,
  // Threads and messages are one conversation.
  conversation: /conversation|thread|message/,
};
/** A stated number may differ by this part. */
const TOLERANCE = 0.1;
const COMMENT = /^\s*(\/?\*|\/\/)/;
const sources = globSync('packages/{server,protocol}/src/**/*.ts', { cwd: ROOT }).map((file) => ({
  file,
  lines: readFileSync(join(ROOT, file), 'utf8')
    .split('\n')
    .filter((line) => !COMMENT.test(line)),
}));

/** The files that are not the resource's own and name it, with how many lines do. */
function namingFiles(resource: string) {
  const word = new RegExp(resource, 'i');
  return sources
    .filter(({ file }) => !OWN[resource]?.test(file))
    .map(({ file, lines }) => ({ file, count: lines.filter((line) => word.test(line)).length }))
    .filter(({ count }) => count > 0);
}

const isNamedPath = (file: string) =>
  namedPaths.some((path) => (path.endsWith('/') ? file.startsWith(path) : file === path));

for (const resource of ['webhook', 'conversation'])
  test(`the recipe for a resource in CONTRIBUTING.md names every file that the resource ${resource} has lines in`, () => {
    const unnamed = namingFiles(resource).filter(({ file }) => !lists.includes(file) && !isNamedPath(file));
    assert.deepEqual(unnamed, []);
  });

test('CONTRIBUTING.md states what resources cost in lines outside of their own files, within a tenth', () => {
  const stated = tableOf(PAGE, 'Resource');
  assert.deepEqual(stated.map(([resource]) => resource).sort(), Object.keys(OWN).sort());
  const wrong = stated.flatMap(([resource = '', ...numbers]) => {
    const naming = namingFiles(resource);
    const inLists = naming.filter(({ file }) => lists.includes(file));
    const counted = [inLists, naming.filter((each) => !inLists.includes(each))].map((files) =>
      files.reduce((sum, { count }) => sum + count, 0),
    );
    const differs = counted.some(
      (count, index) => Math.abs(count - Number(numbers[index])) > Math.ceil(count * TOLERANCE),
    );
    return differs ? [{ resource, counted }] : [];
  });
  assert.deepEqual(wrong, []);
});
