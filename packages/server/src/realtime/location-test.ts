import { type Location, locationMatches, parseJson } from '@rollcall/protocol';
import type { Json, LocationFilter } from '../store/store.ts';

/** How many locations are kept parsed: those of a burst are asked about once for each filter. */
const PARSED_MAX = 256;
const parsed = new Map<Json, Location>();

/** Whether a location is one that the filter is about. */
export function locationTest(filter: LocationFilter): (location: Json) => boolean {
  if (filter === null) return () => true;
  if (!filter.partial) return (location) => location === filter.location;
  const pattern = parseJson(filter.location) as Location;
  return (location) => locationMatches(parse(location), pattern);
}

function parse(location: Json): Location {
  let value = parsed.get(location);
  if (value === undefined) {
    if (parsed.size === PARSED_MAX) parsed.clear();
    value = parseJson(location) as Location;
    parsed.set(location, value);
  }
  return value;
}
