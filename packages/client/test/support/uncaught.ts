import type { TestContext } from 'node:test';

/** The errors that nothing catches from now on until the test ends. They do not fail the test. */
export function uncaughtErrors(context: TestContext): unknown[] {
  const thrown: unknown[] = [];
  const onUncaught = (error: unknown) => thrown.push(error);
  const others = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', onUncaught);
  context.after(() => {
    process.off('uncaughtException', onUncaught);
    for (const other of others) process.on('uncaughtException', other);
  });
  return thrown;
}
