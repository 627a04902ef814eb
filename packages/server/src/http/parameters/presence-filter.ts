import type { PresenceFilter } from '../../core/presence/presence-reading.ts';
import { expansionsOf } from './expand-parameter.ts';
import { type LocationParameters, locationFilterOf } from './location-parameter.ts';

interface FilterParameters extends LocationParameters {
  readonly exclude_durable?: boolean;
  readonly expand?: string;
}

/** What a reading, a stream or a watch shows. */
export function filterOf(query: FilterParameters): PresenceFilter {
  const { exclude_durable: excludeDurable = false, expand } = query;
  return {
    location: locationFilterOf(query),
    excludeDurable,
    ...(expand !== undefined && { expand: expansionsOf(expand) }),
  };
}
