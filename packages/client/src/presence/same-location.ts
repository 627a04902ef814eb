import type { Location } from '../protocol.ts';
import type { Place } from './announcement.ts';

/** One text for all spellings of a location: the order of its keys does not matter. */
export const locationKey = (location: Location): string =>
  JSON.stringify(Object.entries(location).sort(([a], [b]) => (a < b ? -1 : 1)));

export const sameLocation = (a: Location, b: Location): boolean => locationKey(a) === locationKey(b);

/** Whether presence at one of the places ends presence at the other. */
export function isSameRegion(a: Place, b: Place): boolean {
  if (a.exclusiveWithin === undefined || b.exclusiveWithin === undefined) return false;
  return sameLocation(a.exclusiveWithin, b.exclusiveWithin);
}
