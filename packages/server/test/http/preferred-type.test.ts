import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wantsPage, wantsStream } from '../../src/http/preferred-type.ts';

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
  'text/*, application/json',
  'text/event-stream;q=0, text/event-stream',
];

test('an Accept header that prefers text/event-stream gets the stream', () => {
  for (const accept of STREAM) assert.equal(wantsStream(accept), true, String(accept));
});

test('an Accept header that prefers JSON, or has no text/event-stream, gets the reading', () => {
  for (const accept of JSON_READING) assert.equal(wantsStream(accept), false, String(accept));
});

const CHROMIUM =
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7';

test('the Accept header of a browser prefers a page; that of a program does not', () => {
  for (const accept of [CHROMIUM, 'text/html', 'application/json, text/html'])
    assert.equal(wantsPage(accept), true, accept);
  for (const accept of [undefined, '*/*', 'application/json', 'text/html;q=0', 'text/html;q=0.9, */*'])
    assert.equal(wantsPage(accept), false, String(accept));
});
