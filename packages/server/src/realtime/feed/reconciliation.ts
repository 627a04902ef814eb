import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Logger } from 'pino';
import { slices } from '../../core/slices.ts';
import type { GroupEvent, PresenceStore } from '../../presence/presence-store.ts';
import type { Store } from '../../store/store.ts';
import { StoreUnavailableError } from '../../values/engine-errors.ts';
import type { Incarnation } from '../../values/incarnation.ts';
import { isSameLocation } from '../views/durable-locations.ts';
import { durablePages, type LatestLocations, readDurable } from '../views/durable-reading.ts';
import type { FeedState } from '../views/feed-state.ts';
import { presentableOf } from '../views/presentable.ts';

/**
 * How often a followed group is compared with the Store, in milliseconds. What differs is compared again a tick later and
 * published then, so a lost notification shows for two ticks longer than this.
 */
const INTERVAL_MS = 8_000;
const USERS_PER_READING = 1_000;
/** Above this many differing users the whole group is read again: one reading, instead of one for each 1,000 users. */
const USERS_NAMED_MAX = 2_000;
/** Most user IDs of one event. */
const USERS_PER_EVENT = 1_000;

interface Parts {
  readonly store: Store;
  readonly presence: PresenceStore;
  readonly log: Logger;
  /** Whether the state is current. */
  readonly isFollowed: () => boolean;
  /** Ends the streams of readers who may no longer watch. */
  readonly endWithoutAccess: () => Promise<void>;
}

/**
 * Compares the state of a followed group with the Store: who may be seen and watch, and the durable locations. A process that
 * commits a write and dies, or cannot reach the PresenceStore, publishes no event of it, and then the Store alone has it.
 *
 * Users that differ are published as an event of the group, so that every process reads them again at the same point of the
 * order. An event may be under way during the comparison, so only what still differs a tick later is published.
 *
 * A pass costs two statements for each 1,000 users of the group, and the group's events continue meanwhile.
 */
export class Reconciliation {
  readonly #parts: Parts;
  readonly #state: FeedState;
  #comparedAt: number;
  #suspects: readonly string[] = [];
  #isRunning = false;

  constructor(parts: Parts, state: FeedState, now: number) {
    this.#parts = parts;
    this.#state = state;
    this.#comparedAt = now;
  }

  /** The group has just been read. */
  restart(now: number): void {
    this.#comparedAt = now;
    this.#suspects = [];
  }

  /** Whether {@link run} is due; true once for each run. */
  begin(now: number): boolean {
    if (this.#isRunning) return false;
    this.#isRunning = this.#suspects.length > 0 || Math.abs(now - this.#comparedAt) >= INTERVAL_MS;
    return this.#isRunning;
  }

  /** Compares, or publishes what still differs. While an engine is away, the next tick tries again. Never rejects. */
  async run(now: number): Promise<void> {
    try {
      // The run may have waited for a permit, and the group may be being read since.
      if (!this.#parts.isFollowed()) return;
      if (this.#suspects.length > 0) await this.#publishDiffering(now);
      else await this.#compare(now);
    } catch (err) {
      if (err instanceof StoreUnavailableError) return;
      this.#parts.log.error({ err }, 'a group with presence streams could not be compared with the store');
    } finally {
      this.#isRunning = false;
    }
  }

  async #compare(now: number): Promise<void> {
    const { store } = this.#parts;
    const { scope } = this.#state;
    const durable: LatestLocations = new Map();
    for await (const page of durablePages(store, scope, null)) {
      for (const [userId, location] of page) durable.set(userId, location);
      // The embedded store answers within the tick.
      await nextIteration();
    }
    const suspects: string[] = [];
    const userIds = [...new Set([...this.#state.userIds(), ...durable.keys()])];
    for (const ids of slices(userIds, USERS_PER_READING)) {
      suspects.push(...this.#differing(ids, await presentableOf(store, scope, ids), durable));
      await nextIteration();
    }
    await this.#parts.endWithoutAccess();
    this.#suspects = suspects;
    this.#comparedAt = now;
  }

  async #publishDiffering(now: number): Promise<void> {
    const { store, presence } = this.#parts;
    const { scope, view } = this.#state;
    const visible = await presentableOf(store, scope, this.#suspects);
    const durable = await readDurable(store, scope, null, [...visible.keys()]);
    if (this.#state.view !== view) return;
    const differing = this.#differing(this.#suspects, visible, durable);
    this.#suspects = [];
    const events: GroupEvent[] =
      differing.length > USERS_NAMED_MAX
        ? [{ type: 'group', active: visible.size > 0 }]
        : [...Map.groupBy(differing, (id) => visible.has(id))].flatMap(([active, ids]) =>
            [...slices(ids, USERS_PER_EVENT)].map((userIds) => ({ type: 'users', userIds, active }) as const),
          );
    for (const event of events) await presence.publish(scope, event, now);
  }

  /** The users of whom the state has something else than the Store. */
  #differing(
    userIds: readonly string[],
    visible: ReadonlyMap<string, Incarnation>,
    durable: LatestLocations,
  ): string[] {
    const { view, unfiltered } = this.#state;
    return userIds.filter((id) => {
      const isVisible = visible.get(id) === view.incarnationOf(id);
      if (view.has(id) && view.isVisible(id) !== isVisible) return true;
      const latest = visible.has(id) ? (durable.get(id) ?? null) : null;
      return !isSameLocation(unfiltered.durableOf(id), latest);
    });
  }
}
