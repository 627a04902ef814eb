import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LineError } from '../../src/cli/records/record-line.ts';
import { type Entry, readEntry } from '../../src/cli/roster/roster-entry.ts';

const read = (text: string | Uint8Array) =>
  readEntry({ number: 7, bytes: Buffer.from(text) }, 'roster.jsonl') as Entry | null;

describe('lines of a roster', () => {
  test('a line is sent without its type and otherwise unchanged', () => {
    const entry = read('{"nick": 1, "type": "user", "id": "ada", "metadata": {"__proto__": {"n": 1.50}}}\r');
    assert.equal(entry?.kind, 'user');
    assert.equal(entry?.id, 'ada');
    assert.equal(entry?.json, '{"nick":1,"id":"ada","metadata":{"__proto__":{"n":1.5}}}');
    assert.deepEqual(entry?.origin, { file: 'roster.jsonl', line: 7 });
  });

  test('the size of a line is in bytes, not characters', () => {
    const entry = read('{"type":"user","id":"é😀"}');
    assert.equal(entry?.bytes, Buffer.byteLength('{"id":"é😀"}'));
  });

  test('the members of a group are those that are strings; the server rejects the others', () => {
    assert.deepEqual(read('{"type":"group","id":"g","members":["a",1,"b"]}')?.members, ['a', 'b']);
    assert.deepEqual(read('{"type":"group","id":"g","members":"a"}')?.members, []);
    assert.deepEqual(read('{"type":"user","id":"u","members":["a"]}')?.members, []);
  });

  test('a line without an ID that is a string is sent, for the server to reject', () => {
    assert.equal(read('{"type":"user"}')?.id, null);
    assert.equal(read('{"type":"user","id":5}')?.id, null);
  });

  for (const blank of ['', ' \t', '\r', '\ufeff']) {
    test(`a blank line (${JSON.stringify(blank)}) is skipped`, () => assert.equal(read(blank), null));
  }
});

const many = (field: string, count: number) =>
  `{"type":"user","id":"u","metadata":{${`${field},`.repeat(count - 1)}${field}}}`;
const nested = (levels: number) =>
  `{"type":"user","id":"u","metadata":{"n":${'['.repeat(levels)}${']'.repeat(levels)}}}`;

describe('lines that cannot be sent', () => {
  const deep = `{"type":"user","id":"u","metadata":${'['.repeat(100_000)}1e400${']'.repeat(100_000)}}`;
  const cases: [what: string, text: string | Uint8Array, reason: RegExp][] = [
    ['is not JSON', '{"type":"user",}', /not valid JSON/],
    ['is no object', '["user"]', /not a JSON object/],
    ['is null', 'null', /not a JSON object/],
    ['is not UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), /not valid UTF-8/],
    ['has no type', '{"id":"u"}', /type is missing: expected "user", "group", "thread" or "message"/],
    [
      'has an unknown type',
      '{"type":"team","id":"u"}',
      /unknown type: expected "user", "group", "thread" or "message"/,
    ],
    ['has a type that is no string', '{"type":["user"],"id":"u"}', /unknown type/],
    [
      'has a number that would change',
      '{"type":"user","id":"u","metadata":{"n":1e400}}',
      /1e400 cannot be stored/,
    ],
    ['is nested deeper than can be read with care', deep, /nested too deeply/],
    ['is nested deeper than a body of the server may be', nested(16_398), /nested too deeply/],
    [
      'has an object that V8 cannot store',
      many('"":1', 8_000_001),
      /an object with more than 8000000 fields/,
    ],
  ];
  for (const [what, text, reason] of cases) {
    test(`a line that ${what} is rejected`, () => {
      assert.throws(
        () => read(text),
        (error) => error instanceof LineError && reason.test(error.message),
      );
    });
  }

  test('a line that is longer than the limit is rejected', () => {
    assert.throws(() => readEntry({ number: 1, bytes: null }, 'f'), /longer than \d+ bytes/);
  });
});
