import type { Json, LocationFilter } from '../../store/store.ts';

/** One `"key":"value"` of a canonical location text, whose strings hold quotes only behind backslashes. */
const PAIR = /"[^"\\]*(?:\\.[^"\\]*)*":"[^"\\]*(?:\\.[^"\\]*)*"/g;

/** The pairs of a canonical location text, as texts: locations have a pair in common when they have its text. */
export function pairsOf(location: Json): string[] {
  return location.match(PAIR) ?? [];
}

/** Numbers that stand for the pairs of a location in an index (FNV-1a, 32 bits, each once). Different pairs may share one. */
export function fingerprintsOf(location: Json): number[] {
  const fingerprints = pairsOf(location).map(fingerprint);
  return fingerprints.length > 1 ? [...new Set(fingerprints)] : fingerprints;
}

function fingerprint(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash | 0;
}

/** Whether a location passes the filter; what was found about a location is kept for as long as the function is. */
export function locationTest(filter: LocationFilter): (location: Json) => boolean {
  if (filter === null) return () => true;
  if (!filter.partial) return (location) => location === filter.location;
  const wanted = pairsOf(filter.location);
  const known = new Map<Json, boolean>();
  return (location) => {
    let passes = known.get(location);
    if (passes === undefined) {
      const pairs = pairsOf(location);
      passes = wanted.every((pair) => pairs.includes(pair));
      known.set(location, passes);
    }
    return passes;
  };
}
