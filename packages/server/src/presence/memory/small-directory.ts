import { compareCodePoints } from '@rollcall/protocol';
import type { Json } from '../../values/json.ts';
import type { LocationFilter } from '../../values/location-filter.ts';
import type { Directory, Presence } from './presence.ts';

/** A directory of a few presences, as most groups have: a search through them costs less than an index. */
export class SmallDirectory implements Directory {
  #presences: readonly Presence[] = [];

  get size(): number {
    return this.#presences.length;
  }

  all(): Iterable<Presence> {
    return this.#presences;
  }

  find(userId: string, region: Json, connection: string | null): Presence | undefined {
    return this.#presences.find(
      (presence) =>
        presence.userId === userId && presence.region === region && presence.connection === connection,
    );
  }

  of(userId: string): Presence[] {
    return this.#presences.filter((presence) => presence.userId === userId);
  }

  at(userId: string, location: Json): Presence[] {
    return this.#presences.filter((presence) => presence.userId === userId && presence.location === location);
  }

  candidates(_filter: LocationFilter, _passes: unknown, after: string | null): string[] {
    const ids = this.#presences.map(({ userId }) => userId);
    return ids.filter((id) => after === null || compareCodePoints(id, after) > 0).sort(compareCodePoints);
  }

  textOf(text: Json): Json | undefined {
    for (const { location, region } of this.#presences) {
      if (location === text) return location;
      if (region === text) return region;
    }
    return undefined;
  }

  // An array of exactly their number: one that grows reserves room for more.

  add(presence: Presence): void {
    this.#presences = this.#presences.concat(presence);
  }

  remove(presence: Presence): void {
    this.#presences = this.#presences.toSpliced(this.#presences.indexOf(presence), 1);
  }

  move(presence: Presence, location: Json): void {
    presence.location = location;
  }
}
