import type { Json } from './json.ts';
import type { LocationFilter } from './location-filter.ts';

/** One `"key":"value"` of a canonical location text; a quote within a string has a backslash before it. */
const PAIR = /"[^"\\]*(?:\\.[^"\\]*)*":"[^"\\]*(?:\\.[^"\\]*)*"/g;

/** How much text of locations has its pairs cached; they take a few times the memory of the text. */
const CACHED_TEXT_MAX = 1_000_000;
const cache = new Map<Json, ReadonlySet<string>>();
let cachedText = 0;

/** The pairs of a canonical location text, as texts: two locations have a pair in common when they have its text in common. */
export const pairsOf = (location: Json): readonly string[] => location.match(PAIR) ?? [];

/** The same for locations that are compared with many filters. */
export function cachedPairsOf(location: Json): ReadonlySet<string> {
  let pairs = cache.get(location);
  if (pairs === undefined) {
    if (cachedText > CACHED_TEXT_MAX) {
      cache.clear();
      cachedText = 0;
    }
    pairs = new Set(pairsOf(location));
    cache.set(location, pairs);
    cachedText += location.length;
  }
  return pairs;
}

export function locationTest(filter: LocationFilter): (location: Json) => boolean {
  if (filter === null) return () => true;
  if (!filter.partial) return (location) => location === filter.location;
  const wanted = pairsOf(filter.location);
  return (location) => {
    const pairs = cachedPairsOf(location);
    return wanted.every((pair) => pairs.has(pair));
  };
}
