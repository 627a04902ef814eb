import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Line, readLines } from '../../src/cli/records/line-reader.ts';

async function* streamOf(chunks: Iterable<Uint8Array>) {
  yield* chunks;
}

async function linesOf(chunks: Iterable<Uint8Array>, maxBytes?: number): Promise<Line[]> {
  return Array.fromAsync(readLines(streamOf(chunks), maxBytes));
}

const textOf = ({ bytes }: Line) => (bytes === null ? null : Buffer.from(bytes).toString('latin1'));

/** Few different bytes, so that line breaks are frequent. */
const someBytes = fc.uint8Array({ min: 9, max: 12, maxLength: 40 });

test('lines of a file are the same however its stream is cut into chunks', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(someBytes, { maxLength: 8 }), async (chunks) => {
      const whole = Buffer.concat(chunks).toString('latin1');
      const expected = whole.split('\n');
      if (expected.at(-1) === '') expected.pop();
      const lines = await linesOf(chunks);
      assert.deepEqual(lines.map(textOf), expected);
      assert.deepEqual(
        lines.map(({ number }) => number),
        expected.map((_, index) => index + 1),
      );
    }),
  );
});

test('a line that is too long is null, and the lines around it are read', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(someBytes, { maxLength: 8 }),
      fc.integer({ min: 0, max: 30 }),
      async (chunks, max) => {
        const all = await linesOf(chunks);
        const expected = all.map((line) => ((line.bytes?.length ?? 0) > max ? null : textOf(line)));
        assert.deepEqual((await linesOf(chunks, max)).map(textOf), expected);
      },
    ),
  );
});

test('the last line of a file needs no line break', async () => {
  assert.deepEqual((await linesOf([Buffer.from('a\nb')])).map(textOf), ['a', 'b']);
});
