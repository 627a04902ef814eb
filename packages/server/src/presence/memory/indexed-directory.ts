import type { Json, LocationFilter } from '../../store/store.ts';
import type { Directory } from './directory.ts';
import { type IdBag, idsAfter, withId, withoutId } from './id-bag.ts';
import { PlaceIndex } from './place-index.ts';
import type { Presence } from './presence.ts';

/** The presences of a user: mostly one, without more around it; else by region. */
type Held = Presence | Map<Json, Presence>;

/** A directory of many: nothing in it is looked through. */
export class IndexedDirectory implements Directory {
  size = 0;
  readonly #users = new Map<string, Held>();
  #userIds: IdBag | undefined = undefined;
  readonly #places = new PlaceIndex();
  /** For each region that is no location of its own, a presence that has it: its text is shared while that lasts. */
  readonly #regions = new Map<Json, Presence>();

  *all(): Generator<Presence> {
    for (const held of this.#users.values()) yield* presencesOf(held);
  }

  find(userId: string, region: Json): Presence | undefined {
    const held = this.#users.get(userId);
    if (held instanceof Map) return held.get(region);
    return held?.region === region ? held : undefined;
  }

  of(userId: string): Presence[] {
    return presencesOf(this.#users.get(userId));
  }

  at(userId: string, location: Json): Presence[] {
    const held = this.#users.get(userId);
    // A user at many places is looked through only where the index says that it finds something.
    if (held instanceof Map && !this.#places.has(location, userId)) return [];
    return presencesOf(held).filter((presence) => presence.location === location);
  }

  candidates(
    filter: LocationFilter,
    passes: (location: Json) => boolean,
    after: string | null,
  ): Iterable<string> {
    return filter === null ? idsAfter(this.#userIds, after) : this.#places.candidates(filter, passes, after);
  }

  textOf(text: Json): Json | undefined {
    return this.#places.textOf(text) ?? this.#regions.get(text)?.region;
  }

  add(presence: Presence): void {
    const { userId, region } = presence;
    const held = this.#users.get(userId);
    if (held instanceof Map) held.set(region, presence);
    else this.#users.set(userId, held === undefined ? presence : byRegion(held, presence));
    if (held === undefined) this.#userIds = withId(this.#userIds, userId);
    this.size += 1;
    this.#arrive(presence);
  }

  remove(presence: Presence): void {
    const { userId, region } = presence;
    const held = this.#users.get(userId);
    if (held instanceof Map) {
      held.delete(region);
      if (held.size === 1) for (const last of held.values()) this.#users.set(userId, last);
    } else {
      this.#users.delete(userId);
      this.#userIds = withoutId(this.#userIds as IdBag, userId);
    }
    this.size -= 1;
    this.#leave(presence);
  }

  move(presence: Presence, location: Json): void {
    this.#leave(presence);
    presence.location = location;
    this.#arrive(presence);
  }

  #arrive(presence: Presence): void {
    const { userId, location, region } = presence;
    this.#places.add(location, userId);
    if (region !== location && !this.#regions.has(region)) this.#regions.set(region, presence);
  }

  #leave(presence: Presence): void {
    const { userId, location, region } = presence;
    this.#places.remove(location, userId);
    if (this.#regions.get(region) === presence) this.#regions.delete(region);
  }
}

function byRegion(...presences: Presence[]): Map<Json, Presence> {
  return new Map(presences.map((presence) => [presence.region, presence]));
}

function presencesOf(held: Held | undefined): Presence[] {
  if (held === undefined) return [];
  return held instanceof Map ? [...held.values()] : [held];
}
