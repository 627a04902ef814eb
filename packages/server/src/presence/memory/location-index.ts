import type { Json } from '../../values/json.ts';
import type { LocationFilter } from '../../values/location-filter.ts';
import { fingerprintsOf } from './fingerprints.ts';
import { hasId, type IdBag, idCount, idsAfter, mergeIds, withId, withoutId } from './id-bag.ts';
import { type Listing, OccupiedLocation, PairListing } from './occupied-location.ts';

/** Up to this many locations, a partial reading merges the users of those that pass; above, it walks all users of a pair. */
const MERGED_LOCATIONS_MAX = 16;

/** The users of a group by location, and by each pair of a location. */
export class LocationIndex {
  readonly #locations = new Map<Json, OccupiedLocation>();
  /** By the pair's fingerprint. A location is its own entry while a single presence, at that location, has the pair. */
  readonly #pairs = new Map<number, OccupiedLocation | PairListing>();

  /** The text of this location that all presences at it share. */
  textOf(location: Json): Json | undefined {
    return this.#locations.get(location)?.location;
  }

  has(location: Json, userId: string): boolean {
    const users = this.#locations.get(location)?.users;
    return users !== undefined && hasId(users, userId);
  }

  add(location: Json, userId: string): void {
    let known = this.#locations.get(location);
    if (known === undefined) {
      known = new OccupiedLocation(location);
      this.#locations.set(location, known);
    }
    for (const fingerprint of fingerprintsOf(location)) this.#list(fingerprint, known, userId);
    known.users = withId(known.users, userId);
  }

  remove(location: Json, userId: string): void {
    const known = this.#locations.get(location) as OccupiedLocation;
    known.users = withoutId(known.users as IdBag, userId);
    if (known.users === undefined) this.#locations.delete(location);
    for (const fingerprint of fingerprintsOf(location)) this.#unlist(fingerprint, known, userId);
  }

  /**
   * IDs after `after`, ascending, perhaps repeated: all users at a location that passes the filter, and for a partial filter
   * with several pairs perhaps others that have the rarest of them.
   */
  candidates(
    filter: NonNullable<LocationFilter>,
    passes: (location: Json) => boolean,
    after: string | null,
  ): Iterable<string> {
    if (!filter.partial) return idsAfter(this.#locations.get(filter.location)?.users, after);
    const listings = this.#listingsOf(filter.location);
    if (listings === null) return [];
    const fewestLocations = leastBy(listings, (listing) => listing.locationCount);
    if (listings.length === 1 || fewestLocations.locationCount > MERGED_LOCATIONS_MAX) {
      return idsAfter(leastBy(listings, (listing) => idCount(listing.users as IdBag)).users, after);
    }
    const locations = [...fewestLocations.locations()].filter(({ location }) => passes(location));
    return mergeIds(locations.map(({ users }) => idsAfter(users, after)));
  }

  /** The entry of each pair of the location; null where no user is at a location with one of them. */
  #listingsOf(location: Json): Listing[] | null {
    const listings: Listing[] = [];
    for (const fingerprint of fingerprintsOf(location)) {
      const listing = this.#pairs.get(fingerprint);
      if (listing === undefined) return null;
      listings.push(listing);
    }
    return listings;
  }

  /** Call it before the user is added to the location, which then has one user if it is its own entry. */
  #list(fingerprint: number, known: OccupiedLocation, userId: string): void {
    const listing = this.#pairs.get(fingerprint);
    if (listing === undefined) {
      this.#pairs.set(fingerprint, known);
      return;
    }
    const shared =
      listing instanceof OccupiedLocation ? new PairListing(listing, listing.users as IdBag) : listing;
    if (shared !== listing) this.#pairs.set(fingerprint, shared);
    shared.add(known, userId);
  }

  /** Call it when the user was removed from the location. */
  #unlist(fingerprint: number, known: OccupiedLocation, userId: string): void {
    const listing = this.#pairs.get(fingerprint);
    if (!(listing instanceof PairListing)) {
      this.#pairs.delete(fingerprint);
      return;
    }
    listing.remove(known, userId);
    if (listing.loneLocation !== null) this.#pairs.set(fingerprint, listing.loneLocation);
  }
}

function leastBy<Item>(items: readonly Item[], measure: (item: Item) => number): Item {
  return items.reduce((least, item) => (measure(item) < measure(least) ? item : least));
}
