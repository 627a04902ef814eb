import assert from 'node:assert/strict';
import type { ErrorCode } from '@rollcall/protocol';
import { expectError } from './expect.ts';
import type { Answer } from './http-client.ts';

/** Asserts a token failure: a 401 with one of the codes, and the header that makes clients request a new token. */
export function expectTokenFailure(answer: Answer, ...codes: ErrorCode[]): void {
  assert.equal(answer.status, 401, answer.text);
  const { error } = answer.json<{ error: ErrorCode }>();
  assert.ok(codes.includes(error), `${error} is none of ${codes}`);
  expectError(answer, 401, error);
  assert.match(String(answer.headers['www-authenticate']), /^Bearer\b/);
}
