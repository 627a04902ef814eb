import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JsonObjectError, parseJsonObject, structureError } from '@rollcall/protocol';
import { entriesError } from '../src/json.ts';

const FIELDS_MAX = 8_000_000;
/** Where the limit of V8 itself would take a body of 200 MB. */
const FEW = { fields: 5, items: 7 };

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

test('an array with more items than V8 can store is rejected, and one with fewer is not', () => {
  const error = (items: number) => entriesError(Buffer.from(`{"users":[${entries(items, '0')}]}`), FEW);
  assert.equal(error(FEW.items), null);
  assert.equal(error(FEW.items + 1), 'has an array with more than 7 items');
});

test('entries count for the object or array that they are in, and not in strings', () => {
  const error = (many: string, fields = FEW.fields) =>
    entriesError(Buffer.from(`{"users":[${many}],"groups":[${many}],"x":{${entries(fields, '"":1')}}}`), FEW);
  const full = entries(FEW.items, '{"a,\\",":1,"b":2}');
  assert.equal(error(full), null);
  assert.equal(error(full, FEW.fields + 1), 'has an object with more than 5 fields');
  assert.equal(error(`${full},0`), 'has an array with more than 7 items');
});
