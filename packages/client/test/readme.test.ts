import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { changesOf } from '../src/changes/index.ts';
import { Rollcall, RollcallClient } from '../src/index.ts';

const README = await readFile(join(import.meta.dirname, '../README.md'), 'utf8');
/** Methods that TypeScript hides. */
const PROTECTED: ReadonlySet<string> = new Set(['constructor', 'countAt', 'pathOf', 'write']);

/** The names of the methods of an object and of its classes. */
function methodsOf(object: object): string[] {
  const names: string[] = [];
  for (
    let type = Object.getPrototypeOf(object);
    type !== Object.prototype;
    type = Object.getPrototypeOf(type)
  )
    names.push(...Object.getOwnPropertyNames(type));
  return [...new Set(names)].filter((name) => !PROTECTED.has(name));
}

const options = { url: 'http://127.0.0.1:8080', token: 't' };
const clients = { Rollcall: new Rollcall(options), RollcallClient: new RollcallClient(options) };

for (const [name, client] of Object.entries(clients)) {
  test(`README.md has every method of ${name} with its signature, and no other`, () => {
    const { transport, announcements, status, ...resources } = client as unknown as Record<string, object>;
    const messages = client.threads.messages('id');
    const methods = [
      ...methodsOf(client),
      ...Object.entries(resources).flatMap(([resource, value]) =>
        methodsOf(value).map((method) => `${resource}.${method}`),
      ),
      ...methodsOf(messages).map((method) => `threads.messages(id).${method}`),
    ];
    const [, block = ''] = README.split(`### Of \`${name}\``)[1]?.split('```ts\n') ?? [];
    const listed = block.split('```')[0]?.match(/^[\w.]+(\(id\)\.\w+)?(?=\()/gm);
    assert.deepEqual(listed?.toSorted(), methods.toSorted());
  });
}

test('README.md has every method of changesOf(rollcall) with its signature, and no other', () => {
  const [, block = ''] = README.split('### Of `changesOf(rollcall)`')[1]?.split('```ts\n') ?? [];
  const listed = block.split('```')[0]?.match(/^\w+(?=\()/gm);
  assert.deepEqual(listed?.toSorted(), methodsOf(changesOf(clients.Rollcall)).toSorted());
});
