/**
 * Maps in parallel, at most `concurrency` at once, and yields in the order of the source. Looks no further ahead than
 * that, so a slow reader holds the work back.
 */
export async function* orderedMap<In, Out>(
  source: AsyncIterable<In>,
  concurrency: number,
  map: (item: In) => Promise<Out>,
): AsyncGenerator<Out> {
  const window: Promise<Out>[] = [];
  for await (const item of source) {
    const mapped = map(item);
    // Whoever comes to its turn sees the failure; where an earlier one ends the work first, nobody does.
    mapped.catch(() => {});
    window.push(mapped);
    if (window.length >= concurrency) yield await (window.shift() as Promise<Out>);
  }
  for (const mapped of window) yield await mapped;
}
