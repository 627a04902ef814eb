import { within } from '../http/deadline.ts';
import { type Filter, filterQuery } from '../http/filter.ts';
import { backoffMs, pause, SETTLED_MS } from '../http/pause.ts';
import type { Transport } from '../http/transport.ts';
import { onPage } from '../page-life.ts';
import { errorIn, RollcallError } from '../rollcall-error.ts';
import { type Frame, SocketLost } from '../socket/socket.ts';
import type { SocketLink } from '../socket/socket-link.ts';
import { eventOf, type ReceivedEvent } from './received-event.ts';
import type { StreamChunk } from './stream-connection.ts';

/** How to read a stream. */
export interface StreamOptions {
  /** Ends the loop, without an error. */
  readonly signal?: AbortSignal | undefined;
  /** How long a connection may be silent before it counts as dead; the server sends a heartbeat every 15 s. Default: 45,000. */
  readonly deadAfterMs?: number | undefined;
  /** Called each time the stream is connected. */
  readonly onOpen?: (() => void) | undefined;
  /** Called each time the connection is lost, with the error and the delay until the next attempt. */
  readonly onRetry?: ((error: RollcallError, delayMs: number) => void) | undefined;
}

const FIRST_RETRY_MS = 1_000;
const RETRY_DELAY_MAX_MS = 30_000;
/** A browser has no time limit for a script that it loads. */
const LOAD_TIMEOUT_MS = 20_000;

/**
 * Events as they happen, for `for await`. It connects with the first iteration, and reconnects after retryable errors: after
 * lost connections, restarts and sleep it resumes where it was. `break` and `return()` close the connection at once, also
 * while `next()` is pending.
 *
 * While the consumer handles an event, nothing more is read than a chunk of the response and what the platform's buffers
 * hold. The server then leaves events out, and sends later what was missed, merged or as a new snapshot.
 */
export class Watch<Event> implements AsyncIterableIterator<Event> {
  readonly #transport: Transport;
  readonly #path: () => string;
  readonly #options: StreamOptions & Filter;
  readonly #eventOf: (received: ReceivedEvent) => object | null;
  readonly #frame: Frame | undefined;
  readonly #stop = new AbortController();
  readonly #stops: readonly (AbortSignal | undefined)[];
  readonly #events = this.#follow();
  /** The ID of the last event that was read. */
  #lastId = '';
  #retryMs = FIRST_RETRY_MS;
  #failures = 0;
  #isRenewed = false;
  /** When the connection was opened, by a clock that does not jump; infinite before. */
  #openedAt = Number.POSITIVE_INFINITY;

  /**
   * @param frame watches through the client's socket, where it has one
   * @param toEvent null for an event that is passed over
   * @internal
   */
  constructor(
    transport: Transport,
    path: () => string,
    options: StreamOptions & Filter,
    frame?: Frame,
    toEvent: (received: ReceivedEvent) => object | null = eventOf,
  ) {
    this.#transport = transport;
    this.#path = path;
    this.#options = options;
    this.#eventOf = toEvent;
    this.#frame = frame;
    this.#stops = [this.#stop.signal, options.signal, transport.closing];
  }

  /** @throws RollcallError that is not retryable; the stream has ended then */
  next(): Promise<IteratorResult<Event, void>> {
    return this.#events.next();
  }

