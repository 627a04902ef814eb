import type { Json } from './json.ts';
import type { LocationFilter } from './location-filter.ts';

/** One `"key":"value"` of a canonical location text; a quote within a string has a backslash before it. */
const PAIR = /"[^"\\]*(?:\\.[^"\\]*)*":"[^"\\]*(?:\\.[^"\\]*)*"/g;

/** How much memory the cached pairs may take, with the texts of their locations. */
const CACHED_MAX_BYTES = 10_000_000;
/** What a location in the cache takes beside texts, and each of its pairs, as measured. */
const LOCATION_BYTES = 250;
const PAIR_BYTES = 50;
/** The location and its pairs have each character once, of two bytes at most. */
const CHARACTER_BYTES = 4;
const cache = new Map<Json, ReadonlySet<string>>();
let cachedBytes = 0;

/** The pairs of a canonical location text, as texts: two locations have a pair in common when they have its text in common. */
export const pairsOf = (location: Json): readonly string[] => location.match(PAIR) ?? [];

/** The same for locations that are compared with many filters. */
export function cachedPairsOf(location: Json): ReadonlySet<string> {
  let pairs = cache.get(location);
  if (pairs === undefined) {
    if (cachedBytes > CACHED_MAX_BYTES) {
      cache.clear();
      cachedBytes = 0;
    }
    pairs = new Set(pairsOf(location));
    cache.set(location, pairs);
    cachedBytes += LOCATION_BYTES + PAIR_BYTES * pairs.size + CHARACTER_BYTES * location.length;
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
