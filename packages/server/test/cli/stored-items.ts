/** Prints how many bytes an interruptible command stores of 100 MB that it has read. Run by a Node of its own. */
import { interruptible } from '../../src/cli/interruption.ts';
import { usedBytes } from '../support/heap.ts';

const ITEMS = 100;

async function* buffers() {
  for (let index = 0; index < ITEMS; index += 1) yield Buffer.alloc(1_000_000);
}

const before = await usedBytes();
const items = interruptible(buffers(), new AbortController().signal);
for (let index = 0; index < ITEMS - 1; index += 1) await items.next();
console.log((await usedBytes()) - before);
await items.next();
