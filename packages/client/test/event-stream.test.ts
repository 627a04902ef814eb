import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { EventStreamParser, type StreamEvent } from '../src/streams/event-stream.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

/** The events of a stream that comes in these chunks. */
function read(...chunks: (string | Uint8Array)[]): StreamEvent[] {
  const parser = new EventStreamParser();
  return chunks.flatMap((chunk) => parser.push(typeof chunk === 'string' ? bytes(chunk) : chunk));
}

const event = (data: string, more: Partial<StreamEvent> = {}): StreamEvent => ({
  type: 'message',
  data,
  id: '',
  ...more,
});

describe('the parser of text/event-stream', () => {
  test('the parser of text/event-stream reads fields, and ignores comments and unknown fields', () => {
    const text = ':hello\nevent: arrived\nid: e:1\ndata: {"a":1}\ndata\nfoo: bar\nDATA: x\n\n';
    assert.deepEqual(read(text), [event('{"a":1}\n', { type: 'arrived', id: 'e:1' })]);
  });

  test('the parser of text/event-stream removes one space after the colon, and no more', () => {
    assert.deepEqual(read('data:a\ndata: b\ndata:  c\n\n'), [event('a\nb\n c')]);
  });

  test('the parser of text/event-stream accepts LF, CRLF and CR as line ends', () => {
    for (const end of ['\n', '\r\n', '\r']) {
      assert.deepEqual(read(['data: a', 'data: b', '', 'data: c', '', ''].join(end)), [
        event('a\nb'),
        event('c'),
      ]);
    }
  });

  test('the parser of text/event-stream reads CRLF in two chunks as one line end, and does not wait after CR', () => {
    assert.deepEqual(read('data: a\r', '\ndata: b\r\n\r', '\ndata: c\n\n'), [event('a\nb'), event('c')]);
    assert.deepEqual(read('data: a\r\r'), [event('a')]);
  });

  test('the parser of text/event-stream repeats the last ID until the next one, and ignores the ID of an incomplete event', () => {
    const events = read(
      'id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\nid: 2\n\nid: x\0y\ndata: d\n\nid: 9\ndata: e',
    );
    assert.deepEqual(
      events.map(({ data, id }) => [data, id]),
      [
        ['a', '1'],
        ['b', '1'],
        ['c', ''],
        ['d', '2'],
      ],
    );
  });

  test('an ID without data sets lastId without an event', () => {
    const parser = new EventStreamParser('e-1');
    assert.equal(parser.push(bytes('data: a\n\n'))[0]?.id, 'e-1');
    assert.deepEqual(parser.push(bytes(':\nid: e-7\n')), []);
    assert.equal(parser.lastId, 'e-1');
    assert.deepEqual(parser.push(bytes('\n')), []);
    assert.equal(parser.lastId, 'e-7');
  });

  test('an event without data is dropped with its type', () => {
    assert.deepEqual(read('event: arrived\n\ndata: a\n\n'), [event('a')]);
  });

  test('the parser of text/event-stream ignores a byte order mark at the start', () => {
    assert.deepEqual(read('\ufeffdata: a\n\n'), [event('a')]);
  });

  test('the parser of text/event-stream reads retry in whole milliseconds, and ignores other values', () => {
    const parser = new EventStreamParser();
    parser.push(bytes('retry: 2500\nretry: soon\nretry: -1\n'));
    assert.equal(parser.retryMs, 2500);
  });

  test('the parser of text/event-stream yields the same events however the bytes are chunked', () => {
    const line = fc.oneof(
      fc.constantFrom(
        '',
        ':',
        ': ping',
        'id: 7',
        'id',
        'event: arrived',
        'retry: 5',
        'data',
        'data: é🙂\u2028x',
      ),
      fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => `data: ${text.replaceAll(/[\r\n]/g, '')}`),
    );
    const stream = fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 40 });
    fc.assert(
      fc.property(stream, fc.array(fc.nat(400), { maxLength: 30 }), (lines, cuts) => {
        const whole = bytes(`${lines.map((parts) => parts.join('')).join('')}\n\n`);
        const ends = [0, ...cuts.filter((cut) => cut < whole.length).sort((a, b) => a - b), whole.length];
        const chunks = ends.slice(1).map((end, index) => whole.subarray(ends[index], end));
        assert.deepEqual(read(...chunks), read(whole));
        const single = Array.from(whole, (_byte, index) => whole.subarray(index, index + 1));
        assert.deepEqual(read(...single), read(whole));
      }),
      { numRuns: 300 },
    );
  });

  test('the parser of text/event-stream reads a line of megabytes in small chunks in linear time', () => {
    const parser = new EventStreamParser();
    const chunk = bytes('x'.repeat(1_000));
    parser.push(bytes('data: '));
    for (let count = 0; count < 20_000; count += 1) assert.deepEqual(parser.push(chunk), []);
    const [only] = parser.push(bytes('\n\n'));
    assert.equal(only?.data.length, 20_000_000);
  });
});
