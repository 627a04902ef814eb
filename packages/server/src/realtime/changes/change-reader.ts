import type { Logger } from 'pino';
import type { ChangeChunk, ChangeFeed } from '../../core/changes/change-feed.ts';
import type { ChangeFilter } from '../../core/changes/change-filter.ts';
import { type ChangePosition, positionText, readPosition } from '../../core/changes/change-position.ts';
import { ServiceError } from '../../core/service-error.ts';
import { StoreUnavailableError } from '../../values/engine-errors.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import { changeEvent } from '../../wire/change-text.ts';
import { heartbeatText } from '../../wire/event-text.ts';
import type { StreamEvent } from '../../wire/stream-event.ts';
import type { Beginnings } from '../sessions/beginnings.ts';
import { EventSession, type EventSource } from '../sessions/event-session.ts';
import type { SessionRequest } from '../sessions/stream-request.ts';
import { commentOf, textOf } from '../text/events-text.ts';

/** Events are written in texts of about this length, in UTF-16 units: more of them wait only for a network that takes them. */
const TEXT_LENGTH = 64 * 1_024;

interface ReaderParts {
  readonly feed: ChangeFeed;
  readonly log: Logger;
  readonly beginnings: Beginnings;
  readonly ended: (reader: ChangeReader) => void;
}

/** One stream of changes: it reads on from its own position, as fast as its network takes the text. */
export class ChangeReader implements EventSource {
  readonly session: EventSession;
  readonly #parts: ReaderParts;
  readonly #filter: ChangeFilter;
  #position: ChangePosition;
  /** Changes were recorded since the last reading began. */
  #isDue = false;

  constructor(request: SessionRequest, from: ChangePosition, filter: ChangeFilter, parts: ReaderParts) {
    this.#parts = parts;
    this.#filter = filter;
    this.#position = from;
    this.session = new EventSession(request, this);
    // A reader that is disconnected before the first change resumes from here.
    this.session.opening = commentOf(heartbeatText(this.idOf()));
  }

  get beginnings(): Beginnings {
    return this.#parts.beginnings;
  }

  get project(): ProjectKey {
    return this.session.request.caller.project;
  }

  /** A record has this position, and may be the newest. */
  notify(newest: number): void {
    if (newest > this.#position.position) {
      this.#isDue = true;
      this.session.fallBehind();
    }
    this.session.resume();
  }

  idOf(): string {
    return positionText(this.#position);
  }

  async catchUp(session: EventSession): Promise<void> {
    try {
      while (!session.isFull && session.ending === null) {
        this.#isDue = false;
        const { feed } = this.#parts;
        const chunk = await feed.chunk(this.project, this.#position, this.#filter, Number.POSITIVE_INFINITY);
        if (!this.#write(session, chunk)) return;
        if (chunk.isEnd && !this.#isDue) {
          session.caughtUp();
          return;
        }
      }
    } catch (error) {
      this.#failed(error);
    }
  }

  ended(): void {
    this.#parts.ended(this);
  }

  /** Writes the events until the session is full: false where some are left, which are read again then. */
  #write(session: EventSession, { found, position }: ChangeChunk): boolean {
    let events: StreamEvent[] = [];
    let length = 0;
    for (const [index, change] of found.entries()) {
      const event = changeEvent(change);
      events.push(event);
      length += event.data.length;
      if (length < TEXT_LENGTH || index === found.length - 1) continue;
      this.#position = readPosition(change.id) as ChangePosition;
      session.write(textOf(events));
      events = [];
      length = 0;
      if (session.isFull) return false;
    }
    this.#position = position;
    session.write(textOf(events));
    return true;
  }

  #failed(err: unknown): void {
    // The next poll reads on.
    if (err instanceof StoreUnavailableError) return;
    if (err instanceof ServiceError) {
      this.session.end(err);
      return;
    }
    this.#parts.log.error(
      { err },
      'a stream of changes failed and is closed; its client reconnects and continues after its last position',
    );
    this.session.disconnect();
  }
}
