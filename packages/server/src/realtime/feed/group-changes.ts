import type { NumberedEvent, PresenceEvent } from '../../presence/presence-store.ts';
import type { Profile } from '../../store/ports/users.ts';
import type { Store } from '../../store/store.ts';
import type { Incarnation } from '../../values/incarnation.ts';
import type { LocationFilter } from '../../values/location-filter.ts';
import type { Channel } from '../channels/channel.ts';
import type { ChannelSet } from '../channels/channel-set.ts';
import type { ReaderEvent } from '../events/reader-event.ts';
import type { DurableLocation } from '../views/durable-locations.ts';
import { type LatestLocations, readAllDurable, readDurable } from '../views/durable-reading.ts';
import type { FeedState } from '../views/feed-state.ts';
import type { DurableSet, FilteredView } from '../views/filtered-view.ts';
import { presentableOf } from '../views/presentable.ts';

/** The changes of one event of the group: ephemeral presence as a reader without a filter sees it, and durable presence. */
interface GroupChange {
  readonly ephemeral: readonly ReaderEvent[];
  readonly durable: ReadonlyMap<Channel, readonly ReaderEvent[]>;
}

/** The new users in a list of events who may not be seen after all. */
interface Hidden {
  readonly all: readonly string[];
  /** The same, and users who may be seen for another membership than that of their ephemeral presence. */
  readonly ephemeral: readonly string[];
}

const NONE_HIDDEN: Hidden = { all: [], ephemeral: [] };
/** Of so many removed users durable updates are compared with the Store, and so many hidden users are stored. */
const REMOVED_MAX = 10_000;
const NONE_ENDED: ReadonlySet<DurableSet> = new Set();
const NO_DURABLE = new Map<Channel, readonly ReaderEvent[]>();

/**
 * Applies a group's events to its state and channels. An event of the Store causes a read of the Store. Events are published
 * after their commit, so the read after the last of several events has the final state.
 */
export class GroupChanges {
  readonly #store: Store;
  readonly #state: FeedState;
  readonly #channels: ChannelSet;
  /** Of the events that are being applied: the durable updates whose location has ended since. */
  #ended: ReadonlySet<DurableSet> = NONE_ENDED;
  /** Users who were removed, the latest last, until a durable location of theirs is stored again. */
  readonly #removed = new Set<string>();
  /** Users with a durable location who may not be seen, the latest last, until an event names them. */
  readonly #hidden = new Set<string>();
  /** Whether the event that is being applied is of a change that was shown before. */
  #isAhead = false;
  #isGroupRemoved = false;

  constructor(store: Store, state: FeedState, channels: ChannelSet) {
    this.#store = store;
    this.#state = state;
    this.#channels = channels;
  }

