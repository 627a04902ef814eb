import type { Logger } from 'pino';
import type { Broker, ProfilesChanged } from '../../broker/broker.ts';
import { Repeated } from '../../concurrency/repeated.ts';
import { Semaphore } from '../../concurrency/semaphore.ts';
import type { PresencePosition, PresenceScope } from '../../presence/presence-store.ts';
import { SendQueue } from '../channels/send-queue.ts';
import { WriteBudget } from '../channels/write-budget.ts';
import { StreamCounts } from '../events/stream-counts.ts';
import type { Beginnings } from '../sessions/beginnings.ts';
import { ConnectionReleases } from '../sessions/connection-releases.ts';
import { OpenStreams } from '../sessions/open-streams.ts';
import { StreamPermits } from '../sessions/stream-permits.ts';
import type { StreamRequest } from '../sessions/stream-request.ts';
import { type SessionOwner, StreamSession } from '../sessions/stream-session.ts';
import { UnsentTexts } from '../sessions/unsent-texts.ts';
import { requireAccess } from '../sessions/watch-access.ts';
import type { FollowedParts } from './followed-group.ts';
import { GroupFeed } from './group-feed.ts';
import { InterruptionLog } from './interruption-log.ts';

interface HubParts extends Omit<FollowedParts, 'interruptions' | 'reads'> {
  readonly broker: Broker;
  readonly log: Logger;
  readonly beginnings: Beginnings;
  /** How long an event may wait to be sent together with others, in milliseconds; 0 sends each at once. */
  readonly mergeMs: number;
  /** How many socket writes a second are made before events are merged. Default: what a process makes easily. */
  readonly writesPerSecond?: number;
}

/**
 * How many readings a process has under way at once. After an outage every group is read anew: with thousands of readings
 * at once, each request of that moment would wait behind them.
 */
const READS_AT_ONCE = 32;

/** All presence streams of this process. */
export class PresenceHub implements SessionOwner {
  readonly unsent = new UnsentTexts();
  readonly beginnings: Beginnings;
  /** Bounds the streams of each user. The caller takes a permit and passes it with the request. */
  readonly permits = new StreamPermits();
  readonly counts = new StreamCounts();
  readonly #parts: HubParts;
  readonly #feeds = new Map<string, GroupFeed>();
  readonly #streams: OpenStreams<StreamSession>;
  readonly #queue: SendQueue;
  readonly #interruptions: InterruptionLog;
  readonly #releases: ConnectionReleases;
  readonly #retry = new Repeated(() => this.#retryLost());
  #isStopping = false;
  readonly #reads = new Semaphore({ permits: READS_AT_ONCE });

  constructor(parts: HubParts) {
    const { clock, mergeMs, writesPerSecond } = parts;
    this.#parts = parts;
    this.beginnings = parts.beginnings;
    this.#interruptions = new InterruptionLog(parts.log);
    this.#streams = new OpenStreams(parts, {
      tick: () => this.#tick(),
      onChange: (change) => {
        if (change.type === 'profiles') this.#onProfiles(change);
      },
    });
    this.#queue = new SendQueue(clock, mergeMs, new WriteBudget(clock.now(), writesPerSecond));
    this.#releases = new ConnectionReleases(parts);
  }

  get streamCount(): number {
    return this.#streams.size;
  }

  /**
   * Adds a reader, who resumes from a position where that can be. Nothing is sent before the session is started.
   * @throws ServiceError when the reader may not watch; StoreUnavailableError
   */
  async open(request: StreamRequest, position: PresencePosition | null): Promise<StreamSession> {
    // Before the group is watched for this reader; access is checked again once it is.
    await requireAccess(this.#parts.store, request);
    this.#streams.requireOpen();
    const feed = this.#feedOf({ project: request.caller.project, groupId: request.groupId });
    const session = new StreamSession(request, this);
    this.#streams.add(session);
    // The feed is joined at once: the next tick closes one that no reader has joined.
    await Promise.all([this.#releases.opened(request), feed.join(session, position)]);
    return this.#streams.requireGoing(session);
  }

  ended(session: StreamSession): void {
    this.#streams.ended(session);
    // The pages of a server that stops reconnect to another one.
    if (!this.#isStopping) this.#releases.closed(session.request);
  }

  begunWithout(session: StreamSession): void {
    const { caller, groupId } = session.request;
    this.#feedOf({ project: caller.project, groupId }).reopen(session);
  }

  /** The reader gets no message, reconnects and resumes; the log has the error. */
  failed({ request: { groupId } }: StreamSession, err: unknown): void {
    this.#parts.log.error(
      { err, groupId },
      'a presence stream failed and is closed; its client reconnects and resumes',
    );
  }

  /** Ends all streams at once; no more are opened. Idempotent. */
  stop(): void {
    this.#isStopping = true;
    this.#streams.stop();
  }

  /** Releases everything. Idempotent. */
  close(): void {
    this.#isStopping = true;
    this.#streams.close();
    void this.#retry.close();
    this.#queue.close();
    for (const feed of this.#feeds.values()) feed.close();
    this.#feeds.clear();
  }

  #feedOf(scope: PresenceScope): GroupFeed {
    const key = JSON.stringify([scope.project, scope.groupId]);
    let feed = this.#feeds.get(key);
    if (feed === undefined) {
      feed = new GroupFeed(scope, {
        ...this.#parts,
        counts: this.counts,
        interruptions: this.#interruptions,
        reads: this.#reads,
        sendSoon: (channel) => this.#queue.add(channel),
        onReleasing: this.#releases.releasing,
      });
      this.#feeds.set(key, feed);
    }
    return feed;
  }

  #onProfiles({ project, userIds }: ProfilesChanged): void {
    for (const feed of this.#feeds.values()) {
      if (feed.project !== project) continue;
      void feed.publishProfiles(userIds).catch((err) => {
        this.#parts.log.error(
          { err },
          'a changed name or picture was not published to streams; the next read of the record shows it',
        );
      });
    }
  }

  #tick(): void {
    const now = this.#parts.clock.now();
    let isAnyLost = false;
    for (const [key, feed] of this.#feeds) {
      feed.tick(now);
      isAnyLost ||= feed.isLost;
      if (!feed.isIdle) continue;
      feed.close();
      this.#feeds.delete(key);
    }
    if (isAnyLost) void this.#retry.request();
    this.#interruptions.tick();
  }

  /** Each attempt costs readings of the store: with thousands of groups, an engine that is away must not cost all of them each second. */
  async #retryLost(): Promise<void> {
    try {
      await this.#parts.presence.ping();
    } catch {
      // The next tick tries again.
      return;
    }
    for (const feed of this.#feeds.values()) feed.retry();
  }
}
