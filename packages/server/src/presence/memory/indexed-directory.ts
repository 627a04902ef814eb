import type { Json } from '../../values/json.ts';
import type { LocationFilter } from '../../values/location-filter.ts';
import { type IdBag, idsAfter, withId, withoutId } from './id-bag.ts';
import { LocationIndex } from './location-index.ts';
import type { Directory, Presence } from './presence.ts';

/** The presences of a user: a single one by itself, several by {@link nameOf}. */
type UserPresences = Presence | Map<string, Presence>;

/** A directory of many presences, with an index for each lookup. */
export class IndexedDirectory implements Directory {
  size = 0;
  readonly #users = new Map<string, UserPresences>();
  #userIds: IdBag | undefined = undefined;
  readonly #locations = new LocationIndex();
  /** For each region that is not its own location, one presence that has it: others share its text while it exists. */
  readonly #regions = new Map<Json, Presence>();

  *all(): Generator<Presence> {
    for (const own of this.#users.values()) yield* presencesOf(own);
  }

  find(userId: string, region: Json, connection: string | null): Presence | undefined {
    const own = this.#users.get(userId);
    if (own instanceof Map) return own.get(nameOf(region, connection));
    return own?.region === region && own.connection === connection ? own : undefined;
  }

  of(userId: string): Presence[] {
    return presencesOf(this.#users.get(userId));
  }

  at(userId: string, location: Json): Presence[] {
    const own = this.#users.get(userId);
    // The presences of a user with many are searched only where the index has one.
    if (own instanceof Map && !this.#locations.has(location, userId)) return [];
    return presencesOf(own).filter((presence) => presence.location === location);
  }

  candidates(
    filter: LocationFilter,
    passes: (location: Json) => boolean,
    after: string | null,
  ): Iterable<string> {
    return filter === null
      ? idsAfter(this.#userIds, after)
      : this.#locations.candidates(filter, passes, after);
  }

  textOf(text: Json): Json | undefined {
    return this.#locations.textOf(text) ?? this.#regions.get(text)?.region;
  }

  add(presence: Presence): void {
    const { userId, region, connection } = presence;
    const own = this.#users.get(userId);
    if (own instanceof Map) own.set(nameOf(region, connection), presence);
    else this.#users.set(userId, own === undefined ? presence : byName(own, presence));
    if (own === undefined) this.#userIds = withId(this.#userIds, userId);
    this.size += 1;
    this.#index(presence);
  }

  remove(presence: Presence): void {
    const { userId, region, connection } = presence;
    const own = this.#users.get(userId);
    if (own instanceof Map) {
      own.delete(nameOf(region, connection));
      if (own.size === 1) for (const last of own.values()) this.#users.set(userId, last);
    } else {
      this.#users.delete(userId);
      this.#userIds = withoutId(this.#userIds as IdBag, userId);
    }
    this.size -= 1;
    this.#unindex(presence);
  }

  move(presence: Presence, location: Json): void {
    this.#unindex(presence);
    presence.location = location;
    this.#index(presence);
  }

  #index(presence: Presence): void {
    const { userId, location, region } = presence;
    this.#locations.add(location, userId);
    if (region !== location && !this.#regions.has(region)) this.#regions.set(region, presence);
  }

  #unindex(presence: Presence): void {
    const { userId, location, region } = presence;
    this.#locations.remove(location, userId);
    if (this.#regions.get(region) === presence) this.#regions.delete(region);
  }
}

/** The name of a presence among those of its user. No region and no connection has a NUL. */
const nameOf = (region: Json, connection: string | null) =>
  connection === null ? region : `${region}\0${connection}`;

function byName(...presences: Presence[]): Map<string, Presence> {
  return new Map(presences.map((presence) => [nameOf(presence.region, presence.connection), presence]));
}

function presencesOf(own: UserPresences | undefined): Presence[] {
  if (own === undefined) return [];
  return own instanceof Map ? [...own.values()] : [own];
}
