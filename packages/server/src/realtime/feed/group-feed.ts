import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { PresenceFilter } from '../../core/presence/presence-reading.ts';
import type {
  GroupEvent,
  NumberedEvent,
  PresenceEvent,
  PresencePosition,
  PresenceScope,
} from '../../presence/presence-store.ts';
import { presenceTopic, USERS_TOPIC } from '../../store/changes/change-topics.ts';
import { Channel } from '../channels/channel.ts';
import { ChannelSet } from '../channels/channel-set.ts';
import { openChannel } from '../channels/open-channel.ts';
import { type Missed, readMissed, resume } from '../channels/resume.ts';
import type { StreamCounts } from '../events/stream-counts.ts';
import type { ConnectionReleases } from '../sessions/connection-releases.ts';
import type { StreamSession } from '../sessions/stream-session.ts';
import { endWithoutAccess, requireAccess } from '../sessions/watch-access.ts';
import { FeedState } from '../views/feed-state.ts';
import { FollowedGroup, type FollowedParts, type Follower } from './followed-group.ts';
import { GroupChanges } from './group-changes.ts';
import { RecordedChanges } from './recorded-changes.ts';

/** How long a channel without readers, and a group without streams, is retained for readers who reconnect. */
const GRACE_MS = 30_000;
/** Most channels without readers: every event is filtered for each, and a caller may request any filter. */
const IDLE_MAX = 100;

/** Longest time between a change in the Store and its event, in milliseconds. */
const EVENT_DELAY_MAX_MS = 10_000;

interface FeedParts extends FollowedParts {
  readonly log: Logger;
  readonly counts: StreamCounts;
  /** The channel has events to send, now or a little later. */
  readonly sendSoon: (channel: Channel) => void;
  /** A connection is about to be released. */
  readonly onReleasing: ConnectionReleases['releasing'];
}

/** The streams of one group on this process: one watch and one state for all, and a channel for each filter. */
export class GroupFeed implements Follower {
  readonly #parts: FeedParts;
  readonly #state: FeedState;
  readonly #channels = new ChannelSet();
  readonly #changes: GroupChanges;
  /** Those that have ended are removed with the next tick. */
  readonly #readers = new Set<StreamSession>();
  readonly #followed: FollowedGroup;
  readonly #recorded: RecordedChanges;
  readonly #unfollow: () => void;
  #joining = 0;

  constructor(scope: PresenceScope, parts: FeedParts) {
    this.#parts = parts;
    this.#state = new FeedState(scope, parts.counts);
    this.#changes = new GroupChanges(parts.store, this.#state, this.#channels);
    const hooks = {
      followed: () => this.#followed,
      viewerIds: () => this.#viewerIds(),
      endWithoutAccess: (userIds: readonly string[] | null) => this.#endWithoutAccess(userIds),
      applyAlone: (event: GroupEvent) => this.#applyAlone(event),
    };
    this.#recorded = new RecordedChanges({ ...parts, ...hooks }, this.#state);
    const topics = [presenceTopic(scope.groupId), USERS_TOPIC];
    // Before the group is read: what is recorded from then on is shown.
    this.#unfollow = parts.record.follow(scope.project, topics, this.#recorded);
    this.#followed = new FollowedGroup(parts, this.#state, this);
  }

  /** No reader is there, joins, or is waited for. */
  get isIdle(): boolean {
    return this.#channels.size === 0 && this.#joining === 0;
  }

  get hasReaders(): boolean {
    return this.#readers.values().some(({ ending }) => ending === null);
  }

  get project(): PresenceScope['project'] {
    return this.#state.scope.project;
  }

