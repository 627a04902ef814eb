import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Repeated } from '../../concurrency/repeated.ts';
import type { Clock } from '../../core/clock.ts';
import type { PageTokens } from '../../core/page-token.ts';
import type { Store } from '../../store/store.ts';
import { StoreUnavailableError } from '../../values/engine-errors.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import { slices } from '../../values/slices.ts';
import { type EventPosition, eventId } from '../../wire/conversation-events.ts';
import type { Beginnings } from '../sessions/beginnings.ts';
import type { EventSession, EventSource } from '../sessions/event-session.ts';
import type { Text } from '../text/pieces.ts';
import type { FeedReads } from './feed-reads.ts';

export interface FeedParts {
  readonly store: Store;
  readonly reads: FeedReads;
  readonly clock: Clock;
  readonly log: Logger;
  readonly beginnings: Beginnings;
  /** Makes the token of a list's next page. */
  readonly pageTokens: Pick<PageTokens, 'next'>;
  readonly ended: (session: EventSession) => void;
}

/** The position of a reader who needs a snapshot. */
export const NOWHERE = -1;
/** How many readers are written to in one event-loop tick. */
const WRITTEN_AT_ONCE = 50;

/** The events of a thread or of a list of threads, for all of its streams on this process. */
export abstract class ConversationFeed implements EventSource {
  readonly project: ProjectKey;
  readonly sessions = new Set<EventSession>();
  protected readonly parts: FeedParts;
  /** The last event that the feed has found. */
  protected at: EventPosition;
  /** Reads and sends what changed. */
  protected readonly update = new Repeated(() => this.read());
  #idleSince: number | null;

  constructor(project: ProjectKey, at: EventPosition, parts: FeedParts) {
    this.project = project;
    this.at = at;
    this.parts = parts;
    this.#idleSince = parts.clock.now();
  }

  get beginnings(): Beginnings {
    return this.parts.beginnings;
  }

  /** When the last reader left, in milliseconds since the epoch; null while there are readers. */
  get idleSince(): number | null {
    return this.#idleSince;
  }

  /** Adds a reader, who resumes from a position where that can be, and begins with a snapshot otherwise. */
  async join(session: EventSession, from: EventPosition | null): Promise<void> {
    this.sessions.add(session);
    this.#idleSince = null;
    await this.begin();
    if (session.ending !== null) return;
    if (from?.epoch === this.at.epoch && this.covers(from.position)) session.position = from.position;
    else session.opening = await this.snapshot(session);
  }

  async catchUp(session: EventSession): Promise<void> {
    try {
      while (session.ending === null && !session.isFull) {
        // Changes after the feed's position are sent to all readers.
        if (session.position >= this.at.position) return session.caughtUp();
        await this.sendMissed(session);
      }
    } catch (error) {
      this.failed(error, [session]);
    }
  }

  ended(session: EventSession): void {
    this.sessions.delete(session);
    if (this.sessions.size === 0) this.#idleSince = this.parts.clock.now();
    this.parts.ended(session);
  }

  idOf({ position }: EventSession): string | null {
    return position === this.at.position ? this.idAt(position) : null;
  }

  /** Call it once a second: readers who lag get what they missed once the network takes more. */
  tick(): void {
    for (const session of this.sessions) session.resume();
  }

  /** Resolves when the feed has a position from which a reader can go on. */
  protected abstract begin(): Promise<void>;
  /** Whether a reader at this position can be sent what came after it. */
  protected abstract covers(position: number): boolean;
  /** The text that a reader begins with, who has everything up to the position that it is of. */
  protected abstract snapshot(session: EventSession): Promise<Text>;
  /** Sends some of what came after the reader's position. */
  protected abstract sendMissed(session: EventSession): Promise<void>;
  protected abstract read(): Promise<void>;
  protected abstract logFailure(err: unknown): void;

  /**
   * Sends events that lead to the feed's position: to readers who have everything up to `from`, or more. Other requests are served
   * in between.
   */
  protected async sendAll(from: number, textFor: (session: EventSession) => Text): Promise<void> {
    const { position } = this.at;
    for (const some of slices([...this.sessions], WRITTEN_AT_ONCE)) {
      for (const session of some) {
        if (session.isFull || session.position < from) session.fallBehind();
        if (session.position < position && !session.isBehind) session.send(textFor(session), position);
      }
      await nextIteration();
    }
  }

  protected idAt(position: number): string {
    return eventId({ epoch: this.at.epoch, position });
  }

  /** What the readers have is no part of the feed any more: each needs a snapshot. */
  protected restartAll(): void {
    for (const session of this.sessions) {
      session.position = NOWHERE;
      session.fallBehind();
    }
  }

  /** Where the store is away, the next revalidation goes on; another failure ends the streams, which come back. */
  protected failed(err: unknown, sessions: Iterable<EventSession>): void {
    if (err instanceof StoreUnavailableError) {
      // Changes that were read and not sent are read again.
      for (const session of sessions) if (session.position < this.at.position) session.fallBehind();
      return;
    }
    this.logFailure(err);
    for (const session of [...sessions]) session.disconnect();
  }
}
