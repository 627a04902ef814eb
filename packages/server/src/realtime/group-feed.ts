import type { PresenceFilter } from '../core/presence-reading.ts';
import { groupNotFound } from '../core/refusals.ts';
import type { PresenceEvent, PresencePosition, PresenceScope } from '../presence/presence-store.ts';
import { Channel } from './channel.ts';
import { FeedState } from './feed-state.ts';
import { FollowedGroup, type FollowedParts, type Follower, type Numbered } from './followed-group.ts';
import { GroupChanges } from './group-changes.ts';
import { openChannel } from './open-channel.ts';
import { type Missed, readMissed, resume } from './resume.ts';
import type { SessionOwner, StreamSession } from './stream-session.ts';
import { requireWatchable, Viewers } from './viewers.ts';

/** How long a channel that nobody reads, and a group without streams, is kept for those who come back. */
const GRACE_MS = 30_000;

/** Longest between a change in the Store and its event, in milliseconds. */
const SETTLED_MS = 10_000;

export interface FeedParts extends FollowedParts, SessionOwner {
  /** Something is pending in the channel: it is to be told, now or a little later. */
  readonly offer: (channel: Channel) => void;
}

/** The streams of one group on this process: one watch and one view for all, and a channel for each filter. */
export class GroupFeed implements Follower, SessionOwner {
  readonly #parts: FeedParts;
  readonly #state: FeedState;
  readonly #channels = new Map<string, Channel>();
  readonly #changes: GroupChanges;
  readonly #viewers: Viewers;
  readonly #followed: FollowedGroup;
  #joining = 0;

  constructor(scope: PresenceScope, parts: FeedParts) {
    this.#parts = parts;
    this.#state = new FeedState(scope);
    this.#changes = new GroupChanges(parts.store, this.#state, this.#channels);
    this.#viewers = new Viewers(parts.store, scope);
    this.#followed = new FollowedGroup(parts, this.#state, this);
  }

  /** Nobody reads, joins or is waited for. */
  get isIdle(): boolean {
    return this.#channels.size === 0 && this.#joining === 0;
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
      this.#viewers.add(session);
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
    this.#viewers.remove(session);
    this.#parts.ended(session);
  }

  async apply(events: readonly Numbered[]): Promise<void> {
    const [lastOffset = 0] = events.at(-1) ?? [];
    await this.#changes.meetStrangers(
      events.map(([, event]) => event),
      lastOffset,
    );
    for (const [offset, event] of events) {
      await this.#changes.apply(offset, event);
      if (event.type === 'gone') await this.#endAll();
      if (!isOfTheStore(event)) continue;
      await this.#viewers.check('userIds' in event ? event.userIds : null);
      await this.#tellResumed();
    }
    for (const channel of this.#channels.values()) if (channel.hasPending) this.#parts.offer(channel);
  }

  onReading(): void {
    for (const channel of this.#channels.values()) channel.shut();
  }

  onRead(): void {
    for (const channel of this.#channels.values()) this.#open(channel);
    this.#followed.inOrder(() => this.#viewers.check(null)).catch((error) => this.#followed.doubt(error));
  }

  /** To be called about once a second. */
  tick(now: number): void {
    this.#followed.tick(now);
    for (const [key, channel] of this.#channels) {
      for (const reader of channel.lagging) reader.pump();
      if (channel.readers.size > 0) channel.emptySince = null;
      else channel.emptySince ??= now;
      if (channel.emptySince !== null && now - channel.emptySince >= GRACE_MS) this.#channels.delete(key);
    }
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
    const isCurrent = this.#channels.get(channelKey(channel.view.filter)) === channel;
    if (!isCurrent || !channel.isOpen) return;
    const resumed = missed === null ? null : resume(missed, channel, this.#state);
    const opening = resumed?.opening ?? (await channel.snapshot());
    if (session.ending === null) session.join(channel, opening, resumed?.exactFrom);
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
      const opening = await channel.snapshot();
      for (const reader of resumed) reader.reopen(opening);
    }
  }

  #channelOf(filter: PresenceFilter): Channel {
    const key = channelKey(filter);
    let channel = this.#channels.get(key);
    if (channel === undefined) {
      channel = new Channel(filter, this.#state);
      this.#channels.set(key, channel);
      this.#open(channel);
    }
    return channel;
  }

  #open(channel: Channel): void {
    const opening = openChannel(this.#parts, this.#state, channel, (task) => this.#followed.inOrder(task));
    channel.ready = opening;
    opening.catch((error) => {
      if (channel.ready !== opening) return;
      if (channel.readers.size > 0) this.#followed.doubt(error);
      else this.#channels.delete(channelKey(channel.view.filter));
    });
  }

  /** The group is no more: everybody is told who departed, and that. */
  async #endAll(): Promise<void> {
    const channels = [...this.#channels.values()];
    await Promise.all(channels.map((channel) => channel.tell()));
    for (const { readers } of channels) {
      for (const reader of readers) reader.end(groupNotFound(reader.asked.noun, reader.asked.groupId));
    }
  }
}

const channelKey = ({ location, excludeDurable }: PresenceFilter) =>
  JSON.stringify([location, excludeDurable]);

/** Whether it tells who may be seen, and so who may watch. */
const isOfTheStore = ({ type }: PresenceEvent) => type === 'removed' || type === 'users' || type === 'group';
