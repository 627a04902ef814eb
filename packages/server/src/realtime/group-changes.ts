import type { PresenceEvent } from '../presence/presence-store.ts';
import type { Incarnation, Store } from '../store/store.ts';
import type { Channel } from './channel.ts';
import { readAllDurable, readDurable } from './durable-reading.ts';
import type { FeedState } from './feed-state.ts';
import type { DurablePlace, DurableTold } from './filtered-view.ts';
import { presentableOf } from './presentable.ts';
import type { ReaderEvent } from './reader-event.ts';

/** How many users are remembered whose durable places were told, to notice those that are told out of order. */
const TOLD_MAX = 10_000;

/** What each channel is told besides the ephemeral changes. */
type OwnEvents = ReadonlyMap<Channel, readonly ReaderEvent[]>;
const NONE: OwnEvents = new Map();

type DurablePlaces = ReadonlyMap<string, DurablePlace>;

/**
 * Brings a group's view and its channels from one event to the next. Events of the Store are a reason to read there
 * again: they are told after they happened, so the last of several always finds what is so.
 */
export class GroupChanges {
  readonly #store: Store;
  readonly #state: FeedState;
  readonly #channels: ReadonlyMap<string, Channel>;
  /** Those who are new in the events being applied and may not be seen (any more), and the last of these events. */
  #doubted: readonly string[] = [];
  /** Those who are new in them by an earlier membership: their ephemeral locations are hidden alone. */
  #outdated: readonly string[] = [];
  #lastOffset = 0;
  readonly #toldAt = new Map<string, number>();

  constructor(store: Store, state: FeedState, channels: ReadonlyMap<string, Channel>) {
    this.#store = store;
    this.#state = state;
    this.#channels = channels;
  }

  /**
   * To be called before these events are applied, up to the last offset. Who comes may be seen; but they may have been
   * set deleted while they came, so all who are new are asked about at once, and hidden in the end if need be.
   */
  async meetStrangers(events: readonly PresenceEvent[], lastOffset: number): Promise<void> {
    /** By user: the membership for which they come; null of who comes durably. */
    const strangers = new Map<string, Incarnation | null>();
    for (const event of events) {
      if (event.type === 'placed') {
        const { userId, incarnation } = event;
        if (this.#state.view.incarnationOf(userId) !== incarnation) strangers.set(userId, incarnation);
      } else if (event.type === 'durable' && !this.#isKnown(event.userId)) {
        strangers.set(event.userId, strangers.get(event.userId) ?? null);
      }
    }
    const visible = await this.#presentable([...strangers.keys()]);
    this.#doubted = [...strangers.keys()].filter((id) => !visible.has(id));
    this.#outdated = [...strangers].flatMap(([id, incarnation]) =>
      incarnation !== null && visible.has(id) && visible.get(id) !== incarnation ? [id] : [],
    );
    this.#lastOffset = lastOffset;
  }

  apply(offset: number, event: PresenceEvent): Promise<void> | void {
    const { view } = this.#state;
    switch (event.type) {
      case 'placed':
        return this.#record(offset, view.place(event));
      case 'left':
        return this.#record(offset, view.leave(event.userId, event.location, event.reason));
      case 'removed':
        return this.#remove(offset, event.userIds);
      case 'gone':
        return this.#removeEverybody(offset);
      case 'durable':
        return this.#placeDurable(offset, event);
      case 'users':
        return this.#recheck(offset, event.userIds);
      case 'group':
        return this.#recheckEverybody(offset);
    }
  }

