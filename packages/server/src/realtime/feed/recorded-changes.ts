import type { Logger } from 'pino';
import { Repeated } from '../../concurrency/repeated.ts';
import type { Semaphore } from '../../concurrency/semaphore.ts';
import type { RecordListener } from '../../core/changes/record-follower.ts';
import type { TopicChanges } from '../../core/changes/topic-changes.ts';
import type { Clock } from '../../core/clock.ts';
import type { GroupEvent, PresenceStore } from '../../presence/presence-store.ts';
import { type Topic, USERS_TOPIC } from '../../store/changes/change-topics.ts';
import type { Store } from '../../store/store.ts';
import { StoreUnavailableError } from '../../values/engine-errors.ts';
import { slices } from '../../values/slices.ts';
import { isSameLocation } from '../views/durable-locations.ts';
import { readDurable, readListed } from '../views/durable-reading.ts';
import type { FeedState } from '../views/feed-state.ts';
import { presentableOf } from '../views/presentable.ts';
import type { FollowedGroup } from './followed-group.ts';

/** Above this many differing users the whole group is read again: one reading, instead of one for each 1,000 users. */
const USERS_NAMED_MAX = 2_000;
/** Most user IDs of one event. */
const USERS_PER_EVENT = 1_000;
/** Up to this many users are searched in the group. With more users, each user of the group is searched among them. */
const USERS_FEW = 100;
/** Readings of the record that wait while the group is read. With more, the group is read again. */
const FOUND_MAX = 100;
/** After so many attempts the group is read anew: its events do not come, or show something else than the Store. */
const ATTEMPTS_MAX = 3;

interface Parts {
  readonly store: Store;
  readonly presence: PresenceStore;
  readonly log: Logger;
  readonly clock: Clock;
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

/** Users to compare with the Store, or to read again. */
interface Named {
  /** Null for all of the group. */
  readonly users: readonly string[] | null;
  /** Those of whom a name or picture was recorded. */
  readonly renamed: readonly string[];
}

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
  /** What the record had since the last run. */
  #found: { readonly topic: Topic; readonly changes: TopicChanges }[] = [];
  #due: Concerned = new Set();
  /** Those of whom a name or picture was recorded. */
  #renamed = new Set<string>();
  #position = 0;
  #attempts = 0;
  /** Whether the PresenceStore has not answered yet. */
  #isPublishing = false;
  /** Whether a tick has come since. */
  #isOverdue = false;
  readonly #run = new Repeated(() => this.#apply());

  constructor(parts: Parts, state: FeedState) {
    this.#parts = parts;
    this.#state = state;
  }

  onChanges(topic: Topic, changes: TopicChanges): void {
    this.#found.push({ topic, changes });
    if (this.#found.length > FOUND_MAX) {
      this.#found = [];
      this.onGap(true);
    }
    void this.#run.request();
  }

  onGap(projectExists: boolean): void {
    // The streams of a deleted project end with its credentials: there is nothing to read again.
    if (projectExists) this.#parts.followed().onGap();
  }

  /** Call it about once a second: what could not be applied is tried again. */
  tick(): void {
    this.#isOverdue = this.#isPublishing;
    if (this.#hasDue) void this.#run.request();
  }

  /**
   * A status concerns all groups of the project, and few of them have the user: those who are present or watch. Of users who were
   * set active the Store knows whether they have durable locations here.
   */
  #known({ users, activated }: TopicChanges): string[] {
    if (users.size === 0) return [...activated];
    const viewers = [...this.#parts.viewerIds()].filter((id) => users.has(id));
    return [...this.#shown(users), ...viewers, ...activated];
  }

  /** Those of the users who are present. */
  #shown(users: ReadonlySet<string>): string[] {
    return users.size <= USERS_FEW
      ? [...users].filter((id) => this.#state.has(id))
      : this.#state.userIds().filter((id) => users.has(id));
  }

  /** Adds what concerns the group to what is due. Call it while the state does not change. */
  #collect(): void {
    for (const { topic, changes } of this.#found.splice(0)) {
      const { users, isOfGroup, position } = changes;
      const concerned = topic === USERS_TOPIC ? this.#known(changes) : [...users];
      const renamed = this.#state.profiles.isNeeded ? this.#shown(changes.profiles) : [];
      if (concerned.length + renamed.length === 0 && !isOfGroup) continue;
      this.#position = Math.max(this.#position, position);
      this.#attempts = 0;
      if (isOfGroup) this.#due = null;
      for (const id of concerned) this.#due?.add(id);
      for (const id of renamed) this.#renamed.add(id);
    }
  }

  get #hasDue(): boolean {
    return this.#due === null || this.#due.size > 0 || this.#renamed.size > 0;
  }

