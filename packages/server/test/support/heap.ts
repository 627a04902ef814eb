import { setImmediate as nextIteration } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/**
 * The bytes in use after garbage collection, on the heap and in buffers. It collects several times: the test runner
 * releases objects in the ticks between.
 */
export async function usedBytes(): Promise<number> {
  for (let pass = 0; pass < 3; pass += 1) {
    collectGarbage();
    await nextIteration();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
