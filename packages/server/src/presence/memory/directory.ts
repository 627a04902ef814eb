import type { Json } from '../../values/json.ts';
import type { LocationFilter } from '../../values/location-filter.ts';
import type { Presence } from './presence.ts';

/** The presences of one group, expired ones included until they are removed. */
export interface Directory {
  readonly size: number;
  all(): Iterable<Presence>;
  /** The presence that the user has in the region. */
  find(userId: string, region: Json): Presence | undefined;
  /** The user's presences, one a region, as they are now. */
  of(userId: string): readonly Presence[];
  /** Those of them that are at the location. */
  at(userId: string, location: Json): readonly Presence[];
  /** User IDs after `after`, ascending, perhaps repeated: all at locations that pass the filter, and perhaps others. */
  candidates(
    filter: LocationFilter,
    passes: (location: Json) => boolean,
    after: string | null,
  ): Iterable<string>;
  /** The one string that all presences with this location or region share; undefined where there is none. */
  textOf(text: Json): Json | undefined;

  /** Adds a presence; its user has none in its region. */
  add(presence: Presence): void;
  /** Removes a presence of the directory. */
  remove(presence: Presence): void;
  /** Moves a presence of the directory to another location. */
  move(presence: Presence, location: Json): void;
}
