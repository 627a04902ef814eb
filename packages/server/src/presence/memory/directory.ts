import type { Json, LocationFilter } from '../../store/store.ts';
import type { Presence } from './presence.ts';

/** The presences of one group, ended ones included until they are removed, findable in every way that the port asks for. */
export interface Directory {
  /** How many presences there are. */
  readonly size: number;
  all(): Iterable<Presence>;
  /** The presence that the user has in the region. */
  find(userId: string, region: Json): Presence | undefined;
  /** The user's presences, one a region, as they are now. */
  of(userId: string): readonly Presence[];
  /** Those of them that are at the location. */
  at(userId: string, location: Json): readonly Presence[];
  /** User IDs after `after`, ascending, perhaps repeated: all who are at a place that passes, and perhaps others. */
  candidates(
    filter: LocationFilter,
    passes: (location: Json) => boolean,
    after: string | null,
  ): Iterable<string>;
  /** The text, as one string that all who have it share, of a location or region that is there. */
  textOf(text: Json): Json | undefined;

  /** Adds a presence of a user and region that have none. */
  add(presence: Presence): void;
  /** Removes a presence that is there. */
  remove(presence: Presence): void;
  /** Puts a presence that is there at another location. */
  move(presence: Presence, location: Json): void;
}
