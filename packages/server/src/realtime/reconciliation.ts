import { setImmediate as nextTick } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { PresenceStore } from '../presence/presence-store.ts';
import { type Incarnation, type Store, StoreUnavailableError } from '../store/store.ts';
import { durablePages, readDurable } from './durable-reading.ts';
import type { FeedState } from './feed-state.ts';
import { presentableOf } from './presentable.ts';

/**
 * How often a followed group is compared with the Store, in milliseconds. What differs is compared again a tick later and
 * published then, so a lost notification shows for two ticks longer than this.
 */
const INTERVAL_MS = 8_000;
const USERS_PER_READING = 1_000;
/** Above how many users that differ everybody in the group is read again: one reading, instead of one for each thousand. */
const USERS_READ_ALONE_MAX = 2_000;
/** Most user IDs of one event. */
const USERS_PER_EVENT = 1_000;

interface Parts {
  readonly store: Store;
  readonly presence: PresenceStore;
  readonly log: Logger;
  /** Whether what the group shows is current. */
  readonly isFollowed: () => boolean;
  /** Ends the streams of readers who may not watch any more. */
  readonly endRefused: () => Promise<void>;
}

/**
 * Compares what a followed group shows with the Store: who may be seen and watch, and when durable places were set. A process
 * that commits a write and dies, or cannot reach the PresenceStore, publishes no event of it, and then the Store alone knows.
 *
 * What differs is published as an event of the group, so that every process reads these users again at the same point of the
 * order. An event may be on its way while the Store is compared, so only what still differs a tick later is published.
 *
 * A pass reads the users of the group a thousand at a time, without stopping its events: two statements for each thousand.
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

  /** The group has just been read: what it shows is as new as that. */
  restart(now: number): void {
    this.#comparedAt = now;
    this.#suspects = [];
  }

  /** Whether {@link run} is to be called now; true once for each call that is due. */
  begin(now: number): boolean {
    if (this.#isRunning) return false;
    this.#isRunning = this.#suspects.length > 0 || Math.abs(now - this.#comparedAt) >= INTERVAL_MS;
    return this.#isRunning;
  }

  /** Compares, or publishes what differed last time. An engine that is away is asked again. Never rejects. */
  async run(now: number): Promise<void> {
    try {
      // It may have waited for its turn, and the group may be being read anew since.
      if (!this.#parts.isFollowed()) return;
      if (this.#suspects.length > 0) await this.#publishSuspects(now);
      else await this.#compare(now);
    } catch (err) {
      if (err instanceof StoreUnavailableError) return;
      this.#parts.log.error({ err }, 'a watched group could not be compared with the store');
    } finally {
      this.#isRunning = false;
    }
  }

  async #publishSuspects(now: number): Promise<void> {
    const { store, presence } = this.#parts;
    const { scope, known } = this.#state;
    const suspects = this.#suspects;
    const visible = await presentableOf(store, scope, suspects);
    const durable = await readDurable(store, scope, null, [...visible.keys()]);
    const wrong = suspects.filter(
      (id) => this.#isShownWrongly(id, visible) || !known.equals(id, durable.get(id)),
    );
    if (this.#state.known !== known) return;
    this.#suspects = [];
    if (wrong.length > USERS_READ_ALONE_MAX) {
      await presence.tell(scope, { type: 'group', active: visible.size > 0 }, now);
      return;
    }
    for (const [active, userIds] of Map.groupBy(wrong, (id) => visible.has(id))) {
      for (let from = 0; from < userIds.length; from += USERS_PER_EVENT) {
        const named = userIds.slice(from, from + USERS_PER_EVENT);
        await presence.tell(scope, { type: 'users', userIds: named, active }, now);
      }
    }
  }

  /** Finds the users of whom the group shows something else than the Store. */
  async #compare(now: number): Promise<void> {
    const suspects = new Set<string>();
    await this.#compareVisible(suspects);
    await this.#compareDurable(suspects);
    await this.#parts.endRefused();
    this.#suspects = [...suspects];
    this.#comparedAt = now;
  }

  async #compareVisible(suspects: Set<string>): Promise<void> {
    const { scope, view } = this.#state;
    const userIds = view.userIds();
    for (let from = 0; from < userIds.length; from += USERS_PER_READING) {
      const ids = userIds.slice(from, from + USERS_PER_READING);
      const visible = await presentableOf(this.#parts.store, scope, ids);
      for (const id of ids) if (this.#isShownWrongly(id, visible)) suspects.add(id);
      // The embedded store answers within the tick.
      await nextTick();
    }
  }

  async #compareDurable(suspects: Set<string>): Promise<void> {
    const { store } = this.#parts;
    const { scope, known } = this.#state;
    const missing = new Set(known.userIds);
    for await (const page of durablePages(store, scope, null)) {
      const visible = await presentableOf(store, scope, [...page.keys()]);
      for (const id of visible.keys()) {
        missing.delete(id);
        if (!known.equals(id, page.get(id))) suspects.add(id);
      }
      await nextTick();
    }
    for (const id of missing) if (known.has(id)) suspects.add(id);
  }

  #isShownWrongly(userId: string, visible: ReadonlyMap<string, Incarnation>): boolean {
    const { view } = this.#state;
    const isVisible = visible.get(userId) === view.incarnationOf(userId);
    return view.has(userId) && view.isVisible(userId) !== isVisible;
  }
}
