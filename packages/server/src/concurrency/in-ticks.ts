import { setImmediate as nextIteration } from 'node:timers/promises';

/** Calls `use` with one item after the other, so many in an event-loop tick at most: other work of the process continues in between. */
export async function inTicks<Item>(
  items: Iterable<Item>,
  atOnce: number,
  use: (item: Item) => void | Promise<void>,
): Promise<void> {
  let used = 0;
  for (const item of items) {
    if (used > 0 && used % atOnce === 0) await nextIteration();
    await use(item);
    used += 1;
  }
}
