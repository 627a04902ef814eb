import assert from 'node:assert/strict';
import type { ErrorCode } from '@rollcall/protocol';
import { expectRefused } from './expect.ts';
import type { Answer } from './http-client.ts';

/** A failure of the token: a 401 with one of the codes, and the header that tells clients to fetch a new token. */
export function expectTokenFailure(answer: Answer, ...codes: ErrorCode[]): void {
  assert.equal(answer.status, 401, answer.text);
  const { error } = answer.json<{ error: ErrorCode }>();
  assert.ok(codes.includes(error), `${error} is none of ${codes}`);
  expectRefused(answer, 401, error);
  assert.match(String(answer.headers['www-authenticate']), /^Bearer\b/);
}
