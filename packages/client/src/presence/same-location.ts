import type { Location } from '../protocol.ts';
import type { AnnouncedLocation } from './announced-location.ts';

/** A string that is equal for equal locations, whatever the order of their keys. */
export const locationKey = (location: Location): string =>
  JSON.stringify(Object.entries(location).sort(([a], [b]) => (a < b ? -1 : 1)));

export const sameLocation = (a: Location, b: Location): boolean => locationKey(a) === locationKey(b);

/** Whether both are in the same exclusive region, so that presence at one ends presence at the other. */
export function isSameRegion(a: AnnouncedLocation, b: AnnouncedLocation): boolean {
  if (a.exclusiveWithin === undefined || b.exclusiveWithin === undefined) return false;
  return sameLocation(a.exclusiveWithin, b.exclusiveWithin);
}
