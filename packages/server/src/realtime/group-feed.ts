import type { Logger } from 'pino';
import type { PresenceFilter } from '../core/presence-reading.ts';
import type { PresenceEvent, PresencePosition, PresenceScope } from '../presence/presence-store.ts';
import { Channel } from './channel.ts';
import { FeedState } from './feed-state.ts';
import { FollowedGroup, type FollowedParts, type Follower, type Numbered } from './followed-group.ts';
import { GroupChanges } from './group-changes.ts';
import { GroupReaders } from './group-readers.ts';
import type { HeldTexts } from './held-texts.ts';
import { openChannel } from './open-channel.ts';
import { Reconciliation } from './reconciliation.ts';
import { type Missed, readMissed, resume } from './resume.ts';
import type { SessionOwner, StreamSession } from './stream-session.ts';
import { endRefused, requireWatchable } from './watch-rights.ts';

/** How long a channel that nobody reads, and a group without streams, is kept for those who come back. */
const GRACE_MS = 30_000;
/** How many channels that nobody reads are kept: every event is filtered for each, and whoever may watch may ask for any. */
const IDLE_MAX = 100;

/** Longest between a change in the Store and its event, in milliseconds. */
const SETTLED_MS = 10_000;

export interface FeedParts extends FollowedParts, SessionOwner {
  readonly log: Logger;
  /** Something is pending in the channel: it is to be told, now or a little later. */
  readonly offer: (channel: Channel) => void;
}

/** The streams of one group on this process: one watch and one view for all, and a channel for each filter. */
export class GroupFeed implements Follower, SessionOwner {
  readonly #parts: FeedParts;
  readonly #state: FeedState;
  readonly #channels = new Map<string, Channel>();
  readonly #changes: GroupChanges;
  readonly #readers = new GroupReaders();
  readonly #followed: FollowedGroup;
  readonly #reconciliation: Reconciliation;
  #joining = 0;

  constructor(scope: PresenceScope, parts: FeedParts) {
    this.#parts = parts;
    this.#state = new FeedState(scope);
    this.#changes = new GroupChanges(parts.store, this.#state, this.#channels);
    this.#reconciliation = new Reconciliation(
      { ...parts, endRefused: () => this.#endRefused(null), isFollowed: () => this.#followed.watch !== null },
      this.#state,
      parts.clock.now(),
    );
    this.#followed = new FollowedGroup(parts, this.#state, this);
  }

  /** Nobody reads, joins or is waited for. */
  get isIdle(): boolean {
    return this.#channels.size === 0 && this.#joining === 0;
  }

  get held(): HeldTexts {
    return this.#parts.held;
  }

  get channels(): Iterable<Channel> {
    return this.#channels.values();
  }