  /** Never rejects. */
  async #apply(): Promise<void> {
    // After what is being applied: a user who arrives with it may have been read before the change was recorded.
    if (this.#found.length > 0) await this.#parts.followed().inOrder(async () => this.#collect());
    if (!this.#hasDue) return;
    const [due, renamed] = [this.#due, this.#renamed];
    [this.#due, this.#renamed] = [new Set(), new Set()];
    try {
      const users = due === null ? null : [...due];
      if (users !== null) await this.#parts.endWithoutAccess(users);
      const isShown = await this.#show({ users, renamed: [...renamed] });
      if (users === null) await this.#endAfterDepartures(isShown);
      if (isShown) return;
    } catch (err) {
      if (!(err instanceof StoreUnavailableError))
        this.#parts.log.error(
          { err },
          'recorded changes of a group with presence streams could not be shown; the next tick reads them again',
        );
    }
    // They are compared again with the next tick, together with what came meanwhile.
    const next: Concerned = this.#due;
    this.#due = due === null || next === null ? null : due.union(next);
    this.#renamed = this.#renamed.union(renamed);
  }

  /**
   * Ends the streams of readers who lost the group. They get the departures before, unless the PresenceStore is away: then what is
   * to be shown may wait until it is back.
   */
  async #endAfterDepartures(isShown: boolean): Promise<void> {
    const followed = this.#parts.followed();
    if (isShown || followed.watch === null) await followed.inOrder(() => this.#parts.endWithoutAccess(null));
  }

  /** Whether all that the record names is shown. */
  async #show(named: Named): Promise<boolean> {
    const followed = this.#parts.followed();
    if (followed.watch === null) return this.#showAlone(named);
    const { project } = this.#state.scope;
    const differing = await this.#parts.reads.run(project, () => this.#differing(named));
    if (differing.users.length + differing.renamed.length === 0) return true;
    if (this.#isPublishing) {
      // What was recorded under another topic comes at the same moment: the next tick compares it.
      if (!this.#isOverdue) return false;
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
    this.#isOverdue = false;
    void this.#publish(differing, upTo)
      .catch((err) => {
        followed.invalidate(err);
        void this.#run.request();
      })
      .finally(() => (this.#isPublishing = false));
    return false;
  }

  async #showAlone({ users, renamed }: Named): Promise<boolean> {
    return this.#parts.followed().alone(async () => {
      for (const event of [...presenceEvents(users), ...profileEvents(renamed)])
        await this.#parts.applyAlone(event);
    });
  }

  async #publish({ users, renamed }: Named, upTo: number): Promise<void> {
    const { presence, clock } = this.#parts;
    const { scope } = this.#state;
    for (const [index, event] of presenceEvents(users).entries())
      await presence.publish(scope, event, clock.now(), index === 0 ? upTo : undefined);
    // Not all processes show names, so one that does not may have published an event up to this position.
    for (const event of profileEvents(renamed)) await presence.publish(scope, event, clock.now());
  }

  /** Those of whom the state has something else than the Store. */
  async #differing({ users, renamed }: Named): Promise<Named & { readonly users: readonly string[] }> {
    const { profiles, scope } = this.#state;
    const shown = renamed.filter((id) => this.#state.has(id));
    return {
      users: await this.#differingPresence(users),
      renamed: await profiles.differing(this.#parts.store, scope, shown),
    };
  }

  async #differingPresence(named: readonly string[] | null): Promise<string[]> {
    const { store } = this.#parts;
    const { scope } = this.#state;
    const stored = named === null ? await readListed(store, scope, null, null) : null;
    // All are those who are shown, or are to be shown when the group is active.
    const userIds = named ?? [...new Set([...this.#state.userIds(), ...(stored?.keys() ?? [])])];
    const visible = await presentableOf(store, scope, userIds);
    const durable = stored ?? (await readDurable(store, scope, null, [...visible.keys()]));
    const { view, unfiltered } = this.#state;
    return userIds.filter((id) => {
      const isVisible = visible.get(id) === view.incarnationOf(id);
      if (view.has(id) && view.isVisible(id) !== isVisible) return true;
      const latest = visible.has(id) ? (durable.get(id) ?? null) : null;
      return !isSameLocation(unfiltered.durableOf(id), latest);
    });
  }
}

/** Events upon which every process reads the presence of these users again, or with null of all. */
function presenceEvents(users: readonly string[] | null): GroupEvent[] {
  if (users === null || users.length > USERS_NAMED_MAX) return [{ type: 'group' }];
  return [...slices(users, USERS_PER_EVENT)].map((userIds) => ({ type: 'users', userIds }));
}

/** Events upon which every process that shows these users reads their names and pictures again. */
const profileEvents = (users: readonly string[]): GroupEvent[] =>
  [...slices(users, USERS_PER_EVENT)].map((userIds) => ({ type: 'profiles', userIds }));
