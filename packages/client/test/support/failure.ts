/** Errors of the client that a test expects. */
import assert from 'node:assert/strict';
import { RollcallError } from '../../src/index.ts';

export const failure = async (promise: Promise<unknown>): Promise<RollcallError> => {
  const error = await promise.then(
    () => assert.fail('it succeeded'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof RollcallError, String(error));
  return error;
};

export const isOf = (error: RollcallError, expected: Partial<RollcallError>) => {
  for (const [name, value] of Object.entries(expected)) {
    assert.deepEqual(error[name as keyof RollcallError], value, name);
  }
};
