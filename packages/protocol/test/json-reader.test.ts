import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { hasEscapedKey, readJson } from '../src/json-reader.ts';

const { stringify } = JSON;

/** A value and one of its JSON texts, with random escapes and whitespace. */
interface Written {
  readonly value: unknown;
  readonly text: string;
}

const SPACE = fc.stringMatching(/^[ \t\r\n]{0,2}$/);
/** Any code point, lone surrogates too. For `binary` units, fast-check makes a map of all of them. */
const UNIT = fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code));
const KEYS = fc.oneof(
  fc.string({ unit: UNIT, maxLength: 4 }),
  fc.constantFrom(
    '__proto__',
    'toJSON',
    'constructor',
    'valueOf',
    'hasOwnProperty',
    '1',
    '01',
    '',
    '\\',
    '"',
    '\n',
    'ключ',
    '\\u04',
  ),
);
const unitsOf = (text: string) => Array.from({ length: text.length }, (_, index) => text.charAt(index));

/** A JSON string in which `coins` decide which units are escaped. */
const spelled = (text: string, coins: readonly boolean[]): string => {
  const units = unitsOf(text).map((unit, index) => {
    const code = unit.charCodeAt(0);
    const hex = `\\u${code.toString(16).padStart(4, '0')}`;
    if (coins[index % coins.length] === true) return hex;
    return code < 0x20 || unit === '"' || unit === '\\' ? stringify(unit).slice(1, -1) : unit;
  });
  return `"${units.join('')}"`;
};
const COINS = fc.array(fc.boolean(), { minLength: 1, maxLength: 7 });
const text = fc.tuple(KEYS, COINS).map(([value, coins]): Written => ({ value, text: spelled(value, coins) }));
const number = fc
  .oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }))
  .map((value): Written => ({ value, text: Object.is(value, -0) ? '-0' : stringify(value) }));
const word = fc
  .constantFrom<unknown>(true, false, null)
  .map((value): Written => ({ value, text: `${value}` }));

function objectOf(entries: readonly (readonly [Written, Written])[], space: string): Written {
  const value = {};
  for (const [key, { value: inner }] of entries) {
    const whole = { value: inner, writable: true, enumerable: true, configurable: true };
    Object.defineProperty(value, key.value as string, whole);
  }
  const pairs = entries.map(([key, inner]) => `${key.text}${space}:${space}${inner.text}`);
  return { value, text: `{${space}${pairs.join(`${space},${space}`)}${space}}` };
}

const { written } = fc.letrec<{ written: Written }>((tie) => ({
  written: fc.oneof(
    { maxDepth: 4 },
    text,
    number,
    word,
    fc.tuple(fc.array(tie('written'), { maxLength: 4 }), SPACE).map(
      ([items, space]): Written => ({
        value: items.map(({ value }) => value),
        text: `[${space}${items.map((item) => item.text).join(`${space},`)}${space}]`,
      }),
    ),
    fc
      .tuple(fc.array(fc.tuple(text, tie('written')), { maxLength: 4 }), SPACE)
      .map(([entries, space]) => objectOf(entries, space)),
  ),
}));

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes of the heap that a value takes. */
function heapOf(make: () => unknown): number {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const value = make();
  collectGarbage();
  const bytes = process.memoryUsage().heapUsed - before;
  assert.ok(value);
  return bytes;
}

