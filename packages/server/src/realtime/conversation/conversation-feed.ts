import { StoreUnavailableError } from '../../values/engine-errors.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import { type EventPosition, eventId } from '../../wire/conversation-events.ts';
import { heartbeatText } from '../../wire/event-text.ts';
import type { EventSession, EventSource } from '../sessions/event-session.ts';
import { commentOf } from '../text/events-text.ts';
import type { FeedParts } from './feed-parts.ts';

/** The position of a reader who needs a snapshot. */
export const NOWHERE = -1;

/** The events of a thread or of a list of threads, for all of its streams on this process. */
export abstract class ConversationFeed implements EventSource {
  readonly project: ProjectKey;
  readonly sessions = new Set<EventSession>();
  /** When the last reader left, in milliseconds since the epoch; null while there are readers. */
  idleSince: number | null;
  protected readonly parts: FeedParts;
  /** The last event that the feed has found. */
  protected at: EventPosition;

  constructor(project: ProjectKey, at: EventPosition, parts: FeedParts) {
    this.project = project;
    this.at = at;
    this.parts = parts;
    this.idleSince = parts.clock.now();
  }

  abstract catchUp(session: EventSession): Promise<void>;
  protected abstract logFailure(err: unknown): void;

  ended(session: EventSession): void {
    this.sessions.delete(session);
    if (this.sessions.size === 0) this.idleSince = this.parts.clock.now();
    this.parts.ended(session);
  }

  heartbeat(): void {
    const comment = commentOf(heartbeatText(this.idAt(this.at.position)));
    for (const session of [...this.sessions])
      session.heartbeat(session.position === this.at.position ? comment : null);
  }

  protected add(session: EventSession): void {
    this.sessions.add(session);
    this.idleSince = null;
  }

  protected idAt(position: number): string {
    return eventId({ epoch: this.at.epoch, position });
  }

  /** Readers who lag get what they missed once the network takes more. */
  protected resumeAll(): void {
    for (const session of this.sessions) session.resume();
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
