import { setImmediate as nextTurn } from 'node:timers/promises';
import { compareCodePoints } from '@rollcall/protocol';
import {
  type PresenceScope,
  type PresenceStore,
  type PresentUsers,
  READING_MAX_BYTES,
} from '../presence/presence-store.ts';
import type {
  DurablePresence,
  Incarnation,
  Json,
  LocationFilter,
  PageRequest,
  Store,
} from '../store/store.ts';
import type { Clock } from './clock.ts';
import { type GroupNoun, groupNotFound, userNotFound } from './refusals.ts';

/** Where one user is in one group: where they are right now, and the latest place that was set durably. */
export interface Presence {
  readonly userId: string;
  readonly locations: readonly Json[];
  readonly durable: Pick<DurablePresence, 'location' | 'at'> | null;
}

export interface PresenceFilter {
  readonly location: LocationFilter;
  readonly excludeDurable: boolean;
}

export interface PresencePage {
  readonly entries: readonly Presence[];
  /** The user ID after which the next page starts, or null when nothing follows. */
  readonly last: string | null;
}

/** Where a user is, for one membership; null where only a durable place is known. */
interface Candidate extends Presence {
  readonly incarnation: Incarnation | null;
}

/** Users who have either kind of presence, whether or not they may be seen. */
interface Candidates {
  readonly entries: readonly Candidate[];
  /** The user ID after which there may be others; null when nothing follows. */
  readonly next: string | null;
}

/** How many users are read at a time to be counted. */
const COUNTED_AT_ONCE = 500;

interface Dependencies {
  readonly store: Store;
  readonly presence: PresenceStore;
  readonly clock: Clock;
}

/** Who is where: ephemeral presence of the PresenceStore and durable presence of the Store, merged. */
export class PresenceReading {
  readonly #store: Store;
  readonly #presence: PresenceStore;
  readonly #clock: Clock;

  constructor({ store, presence, clock }: Dependencies) {
    this.#store = store;
    this.#presence = presence;
    this.#clock = clock;
  }

  /**
   * Users present in the group, in order of ID; a deleted group has nobody. A page has `limit` entries, or fewer where they
   * have {@link READING_MAX_BYTES} of ephemeral locations before that. So one page takes twice that in memory at most, and
   * the durable location of each of its users.
   * @throws ServiceError `group_not_found`
   */
  async ofGroup(
    scope: PresenceScope,
    noun: GroupNoun,
    filter: PresenceFilter,
    { after, limit }: PageRequest,
  ): Promise<PresencePage> {
    const { project, groupId } = scope;
    if (!(await this.#store.groupExists(project, groupId))) throw groupNotFound(noun, groupId);
    const visible: Presence[] = [];
    // One more than asked for, so that a page knows whether anything follows; who may not be seen does not count.
    for (let start = after; ; await nextTurn()) {
      const { entries, next } = await this.#candidates(scope, filter, { after: start, limit: limit + 1 });
      visible.push(...(await this.#presentable(scope, entries)));
      if (next === null && visible.length <= limit) return { entries: visible, last: null };
      if (visible.length > limit || ephemeralBytes(visible) >= READING_MAX_BYTES) {
        const page = visible.slice(0, limit);
        return { entries: page, last: page.at(-1)?.userId ?? null };
      }
      start = next;
    }
  }

  /** How many {@link ofGroup} gives on all of its pages. @throws ServiceError `group_not_found` */
  async countOfGroup(scope: PresenceScope, noun: GroupNoun, filter: PresenceFilter): Promise<number> {
    let count = 0;
    for (let after: string | null = null; ; ) {
      const { entries, last } = await this.ofGroup(scope, noun, filter, { after, limit: COUNTED_AT_ONCE });
      count += entries.length;
      if (last === null) return count;
      after = last;
      await nextTurn();
    }
  }

  /** One user's entry, empty where they may not be present. @throws ServiceError for an unknown user or group */
  async ofUser(scope: PresenceScope, noun: GroupNoun, userId: string): Promise<Presence> {
    const { project, groupId } = scope;
    const standing = await this.#store.standing(project, groupId, userId);
    if (standing.user === null) throw userNotFound(userId);
    if (standing.group === null) throw groupNotFound(noun, groupId);
    const { incarnation } = standing;
    if (standing.user !== 'active' || standing.group !== 'active' || incarnation === null) {
      return { userId, locations: [], durable: null };
    }
    const [locations, durable] = await Promise.all([
      this.#presence.locationsOf({ ...scope, userId, incarnation, now: this.#clock.now() }),
      this.#store.findDurablePresence(project, groupId, userId),
    ]);
    return { userId, locations, durable };
  }

  async #candidates(scope: PresenceScope, filter: PresenceFilter, page: PageRequest): Promise<Candidates> {
    const { location, excludeDurable } = filter;
    const [present, durable] = await Promise.all([
      this.#presence.find({ ...scope, filter: location, ...page, now: this.#clock.now() }),
      excludeDurable ? [] : this.#store.listDurablePresence(scope.project, scope.groupId, location, page),
    ]);
    return merged(present, durable, page.limit);
  }

  /** What may be seen of them. Ephemeral presence of an earlier membership is not that of the present one. */
  async #presentable(
    { project, groupId }: PresenceScope,
    candidates: readonly Candidate[],
  ): Promise<readonly Presence[]> {
    if (candidates.length === 0) return candidates;
    const ids = candidates.map(({ userId }) => userId);
    const presentable = await this.#store.presentable(project, groupId, ids);
    return candidates.flatMap(({ userId, incarnation, locations, durable }) => {
      if (!presentable.has(userId)) return [];
      const own = presentable.get(userId) === incarnation ? locations : [];
      return own.length > 0 || durable !== null ? [{ userId, locations: own, durable }] : [];
    });
  }
}

/** The users of both parts, up to where each of them is complete. */
function merged(present: PresentUsers, durable: readonly DurablePresence[], limit: number): Candidates {
  const users = new Map<string, Candidate>();
  for (const user of present.users) users.set(user.userId, { ...user, durable: null });
  for (const { userId, ...place } of durable) {
    const { incarnation = null, locations = [] } = users.get(userId) ?? {};
    users.set(userId, { userId, incarnation, locations, durable: place });
  }
  const lastDurable = durable.length < limit ? null : (durable.at(-1)?.userId ?? null);
  const next = firstOf(present.next, lastDurable);
  const entries = [...users.values()].filter(
    ({ userId }) => next === null || compareCodePoints(userId, next) <= 0,
  );
  return { entries: entries.sort((a, b) => compareCodePoints(a.userId, b.userId)), next };
}

/** The one that comes first; null stands for after all others. */
function firstOf(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return compareCodePoints(one, other) < 0 ? one : other;
}

/** Of the locations that are read from the engine, which are all that a user can have many of. */
function ephemeralBytes(entries: readonly Presence[]): number {
  let bytes = 0;
  for (const { locations } of entries) for (const location of locations) bytes += Buffer.byteLength(location);
  return bytes;
}
