import { canonicalLocation, type Location } from '@rollcall/protocol';
import type { PresenceFilter } from '../core/presence-reading.ts';
import { expansionsOf } from './operations/expand-parameter.ts';

/** The parameters of a filter. */
interface FilterParameters {
  readonly location?: Location;
  readonly partial_match?: boolean;
  readonly exclude_durable?: boolean;
  readonly expand?: string;
}

/** What a reading, a stream or a watch shows. */
export function filterOf({
  location,
  partial_match: partial = false,
  exclude_durable: excludeDurable = false,
  expand,
}: FilterParameters): PresenceFilter {
  return {
    location: location === undefined ? null : { location: canonicalLocation(location), partial },
    excludeDurable,
    ...(expand !== undefined && { expand: expansionsOf(expand) }),
  };
}
