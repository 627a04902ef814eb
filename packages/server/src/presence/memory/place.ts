import type { Json } from '../../store/store.ts';
import { type IdBag, idCount, withId, withoutId } from './id-bag.ts';

/** Up to how many places are an array. */
const LISTED_PLACES_MAX = 8;

/** What an index entry lists: who is at some places, and the places. */
export interface Listing {
  /** Users in ascending order, each once for every presence of theirs. */
  readonly users: IdBag | undefined;
  readonly placeCount: number;
  places(): Iterable<Place>;
}

/** A location at which somebody is, shared by all who are there. Alone in its listing where nothing else has the pair. */
export class Place implements Listing {
  readonly location: Json;
  users: IdBag | undefined = undefined;

  constructor(location: Json) {
    this.location = location;
  }

  get placeCount(): number {
    return 1;
  }

  places(): Iterable<Place> {
    return [this];
  }
}

/** The places that have a pair, and all who are there: a page of a partial reading walks one list however many places. */
export class PairListing implements Listing {
  users: IdBag;
  /** One place, an array of a few, or a set of many: a set of few would be most of what a listing takes. */
  #places: Place | readonly Place[] | Set<Place>;

  /** Takes over from a place that was alone. */
  constructor(place: Place, users: IdBag) {
    this.users = users;
    this.#places = place;
  }

  get placeCount(): number {
    if (this.#places instanceof Place) return 1;
    return this.#places instanceof Set ? this.#places.size : this.#places.length;
  }

  places(): Iterable<Place> {
    return this.#places instanceof Place ? [this.#places] : this.#places;
  }

  /** The place of the only presence, or null where there are more. */
  get lonePlace(): Place | null {
    return this.#places instanceof Place && idCount(this.users) === 1 ? this.#places : null;
  }

  /** To be called before the user is at the place. */
  add(place: Place, userId: string): void {
    this.users = withId(this.users, userId);
    if (place.users === undefined) this.#addPlace(place);
  }

  /** One presence fewer, of several; to be called when the user has left the place. */
  remove(place: Place, userId: string): void {
    this.users = withoutId(this.users, userId) as IdBag;
    if (place.users === undefined) this.#removePlace(place);
  }

  #addPlace(place: Place): void {
    if (this.#places instanceof Set) {
      this.#places.add(place);
      return;
    }
    const places = this.#places instanceof Place ? [this.#places, place] : this.#places.concat(place);
    this.#places = places.length > LISTED_PLACES_MAX ? new Set(places) : places;
  }

  #removePlace(place: Place): void {
    if (this.#places instanceof Set) {
      this.#places.delete(place);
      if (this.#places.size < LISTED_PLACES_MAX / 2) this.#places = [...this.#places];
      return;
    }
    if (this.#places instanceof Place) return;
    const places = this.#places.toSpliced(this.#places.indexOf(place), 1);
    this.#places = places.length === 1 ? (places[0] as Place) : places;
  }
}
