import type { Logger } from 'pino';
import type { Broker, Change } from '../broker/broker.ts';
import { ServiceError } from '../core/service-error.ts';
import type { PresencePosition, PresenceScope } from '../presence/presence-store.ts';
import type { FollowedParts } from './followed-group.ts';
import { GroupFeed } from './group-feed.ts';
import { HeldTexts } from './held-texts.ts';
import { Interruptions } from './interruptions.ts';
import { ReadingTurns } from './reading-turns.ts';
import { Rounds } from './rounds.ts';
import { StreamPermits } from './stream-permits.ts';
import type { StreamRequest } from './stream-request.ts';
import { type SessionOwner, StreamSession } from './stream-session.ts';
import { TellingQueue } from './telling-queue.ts';
import { requireWatchable } from './watch-rights.ts';
import { WriteBudget } from './write-budget.ts';

const TICK_MS = 1_000;
const HEARTBEAT_MS = 15_000;

export interface HubParts extends Omit<FollowedParts, 'interruptions' | 'turns'> {
  readonly broker: Broker;
  readonly log: Logger;
  /** How long a change may wait to be told together with others, in milliseconds; 0 tells each at once. */
  readonly mergeMs: number;
  /** How many socket writes a second there are to spend before changes are merged. Default: what a process makes easily. */
  readonly writesPerSecond?: number;
}

/** All presence streams of this process. */
export class PresenceHub implements SessionOwner {
  readonly held = new HeldTexts();
  /** What bounds the streams of each user; whoever takes one gives it along with the request. */
  readonly permits = new StreamPermits();
  readonly #parts: HubParts;
  readonly #feeds = new Map<string, GroupFeed>();
  readonly #sessions = new Set<StreamSession>();
  readonly #queue: TellingQueue;
  readonly #stops: readonly (() => void)[];
  readonly #interruptions: Interruptions;
  readonly #turns = new ReadingTurns();
  readonly #rounds: Rounds;
  #isClosed = false;

  constructor(parts: HubParts) {
    const { clock, broker, mergeMs, writesPerSecond } = parts;
    this.#parts = parts;
    this.#interruptions = new Interruptions(parts.log);
    this.#rounds = new Rounds(parts, this.#sessions);
    this.#queue = new TellingQueue(clock, mergeMs, new WriteBudget(clock.now(), writesPerSecond));
    this.#stops = [
      clock.every(TICK_MS, () => this.#tick()),
      clock.every(HEARTBEAT_MS, () => this.#beat()),
      broker.subscribe((change) => this.#hear(change)),
    ];
  }

  /** How many streams are open. */
  get streamCount(): number {
    return this.#sessions.size;
  }

  /**
   * A reader, told nothing before it is started, who goes on from a position where that can be.
   * @throws ServiceError when they may not watch; StoreUnavailableError
   */
  async open(asked: StreamRequest, position: PresencePosition | null): Promise<StreamSession> {
    // Asked before the group is watched for it, and again when it is.
    await requireWatchable(this.#parts.store, asked);
    if (this.#isClosed) throw stopping();
    const feed = this.#feedOf({ project: asked.caller.project, groupId: asked.groupId });
    const session = new StreamSession(asked, feed);
    this.#sessions.add(session);
    await feed.join(session, position);
    if (session.ending === null) return session;
    throw session.ending === 'closed' ? stopping() : session.ending;
  }

  ended(session: StreamSession): void {
    this.#sessions.delete(session);
    session.asked.viewer?.permit?.release();
  }

  /** As with a request: whoever asked is none the wiser, and the log has it. The reader comes back and goes on. */
  failed({ asked: { groupId } }: StreamSession, err: unknown): void {
    this.#parts.log.error({ err, groupId }, 'a presence stream failed');
  }

  /** Ends all streams at once; no more are opened. Idempotent. */
  stop(): void {
    this.#isClosed = true;
    for (const session of this.#sessions) session.stop();
  }

  /** Gives everything back. Idempotent. */
  close(): void {
    this.stop();
    this.#queue.close();
    for (const stop of this.#stops) stop();
    for (const feed of this.#feeds.values()) feed.close();
    this.#feeds.clear();
  }

  #feedOf(scope: PresenceScope): GroupFeed {
    const key = JSON.stringify([scope.project, scope.groupId]);
    let feed = this.#feeds.get(key);
    if (feed === undefined) {
      feed = new GroupFeed(scope, {
        ...this.#parts,
        interruptions: this.#interruptions,
        turns: this.#turns,
        held: this.held,
        offer: (channel) => this.#queue.offer(channel),
        ended: (session) => this.ended(session),
        failed: (session, defect) => this.failed(session, defect),
      });
      this.#feeds.set(key, feed);
    }
    return feed;
  }

  #tick(): void {
    const now = this.#parts.clock.now();
    for (const [key, feed] of this.#feeds) {
      feed.tick(now);
      if (!feed.isIdle) continue;
      feed.close();
      this.#feeds.delete(key);
    }
    this.#interruptions.tick();
    this.#rounds.tick();
  }

  #beat(): void {
    for (const feed of this.#feeds.values()) {
      for (const channel of feed.channels) void channel.beat();
    }
  }

  #hear(change: Change): void {
    if (change.type === 'standing') return;
    const concerned = [...this.#sessions].filter(({ asked: { caller } }) =>
      change.type === 'project'
        ? caller.projectId === change.projectId
        : caller.sessionId === change.sessionId,
    );
    void this.#rounds.ask(concerned);
  }
}

const stopping = () =>
  new ServiceError('error', 'the server is stopping; nothing was opened, try again', {
    status: 503,
    headers: { 'Retry-After': '1' },
  });
