/** The rules for every response, whatever the request was. */
import assert from 'node:assert/strict';
import { ERRORS } from '@rollcall/protocol';
import type { Answer } from './http-client.ts';

const SUCCESSES = [200, 201];
/** Statuses that the contract gives to `invalid_request` besides its own. */
const SITUATIONS = [404, 405, 412, 413, 414, 429, 431];

/** Asserts a success, or an error of the table with its status; not an internal error. */
export function expectInVocabulary(answer: Answer): void {
  const { status, text } = answer;
  if (SUCCESSES.includes(status)) return void JSON.parse(text);
  const body = JSON.parse(text) as { error: keyof typeof ERRORS; message: unknown };
  assert.deepEqual(Object.keys(body).sort(), ['error', 'message'], text);
  assert.equal(typeof body.message, 'string', text);
  assert.notEqual(body.error, 'error', text);
  assert.ok(Object.hasOwn(ERRORS, body.error), text);
  const ofSituation = body.error === 'invalid_request' && SITUATIONS.includes(status);
  assert.ok(ofSituation || status === ERRORS[body.error].status, `${status}: ${text}`);
  assert.ok(text.length < 20_000, 'an error message does not repeat a long input');
}
