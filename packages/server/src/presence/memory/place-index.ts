import type { Json, LocationFilter } from '../../store/store.ts';
import { hasId, type IdBag, idCount, idsAfter, mergeIds, withId, withoutId } from './id-bag.ts';
import { fingerprintsOf } from './location-pairs.ts';
import { type Listing, PairListing, Place } from './place.ts';

/** Up to how many places a partial reading merges those that pass, instead of walking all who are at any of them. */
const MERGED_PLACES_MAX = 16;

/** Who is where in a group: by location, and by each pair of a location. */
export class PlaceIndex {
  readonly #places = new Map<Json, Place>();
  /** By the pair's fingerprint. A place is its own entry while one presence, at that place, is all there is. */
  readonly #pairs = new Map<number, Place | PairListing>();

  /** The text that is kept for this location, so that all who are there share it. */
  textOf(location: Json): Json | undefined {
    return this.#places.get(location)?.location;
  }

  has(location: Json, userId: string): boolean {
    const users = this.#places.get(location)?.users;
    return users !== undefined && hasId(users, userId);
  }

  add(location: Json, userId: string): void {
    let place = this.#places.get(location);
    if (place === undefined) {
      place = new Place(location);
      this.#places.set(location, place);
    }
    for (const fingerprint of fingerprintsOf(location)) this.#list(fingerprint, place, userId);
    place.users = withId(place.users, userId);
  }

  remove(location: Json, userId: string): void {
    const place = this.#places.get(location) as Place;
    place.users = withoutId(place.users as IdBag, userId);
    if (place.users === undefined) this.#places.delete(location);
    for (const fingerprint of fingerprintsOf(location)) this.#unlist(fingerprint, place, userId);
  }

  /**
   * IDs after `after`, ascending, perhaps repeated: all users who are at a place that passes the filter, and where it
   * is partial with several pairs, perhaps others who have the rarest of them.
   */
  candidates(
    filter: NonNullable<LocationFilter>,
    passes: (location: Json) => boolean,
    after: string | null,
  ): Iterable<string> {
    if (!filter.partial) return idsAfter(this.#places.get(filter.location)?.users, after);
    const listings = this.#listingsOf(filter.location);
    if (listings === null) return [];
    const fewestPlaces = leastBy(listings, (listing) => listing.placeCount);
    if (listings.length === 1 || fewestPlaces.placeCount > MERGED_PLACES_MAX) {
      return idsAfter(leastBy(listings, (listing) => idCount(listing.users as IdBag)).users, after);
    }
    const places = [...fewestPlaces.places()].filter(({ location }) => passes(location));
    return mergeIds(places.map(({ users }) => idsAfter(users, after)));
  }

  /** What there is for each pair of the location; null where nobody is at a place that has one of them. */
  #listingsOf(location: Json): Listing[] | null {
    const listings: Listing[] = [];
    for (const fingerprint of fingerprintsOf(location)) {
      const listing = this.#pairs.get(fingerprint);
      if (listing === undefined) return null;
      listings.push(listing);
    }
    return listings;
  }

  /** To be called before the user is at the place: that has one user, then, if it is its own entry. */
  #list(fingerprint: number, place: Place, userId: string): void {
    const listing = this.#pairs.get(fingerprint);
    if (listing === undefined) {
      this.#pairs.set(fingerprint, place);
      return;
    }
    const shared = listing instanceof Place ? new PairListing(listing, listing.users as IdBag) : listing;
    if (shared !== listing) this.#pairs.set(fingerprint, shared);
    shared.add(place, userId);
  }

  /** To be called when the user has left the place. */
  #unlist(fingerprint: number, place: Place, userId: string): void {
    const listing = this.#pairs.get(fingerprint);
    if (!(listing instanceof PairListing)) {
      this.#pairs.delete(fingerprint);
      return;
    }
    listing.remove(place, userId);
    if (listing.lonePlace !== null) this.#pairs.set(fingerprint, listing.lonePlace);
  }
}

function leastBy<Item>(items: readonly Item[], measure: (item: Item) => number): Item {
  return items.reduce((least, item) => (measure(item) < measure(least) ? item : least));
}