describe('readJson', () => {
  test('readJson reads the value of a JSON text, whatever its escapes and whitespace', () => {
    fc.assert(
      fc.property(written, SPACE, ({ value, text: source }, space) => {
        const read = readJson(`${space}${source}${space}`);
        assert.deepEqual(read, value);
        // Keys in the order in which they were first written.
        assert.equal(stringify(read), stringify(value));
      }),
      { numRuns: 2_000 },
    );
  });

  test('readJson accepts and rejects the same texts as JSON.parse', () => {
    const accepts = (parse: (source: string) => unknown, source: string) => {
      try {
        parse(source);
        return true;
      } catch (error) {
        assert.ok(error instanceof SyntaxError, `${error}`);
        return false;
      }
    };
    const broken = fc
      .tuple(
        written,
        fc.nat(),
        fc.constantFrom('', ',', '}', ']', '"', '\\', '0', '-', '.', 'e', ':', '\0', 'u'),
      )
      .map(([{ text: source }, offset, put]) => {
        const at = offset % (source.length + 1);
        return source.slice(0, at) + put + source.slice(at + (put === '' ? 1 : 0));
      });
    fc.assert(
      fc.property(broken, (source) => {
        assert.equal(accepts(readJson, source), accepts(JSON.parse, source));
      }),
      { numRuns: 5_000 },
    );
    const truncated = ['{"a":[1,2]}', '[{}]', '"\\n"', 'null'].flatMap((source) =>
      Array.from(source, (_, end) => source.slice(0, end)),
    );
    for (const source of [...truncated, ' ', '01', '1.', '+1', '\ufeff1'])
      assert.equal(accepts(readJson, source), false, source);
  });

  test('readJson does not confuse an escaped key with the key of another object', () => {
    const escaped = '{"k":"1","\\u043a\\u043b\\u044e\\u0447":"2"}';
    for (let count = 0; count < 100; count += 1) JSON.parse('{"k":"1","\\\\u04":"2"}');
    assert.deepEqual(readJson(escaped), { k: '1', ключ: '2' });
  });

  test('readJson reads a text that is nested more deeply than the stack', () => {
    const depth = 200_000;
    let value = readJson(`${'[{"a":'.repeat(depth)}1${'}]'.repeat(depth)}`);
    for (let level = 0; level < depth; level += 1) value = (value as [{ a: unknown }])[0].a;
    assert.equal(value, 1);
  });

  for (const [what, source] of [
    ['keys that are large indexes', `[${Array(10_000).fill('{"1023":1}').join()}]`],
    [
      'one object of many indexes',
      `{${Array.from({ length: 20_000 }, (_, index) => `"${index * 97}":1`).join()}}`,
    ],
    ['many short arrays', `[${Array(100_000).fill('[1]').join()}]`],
    [
      'deep arrays',
      `[${Array(20)
        .fill('['.repeat(5_000) + ']'.repeat(5_000))
        .join()}]`,
    ],
  ] as const) {
    test(`readJson takes hardly more memory than JSON.parse for ${what}`, () => {
      const [own, native] = [heapOf(() => readJson(source)), heapOf(() => JSON.parse(source))];
      assert.ok(own < native * 1.5 + 1_000_000, `${own} bytes beside ${native}`);
    });
  }

  test('readJson passes the source of each number to toNumber', () => {
    assert.deepEqual(
      readJson('[1.50, -2e+3]', (source) => source),
      ['1.50', '-2e+3'],
    );
  });
});

describe('hasEscapedKey', () => {
  const cases: readonly (readonly [string, boolean])[] = [
    ['{"a":"\\n"}', false],
    ['["\\\\","b"]', false],
    ['{"a\\n":1}', true],
    ['{"a\\"" \r\n\t: 1}', true],
    ['{"a":"\\"","b\\u0020":1}', true],
    ['{"a":"\\\\","b":"c:"}', false],
    ['[":\\"",":"]', false],
    ['{"a":{"b":[{"\\/":0}]}}', true],
  ];
  for (const [source, expected] of cases)
    test(`hasEscapedKey finds ${expected ? 'the' : 'no'} escaped key in ${source}`, () =>
      assert.equal(hasEscapedKey(source), expected));

  test('hasEscapedKey is true if and only if a key of the text has an escape', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text), { maxLength: 5 }), SPACE, (entries, space) => {
        const expected = entries.some(([key]) => key.text.includes('\\'));
        assert.equal(hasEscapedKey(objectOf(entries, space).text), expected);
      }),
    );
  });
});