  /**
   * Adds a reader, who resumes from a position where that can be, and otherwise begins with a snapshot.
   * @throws ServiceError when the reader may not watch; StoreUnavailableError
   */
  async join(session: StreamSession, position: PresencePosition | null): Promise<void> {
    this.#joining += 1;
    try {
      this.#readers.add(session);
      while (session.channel === null && session.ending === null) await this.#tryJoin(session, position);
      // Last, to notice access that ended before the session joined. A later end is an event that ends the stream.
      await requireAccess(this.#parts.store, session.request);
    } catch (error) {
      session.close();
      throw error;
    } finally {
      this.#joining -= 1;
    }
  }

  /** Publishes, as an event of the group, that the names or pictures of these users may have changed, where they are shown. */
  async publishProfiles(userIds: readonly string[]): Promise<void> {
    const { presence, clock } = this.#parts;
    const { profiles, scope } = this.#state;
    if (!profiles.isNeeded) return;
    // After what is being applied: a user who arrives with it may have been read before the change.
    const shown = await this.#followed.inOrder(async () => userIds.filter((id) => this.#state.has(id)));
    if (shown.length > 0) await presence.publish(scope, { type: 'profiles', userIds: shown }, clock.now());
  }

  async apply(events: readonly NumberedEvent[]): Promise<void> {
    this.#parts.counts.received.value += events.length;
    await this.#changes.apply(events, (event) => this.#afterEvent(event));
    for (const channel of this.#channels) if (channel.hasPending) this.#parts.sendSoon(channel);
  }

  onReading(): void {
    for (const channel of this.#channels) channel.suspend();
  }

  async onRead(): Promise<void> {
    const opened = [...this.#channels].map((channel) => this.#open(channel));
    const checked = this.#followed
      .inOrder(() => this.#endWithoutAccess(null))
      .catch((error) => this.#followed.invalidate(error));
    await Promise.all([...opened, checked]);
  }

  /** The group could not be read, and {@link retry} reads it again. */
  get isLost(): boolean {
    return this.#followed.isLost;
  }

  retry(): void {
    this.#followed.retry();
  }

  /** Call it about once a second. */
  tick(now: number): void {
    this.#followed.tick(now);
    for (const reader of this.#readers) {
      if (reader.ending !== null) this.#readers.delete(reader);
      else if (reader.isReadyForSnapshot) this.reopen(reader);
    }
    this.#recorded.tick();
    if (this.#state.profiles.isLarge) void this.#followed.inOrder(async () => this.#state.pruneProfiles());
    const idle: Channel[] = [];
    for (const channel of this.#channels) {
      void channel.pump();
      if (channel.readers.size + channel.joining === 0) idle.push(channel);
      else channel.emptySince = null;
    }
    this.#closeIdle(idle, now);
  }

  #closeIdle(idle: readonly Channel[], now: number): void {
    for (const channel of idle) channel.emptySince ??= now;
    const isRecent = ({ emptySince }: Channel) => Math.abs(now - (emptySince ?? now)) < GRACE_MS;
    const retained = idle.filter(isRecent).slice(-IDLE_MAX);
    if (retained.length === idle.length) return;
    for (const channel of idle) if (!retained.includes(channel)) this.#channels.close(channel);
    this.#state.pruneTexts();
    void this.#followed.inOrder(async () => {
      if (this.#channels.hasUsers) this.#state.pruneProfiles();
      else this.#state.profiles.drop();
    });
  }

  close(): void {
    this.#unfollow();
    this.#followed.close();
  }

  /**
   * Sends a reader who missed too much a snapshot, unless another one was sent meanwhile. Where the group is being read, all of its
   * readers get one.
   */
  reopen(reader: StreamSession): void {
    void this.#followed
      .inOrder(async () => {
        const { channel, isReadyForSnapshot } = reader;
        if (channel?.isOpen === true && isReadyForSnapshot) await channel.reopen([reader]);
      })
      .catch((error) => this.#followed.invalidate(error));
  }

  async #tryJoin(session: StreamSession, position: PresencePosition | null): Promise<void> {
    await this.#followed.ready;
    const channel = this.#channelOf(session.request.filter);
    channel.joining += 1;
    try {
      await channel.ready;
      const { watch } = this.#followed;
      const missed =
        position === null || watch === null ? null : await readMissed(watch, channel, this.#state, position);
      await this.#followed.inOrder(() => this.#joinChannel(session, channel, missed));
    } finally {
      channel.joining -= 1;
    }
  }

  /** Does nothing where the channel was suspended meanwhile. */
  async #joinChannel(session: StreamSession, channel: Channel, missed: Missed | null): Promise<void> {
    if (!channel.isOpen) return;
    const resumed = missed === null ? null : resume(missed, channel, this.#state);
    const opening = resumed?.opening ?? (await channel.snapshot());
    if (session.ending === null) session.join(channel, opening, resumed?.knownTo);
  }

  /**
   * Applies an event whose offset exists in this process alone. Its checksum is random, so the offset is unknown to other
   * processes, and to this one after it follows the group's events again: a reader who resumes there gets a snapshot.
   */
  async #applyAlone(event: GroupEvent): Promise<void> {
    const offset = this.#state.offset + 1;
    this.#state.addChecksum(offset, randomBytes(8).toString('hex'));
    await this.apply([[offset, event]]);
  }

  *#viewerIds(): Iterable<string> {
    for (const { request, ending } of this.#readers)
      if (request.viewer !== undefined && ending === null) yield request.viewer.userId;
  }

  /** Null where nothing has to be waited for, as after most events. */
  #afterEvent(event: PresenceEvent): Promise<void> | null {
    switch (event.type) {
      case 'releasing':
        this.#parts.onReleasing(this.#state.scope, event);
        return null;
      case 'durable':
        // Where a bound ended durable locations, the event does not name them.
        return event.endedTo === undefined ? null : this.#reopenResumed();
      case 'users':
      case 'usersRemoved':
        return this.#afterChangedAccess(event.userIds);
      case 'group':
      case 'groupRemoved':
        return this.#afterChangedGroup();
      default:
        return this.#isAhead ? this.#reopenResumed() : null;
    }
  }

  /** Readers of a group that has ended get the departures, and then the end of their streams, unless it was made again by now. */
  async #afterChangedGroup(): Promise<void> {
    await Promise.all([...this.#channels].map((channel) => channel.send()));
    await this.#afterChangedAccess(null);
  }

  /** Other users may be seen now, and may watch: these, or with null all. */
  async #afterChangedAccess(userIds: readonly string[] | null): Promise<void> {
    await this.#endWithoutAccess(userIds);
    await this.#reopenResumed();
  }

  /** Whether the last event was of a change that this process had shown before. */
  get #isAhead(): boolean {
    return this.#state.aheadAt === this.#state.offset;
  }

  /**
   * Gives readers who resumed a snapshot. A channel that has read the Store between a change and its event, as each one that was opened
   * then, has the change already, and no event for it; a reader who had resumed by then may not have the change.
   */
  async #reopenResumed(): Promise<void> {
    const now = this.#parts.clock.now();
    for (const channel of this.#channels) {
      const isAhead = this.#isAhead || now - channel.openedAt < EVENT_DELAY_MAX_MS;
      if (!channel.isOpen || !isAhead) continue;
      const resumed = [...channel.readers].filter(({ isResumed }) => isResumed);
      if (resumed.length > 0) await channel.reopen(resumed);
    }
  }

  #channelOf(filter: PresenceFilter): Channel {
    const known = this.#channels.get(filter);
    if (known !== undefined) return known;
    const channel = new Channel(filter, this.#state, (defect) => this.#followed.invalidate(defect));
    this.#channels.add(channel);
    void this.#open(channel);
    return channel;
  }

  /** Resolves when the channel is open, or could not be opened. */
  #open(channel: Channel): Promise<void> {
    const opening = this.#parts.reads.run(this.#state.scope.project, () =>
      openChannel(this.#parts, this.#state, channel, (task) => this.#followed.inOrder(task)),
    );
    channel.ready = opening;
    return opening.catch((error) => {
      if (channel.ready !== opening) return;
      if (channel.readers.size > 0) this.#followed.invalidate(error);
      else this.#channels.close(channel);
    });
  }

  /** Ends the streams of viewers among these users, or with null of all readers, who may no longer watch. */
  #endWithoutAccess(userIds: readonly string[] | null): Promise<void> {
    const users = userIds === null ? null : new Set(userIds);
    const concerned = [...this.#readers].filter(
      ({ ending, request: { viewer } }) =>
        ending === null && (users === null || (viewer !== undefined && users.has(viewer.userId))),
    );
    return endWithoutAccess(this.#parts.store, concerned);
  }
}
