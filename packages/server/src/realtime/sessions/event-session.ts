import type { Text } from '../text/pieces.ts';
import type { Beginnings } from './beginnings.ts';
import { Session } from './session.ts';
import type { SessionRequest } from './stream-request.ts';

/** Bytes that may wait in a reader's socket before further events are left out and read again later. */
const WAITING_MAX_BYTES = 256 * 1_024;

export interface EventSource {
  /** The streams of this process that begin. */
  readonly beginnings: Beginnings;
  /**
   * Sends what the reader missed, from {@link EventSession.position} on, and calls {@link EventSession.caughtUp} once that is
   * everything. It may stop before, when the session is full. Never rejects.
   */
  catchUp(session: EventSession): Promise<void>;
  /** The ID of the session's position; null where the source has more for it. */
  idOf(session: EventSession): string | null;
  /** The stream has ended, for whatever reason. Called once. */
  ended(session: EventSession): void;
}

/**
 * One reader of events that its source can read again. While the network does not take what was written, events are left out;
 * the source reads them when it has. So a slow reader costs its first text and {@link WAITING_MAX_BYTES}, and never more.
 */
export class EventSession extends Session {
  readonly #source: EventSource;
  /** Until the reader has begun, and after it was full. */
  #isBehind = true;
  #isCatchingUp = false;
  #hasBegun = false;
  /** The reader has everything up to this position. */
  position = 0;
  /** Sent first, once the reader begins. */
  opening: Text | null = null;

  constructor(request: SessionRequest, source: EventSource) {
    super(request);
    this.#source = source;
  }

  get isBehind(): boolean {
    return this.#isBehind;
  }

  /** Whether the network has taken too little for more to be written, or the reader has not begun. */
  get isFull(): boolean {
    return !this.#hasBegun || this.sink === null || this.sink.writableLength > WAITING_MAX_BYTES;
  }

  /** Writes events that lead to a position, unless the reader lags. */
  send(events: Text, position: number): void {
    if (this.isFull) this.fallBehind();
    if (this.#isBehind) return;
    this.position = position;
    this.write(events);
  }

  /** Events are left out from now on; {@link resume} reads them again. */
  fallBehind(): void {
    this.#isBehind = true;
  }

  /** Reads from the source what the reader missed, where the reader lags and the network takes more. Idempotent. */
  resume(): void {
    void this.#catchUp();
  }

  /** The reader has all events: the next ones are sent as they come. */
  caughtUp(): void {
    this.#isBehind = false;
  }

  /** Writes a text. When the network has taken it and the reader lags, what it missed is read from the source. */
  write(text: Text): void {
    const { sink } = this;
    // It may have ended while the source read.
    if (sink === null || this.ending !== null) return;
    const pieces = sink.pieces(text);
    for (let index = 0; index < pieces.count; index += 1) {
      const isLast = index === pieces.count - 1;
      sink.write(pieces.piece(index), isLast ? () => this.resume() : undefined, !isLast);
    }
  }

  async #catchUp(): Promise<void> {
    if (!this.#isBehind || this.#isCatchingUp || this.ending !== null || this.isFull) return;
    this.#isCatchingUp = true;
    await this.#source.catchUp(this);
    this.#isCatchingUp = false;
  }

  protected get beginnings(): Beginnings {
    return this.#source.beginnings;
  }

  get firstWrites(): number {
    return this.opening?.writes ?? 0;
  }

  begins(): void {
    const { opening } = this;
    this.opening = null;
    this.#hasBegun = true;
    if (opening !== null) this.write(opening);
    this.resume();
  }

  protected get positionId(): string | null {
    return this.#source.idOf(this);
  }

  protected leave(): void {
    this.opening = null;
    this.#source.ended(this);
  }
}
