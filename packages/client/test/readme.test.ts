import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { changesOf } from '../src/changes/index.ts';
import { Rollcall, RollcallClient } from '../src/index.ts';
import { type DocumentedMethod, wrongSignatures } from './support/check-signatures.ts';

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
  test(`README.md has every method of ${name}, and no other`, () => {
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

test('README.md has every method of changesOf(rollcall), and no other', () => {
  const [, block = ''] = README.split('### Of `changesOf(rollcall)`')[1]?.split('```ts\n') ?? [];
  const listed = block.split('```')[0]?.match(/^\w+(?=\()/gm);
  assert.deepEqual(listed?.toSorted(), methodsOf(changesOf(clients.Rollcall)).toSorted());
});

/** The lines under a heading that begin with a name and a parenthesis; `typeOf` has the type of each in the sources. */
function documented(heading: string, typeOf: (name: string) => string): DocumentedMethod[] {
  const [, block = ''] = README.split(`### Of ${heading}`)[1]?.split('```ts\n') ?? [];
  const lines =
    block
      .split('```')[0]
      ?.matchAll(/^(?<path>.*\.)?(?<name>\w+)(?<rest>\(.*?)(?: \/\/ (?<comment>.*))?$/gm) ?? [];
  return [...lines].map(({ groups: { path = '', name = '', rest = '', comment = '' } = {} }) => ({
    type: typeOf(path + name),
    signature: name + rest,
    isConditional: comment.includes('¹'),
  }));
}

/** `threads.messages(id).list` of a class, as a type. */
const methodOf = (type: string) => (name: string) =>
  name.split('.').reduce((of, part) => {
    const isCall = part.endsWith('(id)');
    const member = `${of}['${part.replace('(id)', '')}']`;
    return isCall ? `ReturnType<${member}>` : member;
  }, type);

test('README.md has the parameters and the result of each method as the compiler knows them', () => {
  const methods = [
    ...documented('`@rollcall/client/server`', (name) => `typeof ${name}`),
    ...documented('`Rollcall`', methodOf('Rollcall')),
    ...documented('`RollcallClient`', methodOf('RollcallClient')),
    ...documented('`changesOf(rollcall)`', methodOf('Changes')),
  ];
  assert.ok(methods.length > 80, `${methods.length}`);
  assert.deepEqual(wrongSignatures(methods), []);
});
