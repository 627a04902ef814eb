import { compareCodePoints, type Location, limits, locationMatches } from '@rollcall/protocol';
import type {
  Expiry,
  PresenceChange,
  PresenceScope,
  PresenceUpdate,
  PresentUser,
} from '../../src/presence/presence-store.ts';
import type { Incarnation } from '../../src/values/incarnation.ts';
import type { Json } from '../../src/values/json.ts';
import type { LocationFilter } from '../../src/values/location-filter.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';

type Stored = Omit<PresenceUpdate, 'now'>;

interface Reading extends PresenceScope {
  readonly filter: LocationFilter;
  readonly after: string | null;
  readonly limit: number;
  readonly now: number;
}

/** A naive PresenceStore: one list that every operation searches. */
export class PresenceModel {
  stored: Stored[] = [];
  /** How many presences the bounds have ended. */
  ended = 0;

  set(update: PresenceUpdate): PresenceChange {
    const { now, ...next } = update;
    this.#drop((stored) => isOf(stored, update) && stored.incarnation !== update.incarnation);
    const previous = this.stored.find((stored) => isOf(stored, update) && stored.region === update.region);
    const created = previous === undefined || previous.expiresAt <= now;
    const arrived = !this.#isAt(update, update.location, now);
    this.stored = [...this.stored.filter((stored) => stored !== previous), next];
    const left = previous === undefined || previous.location === next.location ? null : previous.location;
    const departed = left === null || this.#isAt(update, left, now) ? null : left;
    if (departed !== null) this.#drop((stored) => isOf(stored, update) && stored.location === departed);
    this.#enforceBounds(next);
    return { arrived, created, departed };
  }

  /** The next deadline that no presence of the user has: of several with one deadline, any may end. */
  freeDeadline(who: PresenceScope & { userId: string }, deadline: number): number {
    let free = deadline;
    while (this.stored.some((stored) => isOf(stored, who) && stored.expiresAt === free)) free += 1;
    return free;
  }

  clear(presence: PresenceScope & { userId: string; location: Json; now: number }): boolean {
    const wasThere = this.#isAt(presence, presence.location, presence.now);
    if (wasThere) this.#drop((stored) => isOf(stored, presence) && stored.location === presence.location);
    return wasThere;
  }

  find({ filter, after, limit, now, ...scope }: Reading): PresentUser[] {
    const there = this.stored.filter(
      (stored) => isIn(stored, scope) && stored.expiresAt > now && passes(stored.location, filter),
    );
    const ids = [...new Set(there.map(({ userId }) => userId))].sort(compareCodePoints);
    const page = ids.filter((id) => after === null || compareCodePoints(id, after) > 0).slice(0, limit);
    return page.map((userId) => {
      const own = there.filter((stored) => stored.userId === userId);
      return { userId, incarnation: own[0]?.incarnation as Incarnation, locations: ascending(own) };
    });
  }

  locationsOf(reading: PresenceScope & { userId: string; incarnation: Incarnation; now: number }): Json[] {
    const own = this.stored.filter(
      (stored) => isOf(stored, reading) && stored.incarnation === reading.incarnation,
    );
    return ascending(own.filter((stored) => stored.expiresAt > reading.now));
  }

  removeUsers(scope: PresenceScope, userIds: readonly string[]): void {
    this.#drop((stored) => isIn(stored, scope) && userIds.includes(stored.userId));
  }

  removeGroup(scope: PresenceScope): void {
    this.#drop((stored) => isIn(stored, scope));
  }

  removeProject(project: ProjectKey): void {
    this.#drop((stored) => stored.project === project);
  }

  /** The expiries of a sweep, each with the second of its deadline. */
  sweep(now: number): { expiry: Expiry; second: number }[] {
    const due = this.stored.filter((stored) => stored.expiresAt <= now);
    this.stored = this.stored.filter((stored) => stored.expiresAt > now);
    const lasting = due.filter(
      (stored) => !this.stored.some((other) => isOf(other, stored) && other.location === stored.location),
    );
    const last = new Map<string, { expiry: Expiry; second: number }>();
    for (const { project, groupId, userId, location, expiresAt } of lasting) {
      const key = JSON.stringify([project, groupId, userId, location]);
      const second = Math.max(Math.floor(expiresAt / 1_000), last.get(key)?.second ?? 0);
      last.set(key, { expiry: { project, groupId, userId, location }, second });
    }
    return [...last.values()];
  }

  #enforceBounds(latest: Stored): void {
    const own = this.stored.filter((stored) => isOf(stored, latest));
    for (const earliest of own.toSorted((a, b) => a.expiresAt - b.expiresAt)) {
      const left = this.stored.filter((stored) => isOf(stored, latest));
      const bytes = left.reduce((sum, { location }) => sum + Buffer.byteLength(location), 0);
      if (left.length <= limits.EPHEMERAL_LOCATIONS_MAX && bytes <= limits.EPHEMERAL_LOCATIONS_MAX_BYTES)
        return;
      if (earliest === latest) continue;
      this.#drop((stored) => stored === earliest);
      this.ended += 1;
    }
  }

  #isAt(who: PresenceScope & { userId: string }, location: Json, now: number): boolean {
    return this.stored.some(
      (stored) => isOf(stored, who) && stored.location === location && stored.expiresAt > now,
    );
  }

  #drop(goes: (stored: Stored) => boolean): void {
    this.stored = this.stored.filter((stored) => !goes(stored));
  }
}

const isIn = (stored: Stored, scope: PresenceScope) =>
  stored.project === scope.project && stored.groupId === scope.groupId;

const isOf = (stored: Stored, who: PresenceScope & { userId: string }) =>
  stored.userId === who.userId && isIn(stored, who);

const ascending = (stored: Stored[]) =>
  [...new Set(stored.map(({ location }) => location))].sort(compareCodePoints);

function passes(location: Json, filter: LocationFilter): boolean {
  if (filter === null || location === filter.location) return true;
  return (
    filter.partial &&
    locationMatches(JSON.parse(location) as Location, JSON.parse(filter.location) as Location)
  );
}
