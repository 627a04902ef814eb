import type { DurablePresence } from '../../store/ports/durable-presence.ts';
import type { Json } from '../../values/json.ts';

export type DurableLocation = Pick<DurablePresence, 'location' | 'at'>;

export const isSameLocation = (a: DurableLocation | null, b: DurableLocation | null) =>
  a?.at === b?.at && a?.location === b?.location;

/** A durable location of a user, and the filters that show it: one bit for each. */
class ShownLocation implements DurableLocation {
  readonly location: Json;
  readonly at: number;
  filters = 0n;

  constructor({ location, at }: DurableLocation) {
    this.location = location;
    this.at = at;
  }
}

const bitOf = (filter: number) => 1n << BigInt(filter);

function isShownBy(filter: number): (location: ShownLocation) => boolean {
  const bit = bitOf(filter);
  return ({ filters }) => (filters & bit) !== 0n;
}

/**
 * The latest durable location of each user, for each filter of a group. Filters mostly show the same locations, so each
 * location is stored once, with a bit for every filter that shows it: about 100 bytes and its text for a location, one
 * bit for each filter and location. A location that no filter shows is dropped. A filter is a number, taken with {@link open}
 * and given back with {@link close}.
 */
export class DurableLocations {
  readonly #users = new Map<string, ShownLocation[]>();
  readonly #isOpen: boolean[] = [];

  /** The number of users with a location that some filter shows. */
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

  get(filter: number, userId: string): DurableLocation | null {
    return this.#users.get(userId)?.find(isShownBy(filter)) ?? null;
  }

  /** Whether another filter than this one shows a location of the user. */
  isShownBesides(filter: number, userId: string): boolean {
    const others = ~bitOf(filter);
    return this.#users.get(userId)?.some(({ filters }) => (filters & others) !== 0n) === true;
  }

  has(userId: string): boolean {
    return this.#users.has(userId);
  }

  userIds(): Iterable<string> {
    return this.#users.keys();
  }

  /** The users of whom this filter shows a location. */
  *shownBy(filter: number): Generator<string> {
    const isShown = isShownBy(filter);
    for (const [userId, locations] of this.#users) if (locations.some(isShown)) yield userId;
  }

  /** Sets what the filter shows of the user; null for nothing. */
  set(filter: number, userId: string, location: DurableLocation | null): void {
    const known = this.#users.get(userId);
    const before = known?.find(isShownBy(filter));
    const after = location === null ? undefined : this.#shared(userId, location);
    if (before === after) return;
    if (after !== undefined) after.filters |= bitOf(filter);
    if (before !== undefined) this.#hide(filter, userId, before);
  }

  /** The filter shows nothing any more. */
  clear(filter: number): void {
    const isShown = isShownBy(filter);
    for (const [userId, locations] of this.#users) {
      const shown = locations.find(isShown);
      if (shown !== undefined) this.#hide(filter, userId, shown);
    }
  }

  /** The location as it is stored once for all filters. */
  #shared(userId: string, location: DurableLocation): ShownLocation {
    const locations = this.#users.get(userId) ?? [];
    let shown = locations.find((other) => isSameLocation(other, location));
    if (shown === undefined) {
      shown = new ShownLocation(location);
      this.#users.set(userId, [...locations, shown]);
    }
    return shown;
  }

  #hide(filter: number, userId: string, shown: ShownLocation): void {
    shown.filters &= ~bitOf(filter);
    if (shown.filters !== 0n) return;
    const left = (this.#users.get(userId) ?? []).filter((location) => location !== shown);
    if (left.length > 0) this.#users.set(userId, left);
    else this.#users.delete(userId);
  }
}
