import assert from 'node:assert/strict';
import { RollcallError, type RollcallErrorCode } from '../../src/index.ts';

/** Asserts that the call rejects with this code. */
export const rejects = (promise: Promise<unknown>, code: RollcallErrorCode, status: number): Promise<void> =>
  assert.rejects(promise, (error) => {
    assert.ok(error instanceof RollcallError);
    assert.deepEqual([error.code, error.status], [code, status], error.message);
    assert.match(String(error.requestId), /./);
    return true;
  });
