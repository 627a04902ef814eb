import { type Location, locationMatches, parseJson } from '@rollcall/protocol';
import type { Json, LocationFilter } from '../store/store.ts';

/**
 * How much text of locations is stored parsed, for all groups: each filter of a group asks about the same locations. A
 * parsed location takes a few times the memory of its text.
 */
const PARSED_TEXT_MAX = 1_000_000;
const parsed = new Map<Json, Location>();
let parsedText = 0;

/** Whether a location is one that the filter is about. */
export function locationTest(filter: LocationFilter): (location: Json) => boolean {
  if (filter === null) return () => true;
  if (!filter.partial) return (location) => location === filter.location;
  const pattern = parseJson(filter.location) as Location;
  return (location) => locationMatches(parsedLocation(location), pattern);
}

/** The location as an object, parsed once for all filters. */
export function parsedLocation(location: Json): Location {
  let value = parsed.get(location);
  if (value === undefined) {
    if (parsedText > PARSED_TEXT_MAX) {
      parsed.clear();
      parsedText = 0;
    }
    value = parseJson(location) as Location;
    parsed.set(location, value);
    parsedText += location.length;
  }
  return value;
}