  /**
   * Applies events in order, and calls `afterEach` when the channels have an event, which returns null where nothing has to be
   * waited for. New users are shown at first. A user may have been set deleted at the same moment, so all new users are read at
   * once, and hidden with the last event if need be.
   */
  async apply(
    events: readonly NumberedEvent[],
    afterEach: (event: PresenceEvent) => Promise<void> | null,
  ): Promise<void> {
    const users = this.#newUsers(events);
    const hidden = users.size === 0 ? NONE_HIDDEN : await this.#hiddenOf(users);
    const doubtful = this.#afterRemoval(events);
    this.#ended = doubtful.length === 0 ? NONE_ENDED : await this.#endedOf(doubtful);
    const last = events.at(-1);
    for (const numbered of events) {
      const [offset, event] = numbered;
      this.#isAhead = false;
      const changing = this.#change(event);
      const change = changing instanceof Promise ? await changing : changing;
      this.#state.offset = offset;
      if (this.#isAhead) this.#state.aheadAt = offset;
      this.#record(numbered === last && hidden !== NONE_HIDDEN ? this.#hide(change, hidden) : change);
      const after = afterEach(event);
      if (after !== null) await after;
    }
  }

  /** The durable updates that follow a removal of the user, in these events or shortly before them. */
  #afterRemoval(events: readonly NumberedEvent[]): DurableSet[] {
    const found: DurableSet[] = [];
    for (const [, event] of events) {
      if (event.type === 'usersRemoved') for (const id of event.userIds) addLatest(this.#removed, id);
      else if (event.type === 'groupRemoved') this.#isGroupRemoved = true;
      else if (event.type === 'durable' && (this.#isGroupRemoved || this.#removed.has(event.userId)))
        found.push(event);
    }
    return found;
  }

  /**
   * Those of the updates whose location the Store does not have any more. An update can be published after the end of its
   * membership, and the user can be a member again by then.
   */
  async #endedOf(updates: readonly DurableSet[]): Promise<ReadonlySet<DurableSet>> {
    const isStored = async ({ userId, location, at }: DurableSet) => {
      const filter = { location, partial: false };
      const found = await readDurable(this.#store, this.#state.scope, filter, [userId]);
      return (found.get(userId)?.at ?? -1) >= at;
    };
    const stored = await Promise.all(updates.map(isStored));
    for (const [index, { userId }] of updates.entries()) if (stored[index]) this.#removed.delete(userId);
    return new Set(updates.filter((_, index) => !stored[index]));
  }

  /** The membership of each new user's ephemeral presence; null where there is only durable presence. */
  #newUsers(events: readonly NumberedEvent[]): Map<string, Incarnation | null> {
    const users = new Map<string, Incarnation | null>();
    for (const [, event] of events) {
      if (event.type === 'arrived') {
        const { userId, incarnation } = event;
        if (users.has(userId) || this.#state.view.incarnationOf(userId) !== incarnation)
          users.set(userId, incarnation);
      } else if (event.type === 'durable' && !this.#state.has(event.userId))
        users.set(event.userId, users.get(event.userId) ?? null);
    }
    return users;
  }

  async #hiddenOf(users: ReadonlyMap<string, Incarnation | null>): Promise<Hidden> {
    const visible = await this.#presentable([...users.keys()]);
    await this.#readNewProfiles([...users.keys()]);
    const isHidden = ([id, incarnation]: [string, Incarnation | null]) =>
      !visible.has(id) || (incarnation !== null && visible.get(id) !== incarnation);
    return {
      all: [...users.keys()].filter((id) => !visible.has(id)),
      ephemeral: [...users].filter(isHidden).map(([id]) => id),
    };
  }

  #change(event: PresenceEvent): GroupChange | Promise<GroupChange> {
    const { view } = this.#state;
    switch (event.type) {
      case 'arrived':
        return { ephemeral: this.#withProfiles(this.#follow(event)), durable: NO_DURABLE };
      case 'departed':
        return { ephemeral: this.#follow(event), durable: NO_DURABLE };
      case 'data':
        return { ephemeral: view.changeData(event), durable: NO_DURABLE };
      case 'profiles':
        return this.#rereadProfiles(event.userIds);
      case 'releasing':
        return { ephemeral: [], durable: NO_DURABLE };
      case 'durable':
        return this.#setDurable(event);
      case 'users':
        return this.#reread(event.userIds, false);
      case 'group':
        return this.#reread(null, false);
      case 'usersRemoved':
        return this.#reread(event.userIds, true);
      case 'groupRemoved':
        return this.#reread(null, true);
    }
  }

  /** A reading omits presence that has expired, and a sweep or a move ends it later: readers from another process may have it. */
  #follow(event: Extract<PresenceEvent, { type: 'arrived' | 'departed' }>): ReaderEvent[] {
    const { view } = this.#state;
    const { type, userId } = event;
    const left = type === 'arrived' ? event.from : event.location;
    const isHidden = view.has(userId) && !view.isVisible(userId);
    this.#isAhead = left !== null && !isHidden && !view.visibleLocationsOf(userId).includes(left);
    return type === 'arrived' ? view.arrive(event) : view.depart(userId, event.location, event.reason);
  }

  /** Arrivals have the name and picture of the user, where a channel shows them. */
  #withProfiles(events: ReaderEvent[]): ReaderEvent[] {
    const { profiles } = this.#state;
    if (!profiles.isNeeded) return events;
    return events.map((event) =>
      event.type === 'arrived' ? { ...event, user: profiles.get(event.userId) } : event,
    );
  }

  /** Reads the profiles of users who were absent: a stored profile of such a user can be outdated. */
  async #readNewProfiles(userIds: readonly string[]): Promise<void> {
    const { profiles, scope } = this.#state;
    const absent = userIds.filter((id) => !this.#state.has(id));
    await profiles.read(this.#store, scope, absent);
  }

  async #rereadProfiles(userIds: readonly string[]): Promise<GroupChange> {
    const { profiles, scope } = this.#state;
    if (!profiles.isNeeded) return { ephemeral: [], durable: NO_DURABLE };
    const present = userIds.filter((id) => this.#state.has(id));
    const changed = await profiles.read(this.#store, scope, present);
    this.#isAhead = changed.length < present.length;
    const users = changed.map((userId) => ({
      ...{ type: 'user' as const, userId },
      user: profiles.get(userId) as Profile,
    }));
    return { ephemeral: users, durable: NO_DURABLE };
  }

  async #setDurable(event: DurableSet): Promise<GroupChange> {
    const { view, unfiltered } = this.#state;
    const { userId, location, at } = event;
    const latest = unfiltered.durableOf(userId);
    // The user may not be seen, or has ephemeral presence of an earlier membership; or the update is of an earlier one.
    const isHidden = view.has(userId) && !view.isVisible(userId);
    if (isHidden || this.#ended.has(event)) return this.#reread([userId], false);
    // Two processes that set durable locations of a user at once can publish them the other way round. In one membership
    // each location has another time.
    const isLate = latest !== null && (at < latest.at || (at === latest.at && location !== latest.location));
    const isGap = isAfterGap(event, latest);
    this.#markStale([userId]);
    const read = this.#reader([userId]);
    return {
      ephemeral: [],
      durable: await this.#applyToViews(
        (shown) =>
          (isLate || isGap ? null : shown.applyDurable(event)) ??
          read(shown.filter.location).then((found) => shown.applyRead(event, found.get(userId) ?? null)),
      ),
    };
  }

  /** Shows these users, or with null all users, as the Store has them now. With `isRemoval` their memberships ended. */
  async #reread(named: readonly string[] | null, isRemoval: boolean): Promise<GroupChange> {
    const { view } = this.#state;
    const userIds = named ?? this.#state.userIds();
    const located = userIds.filter((id) => this.#state.unfiltered.durableOf(id) !== null);
    const unchanged = new Set(userIds.filter((id) => this.#state.has(id) || this.#hidden.delete(id)));
    const ephemeral = isRemoval ? userIds.flatMap((id) => view.remove(id)) : [];
    this.#markStale(named);
    const visible = await this.#presentable(userIds);
    for (const id of userIds)
      ephemeral.push(...this.#withProfiles(view.setVisible(id, visible.get(id) === view.incarnationOf(id))));
    const read = this.#reader(named === null ? null : [...visible.keys()]);
    if (this.#state.profiles.isNeeded)
      await this.#readNewProfiles([...visible.keys(), ...(named === null ? (await read(null)).keys() : [])]);
    const durable = await this.#applyToViews(async (shown) => {
      const locations = await read(shown.filter.location);
      const ids = named ?? new Set([...shown.durableUserIds(), ...locations.keys()]);
      const events = [...ids].flatMap((id) => [
        ...(isRemoval || !visible.has(id) ? shown.setDurable(id, null, 'removed') : []),
        ...shown.setDurable(id, locations.get(id) ?? null),
      ]);
      for (const { userId } of events) unchanged.delete(userId);
      return events;
    });
    for (const { userId } of ephemeral) unchanged.delete(userId);
    for (const id of located) if (!visible.has(id)) addLatest(this.#hidden, id);
    this.#isAhead = unchanged.size > 0;
    return { ephemeral, durable };
  }

  /** Applies a change to the durable presence of the group, and to what each open channel shows of it. */
  async #applyToViews(
    apply: (view: FilteredView) => readonly ReaderEvent[] | Promise<readonly ReaderEvent[]>,
  ): Promise<Map<Channel, readonly ReaderEvent[]>> {
    await apply(this.#state.unfiltered);
    const events = new Map<Channel, readonly ReaderEvent[]>();
    for (const channel of this.#channels.showingDurable()) {
      const shown = apply(channel.view);
      events.set(channel, shown instanceof Promise ? await shown : shown);
    }
    return events;
  }

  /** Reads the durable locations of these users, or with null of all visible ones, once for each filter. */
  #reader(userIds: readonly string[] | null): (filter: LocationFilter) => Promise<LatestLocations> {
    const { scope } = this.#state;
    const reads = new Map<string, Promise<LatestLocations>>();
    return (filter) => {
      const key = JSON.stringify(filter);
      let read = reads.get(key);
      if (read === undefined) {
        read =
          userIds === null
            ? readAllDurable(this.#store, scope, filter)
            : readDurable(this.#store, scope, filter, userIds);
        reads.set(key, read);
      }
      return read;
    };
  }

  /** Channels that are not open read these users, or with null all users, again before they open. */
  #markStale(userIds: readonly string[] | null): void {
    for (const { isOpen, stale } of this.#channels) {
      if (isOpen) continue;
      if (userIds === null) stale.userIds = null;
      else for (const id of userIds) stale.userIds?.add(id);
    }
  }

  #hide({ ephemeral, durable }: GroupChange, hidden: Hidden): GroupChange {
    const { view, unfiltered } = this.#state;
    const all = new Map(durable);
    for (const id of hidden.all) {
      if (unfiltered.setDurable(id, null).length > 0) addLatest(this.#hidden, id);
      for (const channel of this.#channels.showingDurable()) {
        const events = channel.view.setDurable(id, null, 'removed');
        if (events.length > 0) all.set(channel, [...(all.get(channel) ?? []), ...events]);
      }
    }
    const left = hidden.ephemeral.flatMap((id) => view.setVisible(id, false));
    return { ephemeral: [...ephemeral, ...left], durable: all };
  }

  #presentable(userIds: readonly string[]): Promise<Map<string, Incarnation>> {
    return presentableOf(this.#store, this.#state.scope, userIds);
  }

  /** Gives each open channel what it shows of a change; all of the state is at the offset now. */
  #record({ ephemeral, durable }: GroupChange): void {
    const { offset } = this.#state;
    for (const event of ephemeral) {
      for (const channel of this.#channels.near(event)) {
        const seen = channel.isOpen ? channel.view.filtered(event) : null;
        if (seen !== null) channel.record(offset, seen);
      }
    }
    for (const [channel, events] of durable) {
      if (!channel.isOpen) continue;
      for (const event of events) {
        channel.record(offset, event);
        if (event.type === 'durable' && event.isNew) this.#introduce(channel, event.userId);
      }
    }
  }

  /** A user of whom nothing but a durable location is shown: unlike an arrival, its event has no name and picture. */
  #introduce(channel: Channel, userId: string): void {
    const { offset, profiles, view } = this.#state;
    const user = channel.view.showsUsers ? profiles.get(userId) : null;
    if (user === null || view.visibleLocationsOf(userId).some(channel.view.passes)) return;
    channel.record(offset, { type: 'user', userId, user });
  }
}

/** Whether an update between the latest known one and this one was never published: its process was killed, or could not publish. */
const isAfterGap = ({ at, latestBefore }: DurableSet, latest: DurableLocation | null) =>
  latestBefore !== undefined && at > (latest?.at ?? 0) && latestBefore !== (latest?.at ?? null);

/** Adds an ID as the latest one. Of more than {@link REMOVED_MAX} the earliest is dropped. */
function addLatest(ids: Set<string>, id: string): void {
  ids.delete(id);
  ids.add(id);
  const [earliest] = ids;
  if (ids.size > REMOVED_MAX) ids.delete(earliest as string);
}
