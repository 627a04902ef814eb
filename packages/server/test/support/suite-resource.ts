import assert from 'node:assert/strict';
import { after, before } from 'node:test';

/** What all tests of a suite use. */
export interface SuiteResource<Value> {
  /** Usable within tests. */
  readonly value: Value;
  /** The same, once it is open: for the hooks of the suite, which the test runner starts before it is. */
  readonly opened: Promise<Value>;
}

/** Opens a resource before the tests of the calling suite, and ends its bracket after them. */
export function suiteResource<Value>(
  bracket: (use: (value: Value) => Promise<void>) => Promise<unknown>,
  beforeEnd: () => void = () => {},
): SuiteResource<Value> {
  const opened = Promise.withResolvers<Value>();
  const finished = Promise.withResolvers<void>();
  let current: { readonly value: Value } | undefined;
  let ended: Promise<unknown>;
  before(async () => {
    ended = bracket((value) => {
      opened.resolve(value);
      return finished.promise;
    });
    ended.catch(opened.reject);
    current = { value: await opened.promise };
  });
  after(async () => {
    beforeEnd();
    finished.resolve();
    await ended;
  });
  return {
    opened: opened.promise,
    get value() {
      assert.ok(current !== undefined, 'the resource has not been opened yet');
      return current.value;
    },
  };
}
