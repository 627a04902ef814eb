import type { Json } from '../../values/json.ts';
import { type IdBag, idCount, withId, withoutId } from './id-bag.ts';

/** Up to this many locations are an array. */
const LISTED_LOCATIONS_MAX = 8;

/** An entry of the index: some locations, and the users at them. */
export interface Listing {
  /** Users in ascending order, each once for every presence. */
  readonly users: IdBag | undefined;
  readonly locationCount: number;
  locations(): Iterable<OccupiedLocation>;
}

/** A location with at least one user, shared by all presences at it. */
export class OccupiedLocation implements Listing {
  readonly location: Json;
  users: IdBag | undefined = undefined;

  constructor(location: Json) {
    this.location = location;
  }

  get locationCount(): number {
    return 1;
  }

  locations(): Iterable<OccupiedLocation> {
    return [this];
  }
}

/** The locations with a pair, and all users at them in one list: a page of a partial reading walks that list. */
export class PairListing implements Listing {
  users: IdBag;
  /** One location, an array of a few, or a set of many: a set of a few would be most of the memory of a listing. */
  #locations: OccupiedLocation | readonly OccupiedLocation[] | Set<OccupiedLocation>;

  /** Takes over from a location that was its own entry. */
  constructor(location: OccupiedLocation, users: IdBag) {
    this.users = users;
    this.#locations = location;
  }

  get locationCount(): number {
    if (this.#locations instanceof OccupiedLocation) return 1;
    return this.#locations instanceof Set ? this.#locations.size : this.#locations.length;
  }

  locations(): Iterable<OccupiedLocation> {
    return this.#locations instanceof OccupiedLocation ? [this.#locations] : this.#locations;
  }

  /** The location of the only presence, or null where there are more. */
  get loneLocation(): OccupiedLocation | null {
    return this.#locations instanceof OccupiedLocation && idCount(this.users) === 1 ? this.#locations : null;
  }

  /** Call it before the user is added to the location. */
  add(location: OccupiedLocation, userId: string): void {
    this.users = withId(this.users, userId);
    if (location.users === undefined) this.#addLocation(location);
  }

  /** Removes one presence of several. Call it when the user was removed from the location. */
  remove(location: OccupiedLocation, userId: string): void {
    this.users = withoutId(this.users, userId) as IdBag;
    if (location.users === undefined) this.#removeLocation(location);
  }

  #addLocation(location: OccupiedLocation): void {
    if (this.#locations instanceof Set) {
      this.#locations.add(location);
      return;
    }
    const locations =
      this.#locations instanceof OccupiedLocation
        ? [this.#locations, location]
        : this.#locations.concat(location);
    this.#locations = locations.length > LISTED_LOCATIONS_MAX ? new Set(locations) : locations;
  }

  #removeLocation(location: OccupiedLocation): void {
    if (this.#locations instanceof Set) {
      this.#locations.delete(location);
      if (this.#locations.size < LISTED_LOCATIONS_MAX / 2) this.#locations = [...this.#locations];
      return;
    }
    if (this.#locations instanceof OccupiedLocation) return;
    const locations = this.#locations.toSpliced(this.#locations.indexOf(location), 1);
    this.#locations = locations.length === 1 ? (locations[0] as OccupiedLocation) : locations;
  }
}
