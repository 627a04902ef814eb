import { type Location, locationMatches, parseJson } from '@rollcall/protocol';
import type { DurablePresence, Json, LocationFilter, PageRequest } from '../store.ts';
import type { Row } from './sqlite-connection.ts';
import { pairKeys, placeKey } from './sqlite-place-keys.ts';
import { PATIENCE, toDurable } from './sqlite-presence-row.ts';
import type { ReadStatement } from './sqlite-reader.ts';

/** Of a user with many matching places, so many of the newest are tried before all of them are looked at. */
const NEWEST_TRIED = 64;
/** Beyond the number of any presence. */
const LAST = Number.MAX_SAFE_INTEGER;

/** Reads that take a group's number first. Their rows begin with user, location and time where not said otherwise. */
export interface PlaceStatements {
  /** The places of a user, newest first. */
  readonly newestOfUser: ReadStatement;
  /** The places with a key from a position on, in order; then whether the user is active, and the presence's number. */
  readonly withKey: ReadStatement;
  /** The first position with a key from a position on. */
  readonly seek: ReadStatement;
}

/** Where the places with one key are gone through next; they are in order of user, then of the presence's number. */
interface Position {
  readonly key: number;
  readonly userId: string;
  readonly presenceNo: number;
}

/**
 * One listing of durable presence with a filter. It walks through the places that have one key of the filter; when some
 * of them were no match it seeks, in turn, the next place with each key, and goes on with the key that leads furthest.
 * So it never walks further than the rarest key is found, and nothing about how often a key occurs is counted or kept.
 */
export class FilteredPresence {
  readonly #statements: PlaceStatements;
  readonly #groupNo: number;
  readonly #page: PageRequest;
  readonly #keys: readonly number[];
  readonly #passes: (location: Json) => boolean;
  readonly #found: DurablePresence[] = [];
  /** Matching places seen of the user found last. */
  #matches = 0;

  constructor(
    statements: PlaceStatements,
    groupNo: number,
    { location, partial }: NonNullable<LocationFilter>,
    page: PageRequest,
  ) {
    this.#statements = statements;
    this.#groupNo = groupNo;
    this.#page = page;
    this.#keys = partial ? pairKeys(location) : [placeKey(location)];
    const pattern = parseJson(location) as Location;
    this.#passes = partial
      ? (place) => locationMatches(parseJson(place) as Location, pattern)
      : (place) => place === location;
  }

  read(): DurablePresence[] {
    let next = this.#seek(this.#page.after ?? '', LAST);
    while (next !== null) next = this.#walk(next);
    return this.#found;
  }

  /** The first place, from this one on, that every key is found at or before; null when a key is found no more. */
  #seek(userId: string, presenceNo: number): Position | null {
    let position = { key: this.#keys[0] as number, userId, presenceNo };
    for (const key of this.#keys) {
      const row = this.#statements.seek.get(this.#groupNo, key, position.userId, position.presenceNo);
      if (row === undefined) return null;
      const [user, number] = row as [string, number];
      if (user === position.userId && number === position.presenceNo) continue;
      position = { key, userId: user, presenceNo: number };
    }
    return position;
  }

  /** Takes what matches; where to go on when walking further does not pay, or null at the end. */
  #walk({ key, userId: from, presenceNo: number }: Position): Position | null {
    let inVain = 0;
    for (const row of this.#statements.withKey.iterate(this.#groupNo, key, from, number)) {
      const [userId, location, , isActive, presenceNo] = row as [string, Json, number, number, number];
      if (this.#isFull && userId !== this.#found.at(-1)?.userId) return null;
      if (isActive === 1 && this.#passes(location)) {
        inVain = 0;
        this.#take(row);
        if (this.#matches === PATIENCE && this.#takeNewest(userId)) return this.#seek(userId, LAST);
      } else {
        inVain += 1;
        if (inVain === PATIENCE) return this.#seek(userId, isActive === 1 ? presenceNo + 1 : LAST);
      }
    }
    return null;
  }

  get #isFull(): boolean {
    return this.#found.length === this.#page.limit;
  }

  /** Keeps a match, unless a later one of the user is there. */
  #take(row: Row): void {
    const place = toDurable(row);
    const last = this.#found.at(-1);
    if (last?.userId !== place.userId) {
      this.#found.push(place);
      this.#matches = 1;
    } else {
      if (place.at > last.at) this.#found[this.#found.length - 1] = place;
      this.#matches += 1;
    }
  }

  /** Looks for the latest match of a user who has many of them from the other end. False when it was not among the newest. */
  #takeNewest(userId: string): boolean {
    let tried = 0;
    for (const row of this.#statements.newestOfUser.iterate(this.#groupNo, userId)) {
      if (this.#passes(row[1] as Json)) {
        this.#found[this.#found.length - 1] = toDurable(row);
        return true;
      }
      tried += 1;
      if (tried === NEWEST_TRIED) break;
    }
    return false;
  }
}
