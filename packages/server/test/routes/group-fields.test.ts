import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { expectDone, expectOk, expectRefused } from '../support/expect.ts';
import { oneServer } from '../support/one-server.ts';
import type { Project } from '../support/project-client.ts';

const server = oneServer();

/** A metadata object whose JSON text has exactly this many bytes. */
const metadataOfBytes = (bytes: number) => ({ k: 'x'.repeat(bytes - '{"k":""}'.length) });

/** Writes metadata given as JSON text. */
const putMetadata = (project: Project, json: string) =>
  project.send('PUT', '/v1/groups/g', `{"name": "G", "metadata": ${json}}`);

describe('name', () => {
  test('is 1 to 256 code points; a character beyond the first plane counts once', async () => {
    const project = await server.project();
    for (const name of ['x', 'x'.repeat(256), '😀'.repeat(256), `${'é'.repeat(255)}😀`]) {
      expectDone(await project.put('/v1/groups/g', { name }));
      assert.equal((await project.group('g')).name, name);
    }
    for (const name of ['', 'x'.repeat(257), '😀'.repeat(257), `${'x'.repeat(256)}😀`]) {
      const answer = await project.unchanged(() => project.put('/v1/groups/g', { name }));
      expectRefused(answer, 400, 'invalid_field', 'name', '256');
    }
  });

  test('any well-formed text is kept as it is', async () => {
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
  test('is {} when never set', async () => {
    const project = await server.project();
    expectDone(await project.put('/v1/groups/g', { name: 'G' }));
    assert.deepEqual((await project.group('g')).metadata, {});
    assert.deepEqual((await project.groups())[0]?.metadata, {});
  });

  test('a write replaces the whole object', async () => {
    const project = await server.project();
    expectDone(await project.put('/v1/groups/g', { name: 'G', metadata: { a: 1, b: { c: 2 } } }));
    expectDone(await project.put('/v1/groups/g', { metadata: { b: {} } }));
    assert.deepEqual((await project.group('g')).metadata, { b: {} });
    expectDone(await project.put('/v1/groups/g', { metadata: {} }));
    assert.deepEqual((await project.group('g')).metadata, {});
  });

  test('may have 16 KiB of JSON text, and not a byte more', async () => {
    const project = await server.project();
    const largest = metadataOfBytes(16_384);
    expectDone(await project.put('/v1/groups/g', { name: 'G', metadata: largest }));
    assert.deepEqual((await project.group('g')).metadata, largest);
    const answer = await project.unchanged(() =>
      project.put('/v1/groups/g', { metadata: metadataOfBytes(16_385) }),
    );
    expectRefused(answer, 400, 'invalid_field', 'metadata', '16384');
  });

  test('its bytes are counted, not its characters', async () => {
    const project = await server.project();
    const metadata = { k: '😀'.repeat(4_096) };
    expectRefused(
      await project.put('/v1/groups/g', { name: 'G', metadata }),
      400,
      'invalid_field',
      'metadata',
    );
  });

  test('is read back as it was written, here and in the list', async () => {
    const project = await server.project();
    const texts = [
      '{"b":1,"a":2,"10":3,"2":4}',
      '{"":{"":[null,true,false,[],{}]}}',
      '{"__proto__":{"x":1},"constructor":2}',
      '{"n":[0.1,1e21,1e-7,9007199254740991,-9007199254740991,123456789.125]}',
      '{"text":"\\u0000 \\ud83d\\ude00 \\" \\\\ \\/ \\u2028"}',
      '{"lone":"\\ud800"}',
    ];
    for (const json of texts) {
      expectDone(await putMetadata(project, json));
      assert.deepEqual((await project.group('g')).metadata, JSON.parse(json));
      assert.deepEqual((await project.groups())[0]?.metadata, JSON.parse(json));
    }
  });

  test('any JSON object survives the way there and back', async () => {
    const project = await server.project();
    const metadata = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ noUnicodeString: false }));
    const kept = fc.asyncProperty(metadata, async (written) => {
      const json = JSON.stringify(written);
      fc.pre(Buffer.byteLength(json) <= 16_384);
      expectDone(await putMetadata(project, json));
      assert.deepEqual((await project.group('g')).metadata, JSON.parse(json));
    });
    await fc.assert(kept, { numRuns: 30 });
  });

  test('nesting as deep as 16 KiB allows is kept', async () => {
    const project = await server.project();
    const depth = 4_000;
    expectDone(await putMetadata(project, `{"deep":${'['.repeat(depth)}${']'.repeat(depth)}}`));
    let level = (await project.group('g')).metadata.deep as unknown[];
    for (let left = depth; left > 1; left -= 1) [level] = level as [unknown[]];
    assert.deepEqual(level, []);
    assert.equal((await project.groups()).length, 1);
  });

  test('what one write is refused for fails no other of the same moment', async () => {
    const project = await server.project();
    const depth = 8_000;
    const deep = `{"deep":${'['.repeat(depth)}${']'.repeat(depth)}}`;
    const racers = Array.from({ length: 40 }, (_, n) => n);
    // Connections first, so that the writes arrive together.
    await Promise.all(racers.map(() => project.get('/v1/groups')));
    const answers = await Promise.all(
      racers.map((n) =>
        n % 2 === 0 ? project.put(`/v1/groups/other-${n}`, { name: 'Other' }) : putMetadata(project, deep),
      ),
    );
    for (const [n, answer] of answers.entries()) if (n % 2 === 0) expectDone(answer);
  });

  test('a number that JSON readers cannot keep is refused, and nothing changes', async () => {
    const project = await server.project();
    expectDone(await project.put('/v1/groups/g', { name: 'G', metadata: { kept: 1 } }));
    for (const number of ['1e400', '-1e999', '12345678901234567890', '0.12345678901234567890123', '1e-400']) {
      for (const json of [`{"n":${number}}`, `{"n":[1,{"m":${number}}]}`]) {
        const answer = await project.unchanged(() => putMetadata(project, json));
        expectRefused(answer, 400, 'invalid_field', 'metadata');
      }
    }
  });

  test('another spelling of a number that is kept is accepted', async () => {
    const project = await server.project();
    expectDone(
      await putMetadata(project, '{"n":[1.0,1.50e2,100000000000000000000,0.00000000000000000001,1e+2]}'),
    );
    assert.deepEqual((await project.group('g')).metadata, { n: [1, 150, 1e20, 1e-20, 100] });
  });
});

describe('connectedToMessenger', () => {
  test('is a boolean that hosts only read', async () => {
    const project = await server.project();
    const write = { name: 'G', connectedToMessenger: true };
    expectRefused(await project.put('/v1/groups/g', write), 400, 'unexpected_field', 'connectedToMessenger');
    expectDone(await project.put('/v1/groups/g', { name: 'G' }));
    assert.equal((await project.group('g')).connectedToMessenger, false);
    const [listed] = expectOk<{ connectedToMessenger: unknown }[]>(await project.get('/v1/groups'));
    assert.equal(listed?.connectedToMessenger, false);
  });
});
