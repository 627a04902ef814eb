import { setImmediate as nextTick } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/**
 * Bytes that are in use after a collection, on the heap and in buffers. The test runner may forget a tick later what was
 * freed by one collection, and that frees more.
 */
export async function usedBytes(): Promise<number> {
  for (let pass = 0; pass < 3; pass += 1) {
    collectGarbage();
    await nextTick();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
