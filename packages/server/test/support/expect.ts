/** Assertions about responses of the contract. */
import assert from 'node:assert/strict';
import type { ErrorCode } from '@rollcall/protocol';
import type { Answer } from './http-client.ts';

/** Asserts a successful write: exactly `success` and `message`, and the message contains all of `fragments`. */
export function expectDone(answer: Answer, ...fragments: string[]): void {
  assert.equal(answer.status, 200, `${answer.status}: ${answer.text}`);
  expectDoneBody(answer, fragments);
}

/** Asserts that a create-only POST created. */
export function expectCreated(answer: Answer, ...fragments: string[]): void {
  assert.equal(answer.status, 201, `${answer.status}: ${answer.text}`);
  expectDoneBody(answer, fragments);
}

function expectDoneBody(answer: Answer, fragments: string[]): void {
  const body = answer.json<{ success: unknown; message: string }>();
  assert.deepEqual(Object.keys(body).sort(), ['message', 'success']);
  assert.equal(body.success, true);
  assert.match(String(answer.headers['content-type']), /^application\/json/);
  expectFragments(body.message, fragments);
}

/** Asserts a successful read, and returns its body. */
export function expectOk<Body>(answer: Answer): Body {
  assert.equal(answer.status, 200, `${answer.status}: ${answer.text}`);
  assert.match(String(answer.headers['content-type']), /^application\/json/);
  return answer.json<Body>();
}

/** Asserts an error: exactly `error` and `message`; the message contains all of `fragments`. Returns the message. */
export function expectError(answer: Answer, status: number, code: ErrorCode, ...fragments: string[]): string {
  assert.equal(answer.status, status, `${answer.status}: ${answer.text}`);
  const body = answer.json<{ error: string; message: string }>();
  assert.deepEqual(Object.keys(body).sort(), ['error', 'message']);
  assert.equal(body.error, code, answer.text);
  assert.match(String(answer.headers['content-type']), /^application\/json/);
  expectFragments(body.message, fragments);
  return body.message;
}

/** Asserts a not-found error: 401, without the header that would make clients request a new token. */
export function expectNotFound(
  answer: Answer,
  code: 'user_not_found' | 'group_not_found' | 'organization_not_found',
  ...fragments: string[]
): string {
  const message = expectError(answer, 401, code, ...fragments);
  assert.equal(answer.headers['www-authenticate'], undefined);
  return message;
}

function expectFragments(message: string, fragments: string[]): void {
  for (const fragment of fragments) {
    assert.ok(message.includes(fragment), `"${message}" does not contain "${fragment}"`);
  }
}