  #isKnown(userId: string): boolean {
    return this.#state.view.has(userId) || this.#state.durable.has(userId);
  }

  #everybody(): string[] {
    return [...new Set([...this.#state.view.userIds(), ...this.#state.durable.userIds()])];
  }

  /** Who is a member again by the time that this is told may have been given a durable place since. */
  async #remove(offset: number, userIds: readonly string[]): Promise<void> {
    const events = userIds.flatMap((id) => this.#removeOne(id));
    const hidden = this.#ofChannels(userIds, (channel, id) => channel.view.hide(id));
    const back = [...(await this.#presentable(userIds)).keys()];
    await this.#state.known.readUsers(this.#store, this.#state.scope, userIds, back);
    const own = await this.#withShown(hidden, (channel) => this.#readDurable(channel, back));
    this.#record(offset, events, own);
  }

  /** The same of a group that was made again. */
  async #removeEverybody(offset: number): Promise<void> {
    const userIds = this.#everybody();
    const events = userIds.flatMap((id) => this.#removeOne(id));
    const hidden = this.#ofChannels(userIds, (channel, id) => channel.view.hide(id));
    this.#markUnread(null);
    await this.#state.known.read(this.#store, this.#state.scope);
    const own = await this.#withShown(hidden, (channel) => this.#readAllDurable(channel));
    this.#record(offset, events, own);
  }

  #placeDurable(offset: number, told: DurableTold): Promise<void> | void {
    const { userId } = told;
    const isLate = this.#isToldLate(told);
    const { view } = this.#state;
    // The user may not be seen, or is followed at the ephemeral locations of an earlier membership.
    if (view.has(userId) && !view.isVisible(userId)) return this.#recheck(offset, [userId]);
    this.#state.known.placed(userId, told);
    const doubtful: Channel[] = [];
    const own = this.#ofChannels([userId], (channel) => {
      const isUncertain = isLate || channel.view.endsShown(told);
      const events = isUncertain ? null : channel.view.place(told);
      if (events === null) doubtful.push(channel);
      return events ?? [];
    });
    if (doubtful.length === 0) return this.#record(offset, [], own);
    return this.#rereadDurable(offset, doubtful, told, own);
  }

  /** Two processes that set durable places of a user at once may tell them the other way round. */
  #isToldLate({ userId, at }: DurableTold): boolean {
    const before = this.#toldAt.get(userId) ?? Number.NEGATIVE_INFINITY;
    if (this.#toldAt.size === TOLD_MAX) this.#toldAt.clear();
    this.#toldAt.set(userId, Math.max(before, at));
    return at <= before;
  }

  async #rereadDurable(
    offset: number,
    doubtful: readonly Channel[],
    told: DurableTold,
    known: OwnEvents,
  ): Promise<void> {
    const { userId } = told;
    const own = new Map(known);
    for (const channel of doubtful) {
      const places = await this.#readDurable(channel, [userId]);
      own.set(channel, channel.view.replace(places.get(userId) ?? null, told));
    }
    this.#record(offset, [], own);
  }

  /** Shows and hides these users, as the Store has them now. */
  async #recheck(offset: number, userIds: readonly string[]): Promise<void> {
    const visible = await this.#presentable(userIds);
    const visibleIds = [...visible.keys()];
    await this.#state.known.readUsers(this.#store, this.#state.scope, userIds, visibleIds);
    const hidden = userIds.filter((id) => !visible.has(id));
    const events = this.#turn(userIds, visible);
    const ended = this.#ofChannels(hidden, (channel, id) => channel.view.hide(id));
    const own = new Map<Channel, readonly ReaderEvent[]>();
    for (const channel of this.#openChannels()) {
      const places = await this.#readDurable(channel, visibleIds);
      const shown = visibleIds.flatMap((id) => channel.view.set(id, places.get(id) ?? null));
      own.set(channel, [...(ended.get(channel) ?? []), ...shown]);
    }
    this.#markUnread(userIds);
    this.#record(offset, events, own);
  }

  async #recheckEverybody(offset: number): Promise<void> {
    const everybody = this.#everybody();
    const visible = await this.#presentable(everybody);
    await this.#state.known.read(this.#store, this.#state.scope);
    const events = this.#turn(everybody, visible);
    const own = new Map<Channel, ReaderEvent[]>();
    for (const channel of this.#openChannels()) {
      const { view } = channel;
      const places = await this.#readAllDurable(channel);
      const ended = view.durableUserIds().filter((id) => !places.has(id));
      own.set(channel, [
        ...ended.flatMap((id) => (visible.has(id) ? view.set(id, null) : view.hide(id))),
        ...[...places].flatMap(([id, place]) => view.set(id, place)),
      ]);
    }
    this.#markUnread(null);
    this.#record(offset, events, own);
  }

  #removeOne(userId: string): readonly ReaderEvent[] {
    this.#state.known.hide(userId);
    return this.#state.view.remove(userId);
  }

  #turn(userIds: readonly string[], visible: ReadonlyMap<string, Incarnation>): ReaderEvent[] {
    const { view } = this.#state;
    const isVisible = (id: string) => visible.get(id) === view.incarnationOf(id);
    return userIds.flatMap((id) => (isVisible(id) ? view.show(id) : view.hide(id)));
  }

  /** The channels that show durable places and know them. */
  *#openChannels(): Generator<Channel> {
    for (const channel of this.#channels.values()) {
      if (channel.isOpen && !channel.view.filter.excludeDurable) yield channel;
    }
  }

  /** What each open channel is told of these users; in those that are not open they are to be read again. */
  #ofChannels(
    userIds: readonly string[],
    events: (channel: Channel, userId: string) => readonly ReaderEvent[],
  ): OwnEvents {
    this.#markUnread(userIds);
    const own = new Map<Channel, ReaderEvent[]>();
    for (const channel of this.#openChannels())
      own.set(
        channel,
        userIds.flatMap((id) => events(channel, id)),
      );
    return own;
  }

  /** Adds to what each open channel is told the durable places that are read for it. */
  async #withShown(own: OwnEvents, read: (channel: Channel) => Promise<DurablePlaces>): Promise<OwnEvents> {
    const all = new Map(own);
    for (const channel of this.#openChannels()) {
      const shown = [...(await read(channel))].flatMap(([id, place]) => channel.view.set(id, place));
      all.set(channel, [...(own.get(channel) ?? []), ...shown]);
    }
    return all;
  }

  #markUnread(userIds: readonly string[] | null): void {
    for (const channel of this.#channels.values()) {
      if (channel.isOpen) continue;
      if (userIds === null) channel.unread.ids = null;
      else for (const id of userIds) channel.unread.ids?.add(id);
    }
  }

  #readDurable(channel: Channel, userIds: readonly string[]): Promise<DurablePlaces> {
    return readDurable(this.#store, this.#state.scope, channel.view.filter.location, userIds);
  }

  #readAllDurable(channel: Channel): Promise<DurablePlaces> {
    return readAllDurable(this.#store, this.#state.scope, channel.view.filter.location);
  }

  #presentable(userIds: readonly string[]): Promise<Map<string, Incarnation>> {
    return presentableOf(this.#store, this.#state.scope, userIds);
  }

  /** The event has been applied whole: from here on it is told. */
  #record(offset: number, events: readonly ReaderEvent[], own: OwnEvents = NONE): void {
    this.#state.offset = offset;
    const isLast = offset === this.#lastOffset;
    const doubted = isLast ? this.#doubted : [];
    const hidden = isLast ? [...this.#doubted, ...this.#outdated] : [];
    for (const id of doubted) this.#state.known.hide(id);
    const all = [...events, ...hidden.flatMap((id) => this.#state.view.hide(id))];
    const shown = new Map<Channel, ReaderEvent[]>();
    const show = (channel: Channel, shownEvents: readonly ReaderEvent[]) => {
      if (!channel.isOpen || shownEvents.length === 0) return;
      const before = shown.get(channel);
      if (before === undefined) shown.set(channel, [...shownEvents]);
      else before.push(...shownEvents);
    };
    for (const event of all) {
      for (const channel of this.#channelsNear(event)) {
        const seen = channel.view.filtered(event);
        if (seen !== null) show(channel, [seen]);
      }
    }
    for (const [channel, ownEvents] of own) show(channel, ownEvents);
    for (const id of doubted)
      for (const channel of this.#openChannels()) show(channel, channel.view.hide(id));
    for (const [channel, shownEvents] of shown) channel.record(offset, shownEvents);
  }

  /** The channels that may show the event. */
  #channelsNear(event: ReaderEvent): Iterable<Channel> {
    const isMove = event.type === 'arrived' && event.from !== null;
    return isMove
      ? this.#state.channels.near(event.location, event.from as string)
      : this.#state.channels.near(event.location);
  }
}
