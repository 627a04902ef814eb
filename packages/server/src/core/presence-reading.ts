import { setImmediate as nextTurn } from 'node:timers/promises';
import { compareCodePoints } from '@rollcall/protocol';
import type { PresenceScope, PresenceStore } from '../presence/presence-store.ts';
import type { DurablePresence, Json, LocationFilter, PageRequest, Store } from '../store/store.ts';
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

/** How many users are read at a time to be counted. */
const COUNTED_AT_ONCE = 1_000;

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

  /** Users present in the group, in order of ID; a deleted group has nobody. @throws ServiceError `group_not_found` */
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
      const candidates = await this.#candidates(scope, filter, { after: start, limit: limit + 1 });
      visible.push(...(await this.#presentable(scope, candidates)));
      if (visible.length > limit) {
        const entries = visible.slice(0, limit);
        return { entries, last: entries.at(-1)?.userId ?? null };
      }
      if (candidates.length <= limit) return { entries: visible, last: null };
      start = candidates.at(-1)?.userId ?? null;
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
    if (standing.user !== 'active' || standing.group !== 'active' || !standing.member) {
      return { userId, locations: [], durable: null };
    }
    const [locations, durable] = await Promise.all([
      this.#presence.locationsOf({ ...scope, userId, now: this.#clock.now() }),
      this.#store.findDurablePresence(project, groupId, userId),
    ]);
    return { userId, locations, durable };
  }

  /** The first `limit` of the users who have either kind of presence, whether or not they may be seen. */
  async #candidates(scope: PresenceScope, filter: PresenceFilter, page: PageRequest): Promise<Presence[]> {
    const { location, excludeDurable } = filter;
    const [present, durable] = await Promise.all([
      this.#presence.find({ ...scope, filter: location, ...page, now: this.#clock.now() }),
      excludeDurable ? [] : this.#store.listDurablePresence(scope.project, scope.groupId, location, page),
    ]);
    const merged = new Map<string, Presence>();
    for (const { userId, locations } of present) merged.set(userId, { userId, locations, durable: null });
    for (const { userId, ...place } of durable) {
      merged.set(userId, { userId, locations: merged.get(userId)?.locations ?? [], durable: place });
    }
    // Whoever a source holds back comes after all that it gave, so the first `limit` of both are complete.
    return [...merged.values()].sort((a, b) => compareCodePoints(a.userId, b.userId)).slice(0, page.limit);
  }

  async #presentable({ project, groupId }: PresenceScope, candidates: Presence[]): Promise<Presence[]> {
    if (candidates.length === 0) return candidates;
    const ids = candidates.map(({ userId }) => userId);
    const presentable = new Set(await this.#store.presentable(project, groupId, ids));
    return candidates.filter(({ userId }) => presentable.has(userId));
  }
}
