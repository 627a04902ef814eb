import { setImmediate as nextIteration } from 'node:timers/promises';
import { compareCodePoints } from '@rollcall/protocol';
import {
  type PresenceScope,
  type PresenceStore,
  type PresentUsers,
  READING_MAX_BYTES,
} from '../../presence/presence-store.ts';
import type { DurablePresence } from '../../store/ports/durable-presence.ts';
import { isEligible } from '../../store/ports/eligibility.ts';
import type { Profile } from '../../store/ports/users.ts';
import type { Store } from '../../store/store.ts';
import type { Incarnation } from '../../values/incarnation.ts';
import type { Json } from '../../values/json.ts';
import type { LocationFilter } from '../../values/location-filter.ts';
import type { PageRequest } from '../../values/page.ts';
import type { Clock } from '../clock.ts';
import { groupNotFound, userNotFound } from '../errors.ts';
import { NO_PROFILE, readProfiles } from '../roster/user-profiles.ts';

/** The presence of one user in one group: the ephemeral locations, and the latest durable one. */
interface Presence {
  readonly userId: string;
  readonly locations: readonly Json[];
  /** Where data are requested: those of each location. */
  readonly data?: readonly (Json | null)[];
  readonly durable: Pick<DurablePresence, 'location' | 'at'> | null;
  /** Where users are requested: name and picture. */
  readonly user?: Profile;
}

/** What a reading or a stream shows beside locations. */
export type Expansion = 'data' | 'user';

export interface PresenceFilter {
  readonly location: LocationFilter;
  readonly excludeDurable: boolean;
  /** In alphabetical order; absent for nothing. */
  readonly expand?: readonly Expansion[];
}

export interface PresencePage {
  readonly entries: readonly Presence[];
  /** The user ID after which the next page starts, or null when nothing follows. */
  readonly last: string | null;
}

/** The presence of a user for one membership; null where the user has only durable presence. */
interface Candidate extends Presence {
  readonly incarnation: Incarnation | null;
}

/** Users with either kind of presence, whether or not they may be seen. */
interface Candidates {
  readonly entries: readonly Candidate[];
  /** The user ID after which there may be more; null when nothing follows. */
  readonly next: string | null;
}

/** How many users are read at a time for a count. */
const COUNTED_AT_ONCE = 500;

interface Parts {
  readonly store: Pick<Store, 'groups' | 'eligibility' | 'durablePresence' | 'users'>;
  readonly presence: PresenceStore;
  readonly clock: Clock;
}

