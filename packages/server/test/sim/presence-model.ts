import { compareCodePoints, type Location, limits, locationMatches } from '@rollcall/protocol';
import type {
  Expiry,
  PresenceChange,
  PresenceScope,
  PresenceUpdate,
  PresentUser,
} from '../../src/presence/presence-store.ts';
import type { Incarnation, Json, LocationFilter, ProjectKey } from '../../src/store/store.ts';

type Held = Omit<PresenceUpdate, 'now'>;

interface Reading extends PresenceScope {
  readonly filter: LocationFilter;
  readonly after: string | null;
  readonly limit: number;
  readonly now: number;
}

/** What a PresenceStore is to do, in the plainest way: one list, looked through for everything. */
export class PresenceModel {
  held: Held[] = [];
  /** How many presences the bounds have ended. */
  ended = 0;

  set(update: PresenceUpdate): PresenceChange {
    const { now, ...next } = update;
    this.#drop((held) => isOf(held, update) && held.incarnation !== update.incarnation);
    const previous = this.held.find((held) => isOf(held, update) && held.region === update.region);
    const created = previous === undefined || previous.expiresAt <= now;
    const arrived = !this.#isAt(update, update.location, now);
    this.held = [...this.held.filter((held) => held !== previous), next];
    const left = previous === undefined || previous.location === next.location ? null : previous.location;
    const departed = left === null || this.#isAt(update, left, now) ? null : left;
    if (departed !== null) this.#drop((held) => isOf(held, update) && held.location === departed);
    this.#enforceBounds(next);
    return { arrived, created, departed };
  }

  /** A deadline from this one on that no presence of the user has: of several with one deadline, any may end. */
  freeDeadline(who: PresenceScope & { userId: string }, deadline: number): number {
    let free = deadline;
    while (this.held.some((held) => isOf(held, who) && held.expiresAt === free)) free += 1;
    return free;
  }

  clear(presence: PresenceScope & { userId: string; location: Json; now: number }): boolean {
    const wasThere = this.#isAt(presence, presence.location, presence.now);
    if (wasThere) this.#drop((held) => isOf(held, presence) && held.location === presence.location);
    return wasThere;
  }

  find({ filter, after, limit, now, ...scope }: Reading): PresentUser[] {
    const there = this.held.filter(
      (held) => isIn(held, scope) && held.expiresAt > now && passes(held.location, filter),
    );
    const ids = [...new Set(there.map(({ userId }) => userId))].sort(compareCodePoints);
    const page = ids.filter((id) => after === null || compareCodePoints(id, after) > 0).slice(0, limit);
    return page.map((userId) => {
      const own = there.filter((held) => held.userId === userId);
      return { userId, incarnation: own[0]?.incarnation as Incarnation, locations: ascending(own) };
    });
  }

  locationsOf(reading: PresenceScope & { userId: string; incarnation: Incarnation; now: number }): Json[] {
    const own = this.held.filter((held) => isOf(held, reading) && held.incarnation === reading.incarnation);
    return ascending(own.filter((held) => held.expiresAt > reading.now));
  }

  removeUsers(scope: PresenceScope, userIds: readonly string[]): void {
    this.#drop((held) => isIn(held, scope) && userIds.includes(held.userId));
  }

  removeGroup(scope: PresenceScope): void {
    this.#drop((held) => isIn(held, scope));
  }

  removeProject(project: ProjectKey): void {
    this.#drop((held) => held.project === project);
  }

  /** What a sweep tells, each with the second of its deadline. */
  sweep(now: number): { expiry: Expiry; second: number }[] {
    const due = this.held.filter((held) => held.expiresAt <= now);
    this.held = this.held.filter((held) => held.expiresAt > now);
    const lasting = due.filter(
      (held) => !this.held.some((other) => isOf(other, held) && other.location === held.location),
    );
    const last = new Map<string, { expiry: Expiry; second: number }>();
    for (const { project, groupId, userId, location, expiresAt } of lasting) {
      const key = JSON.stringify([project, groupId, userId, location]);
      const second = Math.max(Math.floor(expiresAt / 1_000), last.get(key)?.second ?? 0);
      last.set(key, { expiry: { project, groupId, userId, location }, second });
    }
    return [...last.values()];
  }

  #enforceBounds(latest: Held): void {
    const own = this.held.filter((held) => isOf(held, latest));
    for (const earliest of own.toSorted((a, b) => a.expiresAt - b.expiresAt)) {
      const left = this.held.filter((held) => isOf(held, latest));
      const bytes = left.reduce((sum, { location }) => sum + Buffer.byteLength(location), 0);
      if (left.length <= limits.EPHEMERAL_LOCATIONS_MAX && bytes <= limits.EPHEMERAL_LOCATIONS_MAX_BYTES)
        return;
      if (earliest === latest) continue;
      this.#drop((held) => held === earliest);
      this.ended += 1;
    }
  }

  #isAt(who: PresenceScope & { userId: string }, location: Json, now: number): boolean {
    return this.held.some((held) => isOf(held, who) && held.location === location && held.expiresAt > now);
  }

  #drop(goes: (held: Held) => boolean): void {
    this.held = this.held.filter((held) => !goes(held));
  }
}

const isIn = (held: Held, scope: PresenceScope) =>
  held.project === scope.project && held.groupId === scope.groupId;

const isOf = (held: Held, who: PresenceScope & { userId: string }) =>
  held.userId === who.userId && isIn(held, who);

const ascending = (held: Held[]) =>
  [...new Set(held.map(({ location }) => location))].sort(compareCodePoints);

function passes(location: Json, filter: LocationFilter): boolean {
  if (filter === null || location === filter.location) return true;
  return (
    filter.partial &&
    locationMatches(JSON.parse(location) as Location, JSON.parse(filter.location) as Location)
  );
}
