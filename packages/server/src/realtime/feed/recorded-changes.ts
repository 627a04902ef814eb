import type { Logger } from 'pino';
import { Repeated } from '../../concurrency/repeated.ts';
import type { Semaphore } from '../../concurrency/semaphore.ts';
import type { RecordListener } from '../../core/record-follower.ts';
import type { News } from '../../core/record-news.ts';
import { slices } from '../../core/slices.ts';
import type { GroupEvent, PresenceStore } from '../../presence/presence-store.ts';
import { type Topic, USERS_TOPIC } from '../../store/change-topics.ts';
import type { Store } from '../../store/store.ts';
import { StoreUnavailableError } from '../../values/engine-errors.ts';
import { isSameLocation } from '../views/durable-locations.ts';
import { durablePages, type LatestLocations, readDurable } from '../views/durable-reading.ts';
import type { FeedState } from '../views/feed-state.ts';
import { presentableOf } from '../views/presentable.ts';
import type { FollowedGroup } from './followed-group.ts';

/** Above this many differing users the whole group is read again: one reading, instead of one for each 1,000 users. */
const USERS_NAMED_MAX = 2_000;
/** Most user IDs of one event. */
const USERS_PER_EVENT = 1_000;
/** Up to so many users are looked up in the group; of more, the users of the group are looked up among them. */
const USERS_FEW = 100;
/** After so many attempts the group is read anew: its events do not come, or show something else than the Store. */
const ATTEMPTS_MAX = 3;

interface Parts {
  readonly store: Store;
  readonly presence: PresenceStore;
  readonly log: Logger;
  readonly now: () => number;
  readonly followed: () => FollowedGroup;
  readonly reads: Semaphore;
  /** The users whose client tokens opened streams of the group. */
  readonly viewerIds: () => Iterable<string>;
  /** Ends the streams of these viewers, or with null of all readers, who may no longer watch. */
  readonly endWithoutAccess: (userIds: readonly string[] | null) => Promise<void>;
  /** Applies an event that no other process has: its offset is of this process alone. */
  readonly applyAlone: (event: GroupEvent) => Promise<void>;
}

/** Users of whom something was recorded, or null for all of the group. */
type Concerned = Set<string> | null;

/**
 * What the record of changes has of a followed group. Most of it the group's events have shown already, and then nothing more is
 * done. What still differs from the Store is published as an event of the group, so that every process reads these users again
 * at the same point of the order.
 *
 * While the PresenceStore is away there is no common order, and no ephemeral presence changes. Then each process shows by
 * itself what is recorded; when the PresenceStore is back, the group is read again, and its readers begin with a snapshot.
 */
export class RecordedChanges implements RecordListener {
  readonly #parts: Parts;
  readonly #state: FeedState;
  #due: Concerned = new Set();
  #position = 0;
  #attempts = 0;
  /** Whether the PresenceStore has not answered yet. */
  #isPublishing = false;
  readonly #run = new Repeated(() => this.#apply());

  constructor(parts: Parts, state: FeedState) {
    this.#parts = parts;
    this.#state = state;
  }

  onNews(topic: Topic, news: News): void {
    const { users, isOfGroup, position } = news;
    const concerned = topic === USERS_TOPIC ? this.#known(news) : [...users];
    if (concerned.length === 0 && !isOfGroup) return;
    this.#position = Math.max(this.#position, position);
    this.#attempts = 0;
    if (isOfGroup) this.#due = null;
    for (const id of concerned) this.#due?.add(id);
    void this.#run.request();
  }

  onGap(): void {
    this.#parts.followed().invalidate(new StoreUnavailableError('the record of changes has a gap'));
  }