/** Reads presence: ephemeral presence of the PresenceStore and durable presence of the Store, merged. */
export class PresenceReading {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * The users present in the group, in order of ID; none in a deleted group. A page has `limit` entries, or fewer when they
   * reach {@link READING_MAX_BYTES} of ephemeral locations. So a page takes at most twice that in memory, and the durable
   * location of each of its users.
   * @throws ServiceError `group_not_found`
   */
  async ofGroup(
    scope: PresenceScope,
    filter: PresenceFilter,
    { after, limit }: PageRequest,
  ): Promise<PresencePage> {
    const { project, groupId } = scope;
    if (!(await this.#parts.store.groups.exists(project, groupId))) throw groupNotFound(groupId);
    const visible: Presence[] = [];
    // One user more than `limit` shows whether another page follows. Users who may not be seen do not count.
    for (let start = after; ; await nextIteration()) {
      const { entries, next } = await this.#candidates(scope, filter, { after: start, limit: limit + 1 });
      visible.push(...(await this.#presentable(scope, entries)));
      const isLast = next === null && visible.length <= limit;
      if (isLast || visible.length > limit || ephemeralBytes(visible) >= READING_MAX_BYTES) {
        const entries = await this.#expanded(project, visible.slice(0, limit), filter.expand);
        return { entries, last: isLast ? null : (entries.at(-1)?.userId ?? null) };
      }
      start = next;
    }
  }

  /** How many entries {@link ofGroup} has on all of its pages. @throws ServiceError `group_not_found` */
  async countOfGroup(scope: PresenceScope, filter: PresenceFilter): Promise<number> {
    let count = 0;
    for (let after: string | null = null; ; ) {
      const { entries, last } = await this.ofGroup(scope, filter, { after, limit: COUNTED_AT_ONCE });
      count += entries.length;
      if (last === null) return count;
      after = last;
      await nextIteration();
    }
  }

  /** One user's entry, empty where the user is not eligible. @throws ServiceError for an unknown user or group */
  async ofUser(scope: PresenceScope, userId: string, expand?: PresenceFilter['expand']): Promise<Presence> {
    const [entry] = await this.#expanded(scope.project, [await this.#ofUser(scope, userId)], expand);
    return entry as Presence;
  }

  async #ofUser(scope: PresenceScope, userId: string): Promise<Presence> {
    const { project, groupId } = scope;
    const eligibility = await this.#parts.store.eligibility.find(project, groupId, userId);
    if (eligibility.user === null) throw userNotFound(userId);
    if (eligibility.group === null) throw groupNotFound(groupId);
    if (!isEligible(eligibility)) return { userId, locations: [], durable: null };
    const { incarnation } = eligibility;
    const [ephemeral, durable] = await Promise.all([
      this.#parts.presence.locationsOf({ ...scope, userId, incarnation, now: this.#parts.clock.now() }),
      this.#parts.store.durablePresence.find(project, groupId, userId),
    ]);
    return { userId, ...ephemeral, durable };
  }

  /** The entries with what is requested, and nothing else. */
  async #expanded(
    project: PresenceScope['project'],
    entries: readonly Presence[],
    expand: PresenceFilter['expand'] = [],
  ): Promise<Presence[]> {
    const profiles = expand.includes('user')
      ? await readProfiles(
          this.#parts.store,
          project,
          entries.map(({ userId }) => userId),
        )
      : null;
    return entries.map(({ userId, locations, data, durable }) => ({
      userId,
      locations,
      ...(expand.includes('data') && { data: data ?? locations.map(() => null) }),
      durable,
      ...(profiles !== null && { user: profiles.get(userId) ?? NO_PROFILE }),
    }));
  }

  async #candidates(scope: PresenceScope, filter: PresenceFilter, page: PageRequest): Promise<Candidates> {
    const { location, excludeDurable } = filter;
    const [present, durable] = await Promise.all([
      this.#parts.presence.find({ ...scope, filter: location, ...page, now: this.#parts.clock.now() }),
      excludeDurable
        ? []
        : this.#parts.store.durablePresence.list(scope.project, scope.groupId, location, page),
    ]);
    return merged(present, durable, page.limit);
  }

  /** The visible presence of the candidates. Ephemeral presence of an earlier membership is left out. */
  async #presentable(
    { project, groupId }: PresenceScope,
    candidates: readonly Candidate[],
  ): Promise<readonly Presence[]> {
    if (candidates.length === 0) return candidates;
    const ids = candidates.map(({ userId }) => userId);
    const presentable = await this.#parts.store.eligibility.filter(project, groupId, ids);
    return candidates.flatMap(({ incarnation, ...candidate }) => {
      const { userId, durable } = candidate;
      if (!presentable.has(userId)) return [];
      if (presentable.get(userId) === incarnation && candidate.locations.length > 0) return [candidate];
      return durable === null ? [] : [{ userId, locations: [], durable }];
    });
  }
}

/** The users of both readings, up to the user to which both are complete. */
function merged(present: PresentUsers, durable: readonly DurablePresence[], limit: number): Candidates {
  const users = new Map<string, Candidate>();
  for (const user of present.users) users.set(user.userId, { ...user, durable: null });
  for (const { userId, ...latest } of durable) {
    const present = users.get(userId) ?? { userId, incarnation: null, locations: [] };
    users.set(userId, { ...present, durable: latest });
  }
  const lastDurable = durable.length < limit ? null : (durable.at(-1)?.userId ?? null);
  const next = firstOf(present.next, lastDurable);
  const entries = [...users.values()].filter(
    ({ userId }) => next === null || compareCodePoints(userId, next) <= 0,
  );
  return { entries: entries.sort((a, b) => compareCodePoints(a.userId, b.userId)), next };
}

/** The lesser ID; null is after all others. */
function firstOf(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return compareCodePoints(one, other) < 0 ? one : other;
}

/** Of the locations and data that are read from the engine, which are all that a user can have many of. */
function ephemeralBytes(entries: readonly Presence[]): number {
  let bytes = 0;
  for (const { locations, data = [] } of entries) {
    for (const location of locations) bytes += Buffer.byteLength(location);
    for (const one of data) bytes += one === null ? 0 : Buffer.byteLength(one);
  }
  return bytes;
}
