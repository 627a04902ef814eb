import type { ServiceError } from '../../core/service-error.ts';
import { StallWatch } from '../sessions/stall-watch.ts';
import type { SessionRequest } from '../sessions/stream-request.ts';
import type { StreamSink } from '../sessions/stream-sink.ts';
import type { Text } from '../text/pieces.ts';

/** Bytes that may wait in a reader's socket before further events are left out and read again later. */
const WAITING_MAX_BYTES = 256 * 1_024;

/** Where the events of a session come from. */
export interface EventSource {
  /**
   * Sends what the reader missed, from {@link EventSession.position} on, and calls {@link EventSession.caughtUp} once that is
   * everything. It may stop before, when the session is full. Never rejects.
   */
  catchUp(session: EventSession): Promise<void>;
  /** The stream has ended, for whatever reason. Called once. */
  ended(session: EventSession): void;
}

/**
 * One reader of a conversation's events. While the network does not take what was written, events are left out; the
 * source reads them again when it has. So a slow reader costs its first text and {@link WAITING_MAX_BYTES}, and never more.
 */
export class EventSession {
  readonly request: SessionRequest;
  readonly #source: EventSource;
  readonly #stall = new StallWatch();
  #sink: StreamSink | null = null;
  /** Until the reader has begun, and after it was full. */
  #isBehind = true;
  #isCatchingUp = false;
  #ending: ServiceError | 'closed' | null = null;
  /** The reader has everything up to this position. */
  position = 0;
  /** Sent first, once the session is started. */
  opening: Text | null = null;

  constructor(request: SessionRequest, source: EventSource) {
    this.request = request;
    this.#source = source;
  }

  /** Why the stream ended, or null. */
  get ending(): ServiceError | 'closed' | null {
    return this.#ending;
  }

  /** Whether events are left out for now. */
  get isBehind(): boolean {
    return this.#isBehind;
  }

  /** Whether the network has taken too little for more to be written. */
  get isFull(): boolean {
    return this.#sink === null || this.#sink.writableLength > WAITING_MAX_BYTES;
  }

  start(sink: StreamSink): void {
    this.#sink = sink;
    if (this.#ending !== null) return void sink.destroy();
    if (this.opening !== null) this.write(this.opening);
    this.opening = null;
    this.resume();
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

  /** Asks the source for what the reader missed, where it lags and the network takes more. Idempotent. */
  resume(): void {
    void this.#catchUp();
  }

  /** The reader has all events: the next ones are sent as they come. */
  caughtUp(): void {
    this.#isBehind = false;
  }

  /** Writes a text. When the network has taken it and the reader lags, what it missed is read from the source. */
  write(text: Text): void {
    const sink = this.#sink;
    if (sink === null) return;
    const pieces = sink.pieces(text);
    for (let index = 0; index < pieces.count; index += 1) {
      const isLast = index === pieces.count - 1;
      sink.write(pieces.piece(index), isLast ? () => this.resume() : undefined, !isLast);
    }
  }

  /** Disconnects a reader whose network takes nothing; the comment is for one who has everything, null for another. */
  heartbeat(comment: Text | null): void {
    const sink = this.#sink;
    if (sink === null) return;
    if (this.#stall.isStalled(sink)) this.disconnect();
    else if (comment !== null && !this.#isBehind && sink.writableLength === 0) this.write(comment);
  }

  /** Ends the stream with an error event. A reader whose network takes nothing gets the error when it comes back. */
  end(error: ServiceError): void {
    if (this.#ending !== null) return;
    this.#sink?.end(error, null);
    this.#leave(error);
  }

  /** Ends the connection without an event; the reader comes back and resumes. */
  disconnect(): void {
    this.#sink?.destroy();
    this.close();
  }

  /** The server stops: bytes that the network has not taken are not waited for. */
  stop(): void {
    this.#sink?.stop();
    this.close();
  }

  /** The reader wants no more events. Each text is written whole. Idempotent. */
  finish(): void {
    this.close();
  }

  /** The reader is gone. Idempotent. */
  close(): void {
    this.#leave('closed');
  }

  async #catchUp(): Promise<void> {
    if (!this.#isBehind || this.#isCatchingUp || this.#ending !== null || this.isFull) return;
    this.#isCatchingUp = true;
    await this.#source.catchUp(this);
    this.#isCatchingUp = false;
  }

  #leave(why: ServiceError | 'closed'): void {
    if (this.#ending !== null) return;
    this.#ending = why;
    this.#source.ended(this);
  }
}
