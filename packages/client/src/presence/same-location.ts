import type { Location } from '../protocol.ts';

/** One text for all spellings of a location: the order of its keys does not matter. */
export const locationKey = (location: Location): string =>
  JSON.stringify(Object.entries(location).sort(([a], [b]) => (a < b ? -1 : 1)));

export const sameLocation = (a: Location, b: Location): boolean => locationKey(a) === locationKey(b);
