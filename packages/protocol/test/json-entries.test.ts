import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JsonObjectError, parseJsonObject, structureError } from '@rollcall/protocol';

const FIELDS_MAX = 8_000_000;
const ITEMS_MAX = 100_000_000;

/** So many entries, with a comma behind each but the last. */
const entries = (count: number, entry: string) => `${`${entry},`.repeat(count - 1)}${entry}`;

test('an object with more fields than V8 can store is rejected before it is parsed, and one with fewer is not', () => {
  const body = (fields: number) => Buffer.from(`{"users":[{"metadata":{${entries(fields, '"":1')}}}]}`);
  assert.equal(structureError(body(FIELDS_MAX)), null);
  assert.throws(
    () => parseJsonObject(body(FIELDS_MAX + 1)),
    (error) =>
      error instanceof JsonObjectError &&
      error.message === 'the request body has an object with more than 8000000 fields',
  );
});

test('an array with more items than V8 can store is rejected before it is parsed, and one with fewer is not', () => {
  const body = (items: number) => Buffer.from(`{"users":[${entries(items, '0')}]}`);
  assert.equal(structureError(body(ITEMS_MAX)), null);
  assert.equal(structureError(body(ITEMS_MAX + 1)), 'has an array with more than 100000000 items');
});

test('entries count for the object or array that they are in, and not in strings', () => {
  const many = entries(3_000_000, '{"a,\\",":1,"b":2}');
  const body = Buffer.from(`{"users":[${many}],"groups":[${many}],"x":{${entries(FIELDS_MAX, '"":1')}}}`);
  assert.equal(structureError(body), null);
});