  /**
   * Adds a reader, who goes on from a position where that can be, and otherwise begins with a snapshot.
   * @throws ServiceError when they may not; StoreUnavailableError
   */
  async join(session: StreamSession, position: PresencePosition | null): Promise<void> {
    this.#joining += 1;
    try {
      this.#readers.add(session);
      while (session.channel === null && session.ending === null) await this.#tryJoin(session, position);
      // Last, so that whatever ended the right to watch before it joined is seen here; what comes later ends the stream.
      await requireWatchable(this.#parts.store, session.asked);
    } catch (error) {
      session.close();
      throw error;
    } finally {
      this.#joining -= 1;
    }
  }

  ended(session: StreamSession): void {
    this.#readers.remove(session);
    this.#parts.ended(session);
  }

  failed(session: StreamSession, defect: unknown): void {
    this.#parts.failed(session, defect);
  }

  async apply(events: readonly Numbered[]): Promise<void> {
    const [lastOffset = 0] = events.at(-1) ?? [];
    await this.#changes.meetStrangers(
      events.map(([, event]) => event),
      lastOffset,
    );
    for (const [offset, event] of events) {
      await this.#changes.apply(offset, event);
      if (event.type === 'gone') await this.#endGone();
      else if (isOfTheStore(event)) await this.#endRefused('userIds' in event ? event.userIds : null);
      else if (!endsLocations(event)) continue;
      await this.#tellResumed();
    }
    for (const channel of this.#channels.values()) if (channel.hasPending) this.#parts.offer(channel);
  }

  onReading(): void {
    for (const channel of this.#channels.values()) channel.shut();
  }

  async onRead(): Promise<void> {
    this.#reconciliation.restart(this.#parts.clock.now());
    const opened = [...this.#channels.values()].map((channel) => this.#open(channel));
    const asked = this.#followed
      .inOrder(() => this.#endRefused(null))
      .catch((error) => this.#followed.doubt(error));
    await Promise.all([...opened, asked]);
  }

  /** To be called about once a second. */
  tick(now: number): void {
    this.#followed.tick(now);
    if (this.#followed.watch !== null && this.#reconciliation.begin(now)) {
      void this.#parts.turns.take(() => this.#reconciliation.run(now));
    }
    const idle: string[] = [];
    for (const [key, channel] of this.#channels) {
      void channel.pump();
      if (channel.readers.size > 0) channel.emptySince = null;
      else channel.emptySince ??= now;
      if (channel.emptySince === null) continue;
      if (now - channel.emptySince >= GRACE_MS) this.#closeChannel(key);
      else idle.push(key);
    }
    for (const key of idle.slice(0, -IDLE_MAX)) this.#closeChannel(key);
  }

  close(): void {
    this.#followed.close();
  }

  async #tryJoin(session: StreamSession, position: PresencePosition | null): Promise<void> {
    await this.#followed.ready;
    const channel = this.#channelOf(session.asked.filter);
    await channel.ready;
    const { watch } = this.#followed;
    const missed =
      position === null || watch === null ? null : await readMissed(watch, channel, this.#state, position);
    await this.#followed.inOrder(() => this.#admit(session, channel, missed));
  }

  /** Nothing happens where the channel was given up meanwhile. */
  async #admit(session: StreamSession, channel: Channel, missed: Missed | null): Promise<void> {
    if (!channel.isOpen) return;
    const resumed = missed === null ? null : resume(missed, channel, this.#state);
    const opening = resumed?.opening ?? (await channel.snapshot());
    // A channel without readers may be closed while its snapshot is made.
    const isCurrent = this.#channels.get(channelKey(channel.view.filter)) === channel;
    if (isCurrent && session.ending === null) session.join(channel, opening, resumed?.exactFrom);
  }

  /**
   * A channel that was opened between a change in the Store and its event knew it already, so that it has nothing to tell
   * of it; those who had come back to it by then did not, and are told everything.
   */
  async #tellResumed(): Promise<void> {
    const now = this.#parts.clock.now();
    for (const channel of this.#channels.values()) {
      if (!channel.isOpen || now - channel.openedAt >= SETTLED_MS) continue;
      const resumed = [...channel.readers].filter(({ isResumed }) => isResumed);
      if (resumed.length === 0) continue;
      await channel.reopen(resumed);
    }
  }

  #channelOf(filter: PresenceFilter): Channel {
    const key = channelKey(filter);
    let channel = this.#channels.get(key);
    if (channel === undefined) {
      channel = new Channel(filter, this.#state, (defect) => this.#followed.doubt(defect));
      this.#channels.set(key, channel);
      void this.#open(channel);
    }
    return channel;
  }

  #closeChannel(key: string): void {
    this.#channels.get(key)?.close();
    this.#channels.delete(key);
  }

  /** Resolves when it is open, or could not be. */
  #open(channel: Channel): Promise<void> {
    const opening = this.#parts.turns.take(() =>
      openChannel(this.#parts, this.#state, channel, (task) => this.#followed.inOrder(task)),
    );
    channel.ready = opening;
    return opening.catch((error) => {
      if (channel.ready !== opening) return;
      if (channel.readers.size > 0) this.#followed.doubt(error);
      else this.#closeChannel(channelKey(channel.view.filter));
    });
  }

  /** The group is no more: everybody is told who departed, and that, unless it was made again by now. */
  async #endGone(): Promise<void> {
    await Promise.all([...this.#channels.values()].map((channel) => channel.tell()));
    await this.#endRefused(null);
  }

  /** Ends the streams of those of these viewers who may not watch any more; where it is null, of all readers. */
  #endRefused(userIds: readonly string[] | null): Promise<void> {
    const { store } = this.#parts;
    return endRefused(store, userIds === null ? this.#readers.all() : this.#readers.viewersOf(userIds));
  }
}

const channelKey = ({ location, excludeDurable }: PresenceFilter) =>
  JSON.stringify([location, excludeDurable]);

/** Whether durable locations ended because of a bound: the event does not name them. */
const endsLocations = (event: PresenceEvent) => event.type === 'durable' && event.endedTo !== undefined;

/** Whether it tells who may be seen, and so who may watch. */
const isOfTheStore = ({ type }: PresenceEvent) => type === 'removed' || type === 'users' || type === 'group';
