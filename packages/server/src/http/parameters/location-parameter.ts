import { canonicalLocation, isJsonObject, type Location } from '@rollcall/protocol';
import type { LocationFilter } from '../../values/location-filter.ts';

export interface LocationParameters {
  readonly location?: Location;
  readonly partial_match?: boolean;
}

export const locationFilterOf = ({
  location,
  partial_match: partial = false,
}: LocationParameters): LocationFilter =>
  location === undefined ? null : { location: canonicalLocation(location), partial };

/** Whether a query that is not validated yet has a location that can be written as a text, or none. */
export const hasLocation = (query: { readonly location?: unknown }): boolean =>
  query.location === undefined ||
  (isJsonObject(query.location) && Object.values(query.location).every((part) => typeof part === 'string'));
