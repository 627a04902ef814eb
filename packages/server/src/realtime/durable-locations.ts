import type { DurablePresence, Json } from '../store/store.ts';

export type DurablePlace = Pick<DurablePresence, 'location' | 'at'>;

/** A durable location of a user, and which filters show it: one bit for each. */
class ShownLocation implements DurablePlace {
  readonly location: Json;
  readonly at: number;
  #filters: number[] = [];

  constructor({ location, at }: DurablePlace) {
    this.location = location;
    this.at = at;
  }

  get isShown(): boolean {
    return this.#filters.some((word) => word !== 0);
  }

  isShownBy(filter: number): boolean {
    return ((this.#filters[filter >>> 5] ?? 0) & (1 << (filter & 31))) !== 0;
  }

  show(filter: number): void {
    const index = filter >>> 5;
    if (index >= this.#filters.length) {
      // Of exactly the length that is needed: most groups are read with less than 32 filters.
      this.#filters = Array.from({ length: index + 1 }, (_, at) => this.#filters[at] ?? 0);
    }
    this.#filters[index] = (this.#filters[index] as number) | (1 << (filter & 31));
  }

  hide(filter: number): void {
    const index = filter >>> 5;
    if (index < this.#filters.length)
      this.#filters[index] = (this.#filters[index] as number) & ~(1 << (filter & 31));
  }
}

/**
 * The latest durable location of each user, for each filter of a group. Filters mostly show the same locations, so each
 * location is stored once, with a bit for every filter that shows it: about 100 bytes and its text for a location, one
 * bit for each filter and location. A location that no filter shows any more is dropped, so there are never more than
 * users times filters, nor more than the Store has. A filter is a number, taken with {@link open} and given back with
 * {@link close}.
 */
export class DurableLocations {
  readonly #users = new Map<string, ShownLocation[]>();
  readonly #isOpen: boolean[] = [];
  #version = 0;

  /** Changes whenever a user is added or removed. */
  get version(): number {
    return this.#version;
  }

  /** How many users have a location that some filter shows. */
  get size(): number {
    return this.#users.size;
  }

  /** The number of a new filter, which shows nothing yet: the smallest free one, so that bits are few. */
  open(): number {
    const free = this.#isOpen.indexOf(false);
    const filter = free === -1 ? this.#isOpen.length : free;
    this.#isOpen[filter] = true;
    return filter;
  }

  close(filter: number): void {
    this.clear(filter);
    this.#isOpen[filter] = false;
  }

  get(filter: number, userId: string): DurablePlace | null {
    return this.#users.get(userId)?.find((shown) => shown.isShownBy(filter)) ?? null;
  }

  has(userId: string): boolean {
    return this.#users.has(userId);
  }

  /** All users with a location that some filter shows. */
  userIds(): Iterable<string> {
    return this.#users.keys();
  }

  /** Those of them whom this filter shows. */
  *shownBy(filter: number): Generator<string> {
    for (const [userId, locations] of this.#users) {
      if (locations.some((shown) => shown.isShownBy(filter))) yield userId;
    }
  }

  /** What the filter shows of the user from now on; null for nothing. */
  set(filter: number, userId: string, place: DurablePlace | null): void {
    const known = this.#users.get(userId);
    const before = known?.find((shown) => shown.isShownBy(filter));
    const after = place === null ? undefined : this.#locationOf(userId, place);
    if (before === after) return;
    after?.show(filter);
    if (before !== undefined) this.#hide(filter, userId, before);
  }

  /** The filter shows nothing any more. */
  clear(filter: number): void {
    for (const [userId, locations] of this.#users) {
      const shown = locations.find((location) => location.isShownBy(filter));
      if (shown !== undefined) this.#hide(filter, userId, shown);
    }
  }

  /** The location as it is stored once for all filters. */
  #locationOf(userId: string, place: DurablePlace): ShownLocation {
    let locations = this.#users.get(userId);
    if (locations === undefined) {
      locations = [];
      this.#users.set(userId, locations);
      this.#version += 1;
    }
    let shown = locations.find(({ location, at }) => location === place.location && at === place.at);
    if (shown === undefined) {
      shown = new ShownLocation(place);
      locations.push(shown);
    }
    return shown;
  }

  #hide(filter: number, userId: string, shown: ShownLocation): void {
    shown.hide(filter);
    if (shown.isShown) return;
    const left = (this.#users.get(userId) ?? []).filter((location) => location !== shown);
    if (left.length > 0) {
      this.#users.set(userId, left);
      return;
    }
    this.#users.delete(userId);
    this.#version += 1;
  }
}