  /** Call it about once a second: what could not be applied is tried again. */
  tick(): void {
    if (this.#due === null || this.#due.size > 0) void this.#run.request();
  }

  /**
   * A status concerns all groups of the project, and few of them have the user: those who are present or watch. Of users who were
   * set active the Store knows whether they have durable locations here.
   */
  #known({ users, activated }: News): string[] {
    const viewers = new Set(this.#parts.viewerIds());
    const known =
      users.size <= USERS_FEW
        ? [...users].filter((id) => this.#state.has(id) || viewers.has(id))
        : [...this.#state.userIds(), ...viewers].filter((id) => users.has(id));
    return [...known, ...activated];
  }

  /** Never rejects. */
  async #apply(): Promise<void> {
    const due = this.#due;
    if (due !== null && due.size === 0) return;
    this.#due = new Set();
    try {
      const named = due === null ? null : [...due];
      await this.#parts.endWithoutAccess(named);
      if (await this.#show(named)) return;
    } catch (err) {
      if (!(err instanceof StoreUnavailableError))
        this.#parts.log.error(
          { err },
          'recorded changes of a group with presence streams could not be shown',
        );
    }
    // They are compared again with the next tick, together with what came meanwhile.
    const next: Concerned = this.#due;
    this.#due = due === null || next === null ? null : due.union(next);
  }

  /** Whether all that the record names is shown. */
  async #show(named: readonly string[] | null): Promise<boolean> {
    const followed = this.#parts.followed();
    if (followed.watch === null) return this.#showAlone(named);
    const differing = await this.#parts.reads.run(this.#state.scope.project, () => this.#differing(named));
    if (differing.length === 0) return true;
    if (this.#isPublishing) {
      // A second has passed: readers do not wait for a PresenceStore that does not answer.
      followed.invalidate(new StoreUnavailableError('the event of a recorded change was not taken'));
      return this.#showAlone(named);
    }
    this.#attempts += 1;
    if (this.#attempts > ATTEMPTS_MAX) {
      this.#attempts = 0;
      followed.invalidate(new StoreUnavailableError('the events of the group do not come'));
      return true;
    }
    // Each attempt is made once among all processes, before that of the next position.
    const upTo = this.#position + (this.#attempts - 1) / (ATTEMPTS_MAX + 1);
    this.#isPublishing = true;
    void this.#publish(differing, upTo)
      .catch((err) => {
        if (followed.watch === null) return;
        followed.invalidate(err);
        void this.#run.request();
      })
      .finally(() => (this.#isPublishing = false));
    return false;
  }

  async #showAlone(named: readonly string[] | null): Promise<boolean> {
    const event: GroupEvent =
      named === null || named.length > USERS_NAMED_MAX
        ? { type: 'group', active: true }
        : { type: 'users', userIds: named, active: true };
    return this.#parts.followed().alone(() => this.#parts.applyAlone(event));
  }

  async #publish(userIds: readonly string[], upTo: number): Promise<void> {
    const { presence, now } = this.#parts;
    const events: GroupEvent[] =
      userIds.length > USERS_NAMED_MAX
        ? [{ type: 'group', active: true }]
        : [...slices(userIds, USERS_PER_EVENT)].map((ids) => ({ type: 'users', userIds: ids, active: true }));
    for (const [index, event] of events.entries())
      await presence.publish(this.#state.scope, event, now(), index === 0 ? upTo : undefined);
  }

  /** Of these users, or with null of all, those of whom the state has something else than the Store. */
  async #differing(named: readonly string[] | null): Promise<string[]> {
    const { store } = this.#parts;
    const { scope } = this.#state;
    const userIds = named ?? (await this.#allUsers());
    const visible = await presentableOf(store, scope, userIds);
    const durable: LatestLocations = await readDurable(store, scope, null, [...visible.keys()]);
    const { view, unfiltered } = this.#state;
    return userIds.filter((id) => {
      const isVisible = visible.get(id) === view.incarnationOf(id);
      if (view.has(id) && view.isVisible(id) !== isVisible) return true;
      const latest = visible.has(id) ? (durable.get(id) ?? null) : null;
      return !isSameLocation(unfiltered.durableOf(id), latest);
    });
  }

  /** All who are shown, or are to be shown when the group is active. */
  async #allUsers(): Promise<string[]> {
    const found = new Set(this.#state.userIds());
    for await (const page of durablePages(this.#parts.store, this.#state.scope, null))
      for (const userId of page.keys()) found.add(userId);
    return [...found];
  }
}
