import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wantsStream } from '../../src/http/wants-stream.ts';

const STREAM = [
  'text/event-stream',
  'TEXT/Event-Stream',
  'text/event-stream; charset=utf-8',
  'text/event-stream, */*;q=0.1',
  'text/event-stream, application/json',
  'application/json, text/event-stream',
  'application/json;q=0.5, text/event-stream;q=0.8',
  'text/html, text/event-stream;q=0.001',
  'text/*',
  'text/*;q=0.3, application/json;q=0.2',
];
const JSON_READING = [
  undefined,
  '',
  '*/*',
  'application/json',
  'text/html',
  'text/event-stream;q=0',
  'text/event-stream;q=0.0, */*',
  'application/json, text/event-stream;q=0.9',
  'text/event-stream;q=0.5, */*',
  'text/event-stream;q=high',
  'text/event-stream;q=2',
  'text/event-streams',
  'application/text/event-stream',
  'text/*, text/event-stream;q=0',
];

test('an Accept header that prefers text/event-stream gets the stream', () => {
  for (const accept of STREAM) assert.equal(wantsStream(accept), true, String(accept));
});

test('an Accept header that prefers JSON, or has no text/event-stream, gets the reading', () => {
  for (const accept of JSON_READING) assert.equal(wantsStream(accept), false, String(accept));
});
