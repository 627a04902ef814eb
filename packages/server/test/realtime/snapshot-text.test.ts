import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { EncodedPieces } from '../../src/realtime/text/encoded-pieces.ts';
import { EntryTexts } from '../../src/realtime/text/entry-texts.ts';
import type { SimulatedSink } from './simulated-sink.ts';
import { withStreams } from './stream-world.ts';

const PIECE_MAX = 16_384;
const MB = 1_048_576;

const largest = ({ written }: SimulatedSink) => Math.max(...written.map((bytes) => Buffer.byteLength(bytes)));

test('an entry of a snapshot that is longer than a piece is sent whole, and no character is cut in two', () =>
  withStreams({ users: ['a', 'b', 'c'] }, async (world) => {
    // These characters have three and four bytes in UTF-8, so a bound of a piece can fall within one.
    const texts = ['€', '😀', 'x😀€'].map((text) => text.repeat(256));
    const location = Object.fromEntries(
      Array.from({ length: 15 }, (_, index) => [`${index}`, texts.join(index % 2 ? '' : '-')]),
    );
    for (const [index, userId] of ['a', 'b', 'c'].entries()) {
      await world.put(userId, { location: { ...location, wide: 'y'.repeat(index) } });
    }
    const sink = await world.open();
    assert.ok(sink.written.length > 6, `${sink.written.length} pieces`);
    assert.ok(largest(sink) <= PIECE_MAX, `${largest(sink)} bytes`);
    const [snapshot] = sink.parser.events;
    assert.deepEqual(
      snapshot?.data.users.map((user: { ephemeral: { locations: unknown[] } }) => user.ephemeral.locations),
      [0, 1, 2].map((index) => [{ ...location, wide: 'y'.repeat(index) }]),
    );
  }));

test('a snapshot without users is an empty list', () =>
  withStreams({ users: ['a'] }, async (world) => {
    assert.deepEqual((await world.open()).parser.events[0]?.data, { users: [] });
  }));

describe('the text of a user in snapshots', () => {
  const at = (...pages: string[]) => ({
    userId: 'a',
    locations: pages.map((page) => `{"page":"${page}"}`),
    durable: null,
  });

  test('filters that show the same locations of a user share its text', () => {
    const texts = new EntryTexts();
    const [one, both] = [texts.of(at('1')), texts.of(at('1', '2'))];
    assert.equal(texts.of(at('1')), one);
    assert.equal(texts.of(at('1', '2')), both);
    const durable = { location: '{"page":"1"}', at: 1 };
    const withDurable = texts.of({ ...at('1'), durable });
    assert.notEqual(withDurable, one);
    assert.equal(texts.of({ ...at('1'), durable: { ...durable } }), withDurable);
    assert.notEqual(texts.of({ ...at('1'), durable: { ...durable, at: 2 } }), withDurable);
  });

  test('the four last used texts of a user are stored', () => {
    const texts = new EntryTexts();
    const first = ['1', '2', '3', '4'].map((page) => texts.of(at(page)));
    assert.equal(texts.of(at('1')), first[0]);
    texts.of(at('5'));
    assert.equal(texts.of(at('1')), first[0]);
    assert.notEqual(texts.of(at('2')), first[1]);
  });

  test('the texts of a user are dropped when no filter shows the user', () => {
    const texts = new EntryTexts();
    const [first, other] = [texts.of(at('1')), texts.of({ ...at('1'), userId: 'b' })];
    assert.equal(texts.size, 2);
    texts.prune((userId) => userId === 'b');
    assert.equal(texts.size, 1);
    assert.notEqual(texts.of(at('1')), first);
    assert.equal(texts.of({ ...at('1'), userId: 'b' }), other);
  });
});

/** Stored pieces of a size, and how many were encoded. */
function encodedPieces(bytes: number) {
  const pieces = new EncodedPieces();
  const encode = () => {
    seen.encodings += 1;
    return Buffer.alloc(bytes);
  };
  const seen = { encodings: 0, bytesOf: (piece: object) => pieces.of(piece, encode) };
  return seen;
}

test('the last used 8 MB of encoded pieces are stored', () => {
  const pieces = encodedPieces(MB);
  const used = Array.from({ length: 8 }, () => ({}));
  for (const piece of used) pieces.bytesOf(piece);
  assert.equal(pieces.bytesOf(used[0] as object), pieces.bytesOf(used[0] as object));
  assert.equal(pieces.encodings, 8);
  pieces.bytesOf({});
  assert.equal(pieces.encodings, 9);
  pieces.bytesOf(used[0] as object);
  assert.equal(pieces.encodings, 9, 'it was used since');
  pieces.bytesOf(used[1] as object);
  assert.equal(pieces.encodings, 10, 'it was used longest ago');
});

test('at most 8,192 encoded pieces are stored, however small they are', () => {
  const pieces = encodedPieces(1);
  const used = Array.from({ length: 8_193 }, () => ({}));
  for (const piece of used) pieces.bytesOf(piece);
  pieces.bytesOf(used[1] as object);
  assert.equal(pieces.encodings, 8_193);
  pieces.bytesOf(used[0] as object);
  assert.equal(pieces.encodings, 8_194, 'it was used longest ago');
});
