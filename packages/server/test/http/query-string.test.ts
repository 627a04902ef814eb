import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { MalformedQuery, NO_QUERY, parseQueryString } from '../../src/http/parameters/query-string.ts';

suite('query strings', () => {
  test('query strings are parsed as URLSearchParams writes them', () => {
    const names = fc.uniqueArray(fc.string({ unit: 'grapheme', minLength: 1 }), { maxLength: 5 });
    const property = fc.property(names, fc.string({ unit: 'grapheme' }), (parameters, value) => {
      const text = String(new URLSearchParams(parameters.map((name) => [name, value])));
      assert.deepEqual(
        { ...parseQueryString(text) },
        Object.fromEntries(parameters.map((name) => [name, value])),
      );
    });
    fc.assert(property);
  });

  test('a repeated parameter of a query string has all of its values', () => {
    assert.deepEqual({ ...parseQueryString('a=1&b=2&a=3&a=') }, { a: ['1', '3', ''], b: '2' });
  });

  test('a parameter of a query string without a value has an empty one, and there can be empty pairs', () => {
    assert.deepEqual({ ...parseQueryString('a&&flag&b=1&') }, { a: '', flag: '', b: '1' });
  });

  test('a query string can have parameters with the names of object members', () => {
    assert.deepEqual(Object.keys(parseQueryString('__proto__=1&toString=2')), ['__proto__', 'toString']);
  });

  test('a query string with an escape that does not decode is malformed, and names the parameter', () => {
    const malformed = { 'a=%ZZ': 'a', 'b=1&a=%': 'a', 'a=%C3': 'a', '%61=%FF': 'a', 'b=1&%FF=1': '%FF' };
    for (const [text, parameter] of Object.entries(malformed)) {
      const query = parseQueryString(text);
      assert.ok(query instanceof MalformedQuery, text);
      assert.equal(query.parameter, parameter, text);
    }
  });

  test('an empty query string has no parameters', () => {
    assert.equal(parseQueryString(''), NO_QUERY);
  });
});