  /** Closes the connection. Idempotent. */
  return(): Promise<IteratorResult<Event, void>> {
    this.#stop.abort();
    return this.#events.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async *#follow(): AsyncGenerator<Event, void, undefined> {
    const { status, link } = this.#transport;
    if (this.#frame && !this.#isStopped) link?.acquire(this);
    try {
      while (!this.#isStopped) {
        // A socket that is not opened has tried everything: it renews tokens and connects again by itself.
        const isSocket = await this.#isThroughSocket();
        try {
          yield* this.#read(isSocket ? this.#ofSocket() : await this.#ofHttp());
        } catch (error) {
          await this.#recover(error as RollcallError);
        }
      }
    } catch (error) {
      if (!this.#isStopped) throw error;
    } finally {
      link?.release(this);
      status.report(this, null);
    }
  }

  get #isStopped(): boolean {
    return this.#stops.some((signal) => signal?.aborted);
  }

  /** Whether to watch through the socket: waits until it is open, or known to be missing. @throws RollcallError */
  async #isThroughSocket(): Promise<boolean> {
    const { link } = this.#transport;
    if (!link || !this.#frame) return false;
    return within(Number.POSITIVE_INFINITY, this.#stops, link.ready());
  }

  /** The events of one connection. @throws RollcallError whenever it ends */
  async *#read(chunks: AsyncIterable<StreamChunk>): AsyncGenerator<Event, void, undefined> {
    for await (const { messages, lastId, retryMs = this.#retryMs } of chunks) {
      this.#retryMs = retryMs;
      for (const message of messages) {
        // Events that wait are passed over when the consumer has ended the stream.
        if (this.#isStopped) return;
        const event = this.#take(message);
        if (event !== null) yield event;
      }
      if (lastId !== '') this.#lastId = lastId;
    }
  }

  /** One watch of the socket. */
  #ofSocket(): AsyncIterable<StreamChunk> {
    const { status, link } = this.#transport;
    const after = this.#lastId || undefined;
    const frame = { ...(this.#frame as Frame), ...filterQuery(this.#options), after };
    return (link as SocketLink).watch(frame, this.#stops, () => {
      // Only the state of the socket counts from now on.
      status.report(this, null);
      this.#opened();
    });
  }

  #opened(): void {
    this.#openedAt = performance.now();
    // An error that it throws is uncaught, and does not end the stream.
    queueMicrotask(() => this.#options.onOpen?.());
  }

  /** The event as the consumer gets it. It is the last one from now on. @throws RollcallError with which the server ends the stream */
  #take(received: ReceivedEvent): Event | null {
    if (received.type === 'error') throw errorIn(received.data, 'error', 'the stream ended');
    const event = this.#eventOf(received);
    if (received.id !== '') this.#lastId = received.id;
    this.#succeeded();
    return event as Event | null;
  }

  #succeeded(): void {
    this.#failures = 0;
    this.#isRenewed = false;
  }

  /** One connection over HTTP. @throws RollcallError */
  async #ofHttp(): Promise<AsyncIterable<StreamChunk>> {
    const transport = this.#transport;
    if (this.#failures === 0) transport.status.report(this, 'connecting');
    const open = await within(LOAD_TIMEOUT_MS, this.#stops, transport.loadStreams());
    return open(transport, {
      path: this.#path(),
      query: filterQuery(this.#options),
      lastId: () => this.#lastId,
      deadAfterMs: this.#options.deadAfterMs,
      stops: this.#stops,
      report: (isOpen, reason) => this.#report(isOpen, reason),
    });
  }

  #report(isOpen: boolean, reason?: string): void {
    const { status } = this.#transport;
    if (reason !== undefined) status.report(this, 'reconnecting', new RollcallError('network', reason));
    else status.report(this, isOpen ? 'open' : 'connecting');
    if (isOpen) this.#opened();
  }

  /** Waits before the next attempt. @throws RollcallError the same error, when it is not retryable */
  async #recover(error: RollcallError): Promise<void> {
    if (this.#isStopped) return;
    // One that resumes where nothing happens has no event.
    if (performance.now() - this.#openedAt > SETTLED_MS) this.#succeeded();
    this.#openedAt = Number.POSITIVE_INFINITY;
    // The token was accepted first and rejected later; when connecting, the transport renews it.
    if (error.aboutToken && error.status === 0 && !this.#isRenewed && this.#transport.tokens.reject()) {
      this.#isRenewed = true;
      return;
    }
    // A socket waits by itself before it connects again.
    if (error instanceof SocketLost) return this.#options.onRetry?.(error, 0);
    this.#transport.failed(this, error, this.#options.groupID);
    if (!error.retryable) throw error;
    const backoff = backoffMs(this.#failures, this.#retryMs, RETRY_DELAY_MAX_MS);
    const delayMs = Math.max(error.retryAfterMs ?? 0, backoff);
    this.#failures += 1;
    this.#options.onRetry?.(error, delayMs);
    await this.#pause(delayMs);
  }

  /** Ends early when the stream is closed, and when the machine is online again. */
  async #pause(ms: number): Promise<void> {
    const early = new AbortController();
    const stopListening = onPage('online', () => early.abort());
    await pause(ms, early.signal, ...this.#stops).catch(() => {});
    stopListening();
  }
}
