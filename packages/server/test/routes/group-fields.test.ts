import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { expectDone, expectError, expectOk } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';

const server = oneServer();

/** Writes metadata given as JSON text. */
const putMetadata = (project: Project, json: string) =>
  project.send('PUT', '/v1/groups/g', `{"name": "G", "metadata": ${json}}`);

describe('name', () => {
  test('the name of a group is 1 to 256 code points; a character beyond the first plane counts once', async () => {
    const project = await server.project();
    for (const name of ['x', 'x'.repeat(256), '😀'.repeat(256), `${'é'.repeat(255)}😀`]) {
      expectDone(await project.put('/v1/groups/g', { name }));
      assert.equal((await project.group('g')).name, name);
    }
    for (const name of ['', 'x'.repeat(257), '😀'.repeat(257), `${'x'.repeat(256)}😀`]) {
      const answer = await project.unchanged(() => project.put('/v1/groups/g', { name }));
      expectError(answer, 400, 'invalid_field', 'name', '256');
    }
  });

  test('any well-formed text as the name of a group is read back as written', async () => {
    const project = await server.project();
    for (const name of [
      ' spaced ',
      'tab\tline\nfeed',
      '"quoted" \\ \'single\'',
      'Å vs Å',
      '\u2028\ufeff',
      '👨‍👩‍👧',
    ]) {
      expectDone(await project.put('/v1/groups/g', { name }));
      assert.equal((await project.group('g')).name, name);
    }
  });
});

describe('metadata', () => {
  test('metadata of a group is {} when never set', async () => {
    const project = await server.project();
    expectDone(await project.put('/v1/groups/g', { name: 'G' }));
    assert.deepEqual((await project.group('g')).metadata, {});
    assert.deepEqual((await project.groups())[0]?.metadata, {});
  });

  test('a write of metadata replaces the whole object', async () => {
    const project = await server.project();
    expectDone(await project.put('/v1/groups/g', { name: 'G', metadata: { a: 1, b: { c: 2 } } }));
    expectDone(await project.put('/v1/groups/g', { metadata: { b: {} } }));
    assert.deepEqual((await project.group('g')).metadata, { b: {} });
    expectDone(await project.put('/v1/groups/g', { metadata: {} }));
    assert.deepEqual((await project.group('g')).metadata, {});
  });

  test('any JSON object as metadata is read back as written', async () => {
    const project = await server.project();
    const metadata = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ noUnicodeString: false }));
    const property = fc.asyncProperty(metadata, async (written) => {
      const json = JSON.stringify(written);
      fc.pre(Buffer.byteLength(json) <= 16_384);
      expectDone(await putMetadata(project, json));
      assert.deepEqual((await project.group('g')).metadata, JSON.parse(json));
    });
    await fc.assert(property, { numRuns: 30 });
  });
});

describe('connectedToMessenger', () => {
  test('connectedToMessenger is a boolean that hosts only read', async () => {
    const project = await server.project();
    const write = { name: 'G', connectedToMessenger: true };
    expectError(await project.put('/v1/groups/g', write), 400, 'unexpected_field', 'connectedToMessenger');
    expectDone(await project.put('/v1/groups/g', { name: 'G' }));
    assert.equal((await project.group('g')).connectedToMessenger, false);
    const [listed] = expectOk<{ connectedToMessenger: unknown }[]>(await project.get('/v1/groups'));
    assert.equal(listed?.connectedToMessenger, false);
  });
});
