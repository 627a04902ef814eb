import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { MalformedQuery, NO_QUERY, parseQueryString } from '../../src/http/query-string.ts';

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

  test('a query string can have parameters with the names of object members', () => {
    assert.deepEqual(Object.keys(parseQueryString('__proto__=1&toString=2')), ['__proto__', 'toString']);
  });

  test('a query string with an escape that does not decode is malformed', () => {
    for (const text of ['a=%ZZ', 'a=%', 'a=%C3', 'a=%FF', 'b=1&%FF=1']) {
      assert.ok(parseQueryString(text) instanceof MalformedQuery, text);
    }
  });

  test('an empty query string has no parameters', () => {
    assert.equal(parseQueryString(''), NO_QUERY);
  });
});
