import { Deadline } from '../http/deadline.ts';
import { type Filter, filterQuery } from '../http/filter.ts';
import { backoffMs, pause } from '../http/pause.ts';
import type { Transport } from '../http/transport.ts';
import { listen } from '../listen.ts';
import { onPage } from '../page-life.ts';
import { RollcallError } from '../rollcall-error.ts';
import { type Frame, SocketLost } from '../socket/socket.ts';
import type { SocketLink } from '../socket/socket-link.ts';
import { EventStreamParser, type StreamEvent } from './event-stream.ts';
import { eventOf, parseEvent, type ReceivedEvent } from './parse-event.ts';
import { streamPermit } from './stream-permit.ts';

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

const DEAD_AFTER_MS = 45_000;
const CONNECT_TIMEOUT_MS = 20_000;
const FIRST_RETRY_MS = 1_000;
const RETRY_DELAY_MAX_MS = 30_000;
const SILENCE_CHECK_MAX_MS = 5_000;

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
  readonly #parse: (event: StreamEvent) => object | null;
  readonly #frame: Frame | undefined;
  readonly #stop = new AbortController();
  readonly #stops: readonly (AbortSignal | undefined)[];
  readonly #events = this.#follow();
  /** The ID of the last event that was read. */
  #lastId = '';
  #retryMs = FIRST_RETRY_MS;
  #failures = 0;
  #isRenewed = false;

  /**
   * @param parse null for an event that is passed over; throws the error with which the server ends the stream
   * @param frame watches through the client's socket, where it has one
   * @internal
   */
  constructor(
    transport: Transport,
    path: () => string,
    options: StreamOptions & Filter,
    parse: (event: StreamEvent) => object | null = parseEvent,
    frame?: Frame,
  ) {
    this.#transport = transport;
    this.#path = path;
    this.#options = options;
    this.#parse = parse;
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
    if (this.#frame !== undefined && !this.#isStopped) link?.acquire(this);
    try {
      while (!this.#isStopped) {
        let isReady = false;
        try {
          const isSocket = await this.#isThroughSocket();
          isReady = true;
          yield* isSocket ? this.#ofSocket() : this.#connection();
        } catch (error) {
          if (this.#isStopped) return;
          // The socket has tried everything already: it renews tokens and connects again by itself.
          if (!isReady) throw error;
          await this.#recover(error as RollcallError);
        }
      }
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
    if (link === undefined || this.#frame === undefined) return false;
    return this.#until(Number.POSITIVE_INFINITY, (deadline) => deadline.race(link.ready()));
  }

  async #until<Result>(ms: number, use: (deadline: Deadline) => Promise<Result>): Promise<Result> {
    const deadline = new Deadline(ms, this.#stops);
    try {
      return await use(deadline);
    } finally {
      deadline.end();
    }
  }

  /** The events of one watch of the socket. @throws RollcallError whenever it ends */
  async *#ofSocket(): AsyncGenerator<Event, void, undefined> {
    const deadline = new Deadline(Number.POSITIVE_INFINITY, this.#stops);
    const frame = {
      ...(this.#frame as Frame),
      ...filterQuery(this.#options),
      after: this.#lastId || undefined,
    };
    try {
      const onOpen = () => this.#options.onOpen?.();
      for await (const received of this.#linkOf().watch(frame, deadline, onOpen)) {
        const event = this.#take(received, eventOf(received));
        if (event !== null) yield event;
      }
    } finally {
      deadline.end();
    }
  }

  #linkOf(): SocketLink {
    return this.#transport.link as SocketLink;
  }

  /** The event is the last one from now on. */
  #take({ id }: Pick<ReceivedEvent, 'id'>, event: object | null): Event | null {
    if (id !== '') this.#lastId = id;
    this.#failures = 0;
    this.#isRenewed = false;
    return event as Event | null;
  }

  /** The events of one connection. @throws RollcallError whenever it ends */
  async *#connection(): AsyncGenerator<Event, void, undefined> {
    const { status, base } = this.#transport;
    if (this.#failures === 0) status.report(this, 'connecting');
    const release = await this.#until(Number.POSITIVE_INFINITY, ({ signal }) =>
      streamPermit(base, signal, (reason) => status.report(this, 'reconnecting', reason)),
    );
    const deadline = new Deadline(CONNECT_TIMEOUT_MS, this.#stops);
    try {
      const response = await this.#connect(deadline);
      deadline.lift();
      this.#transport.status.report(this, 'open');
      this.#options.onOpen?.();
      const parser = new EventStreamParser(this.#lastId);
      for await (const bytes of chunksOf(response, deadline, this.#options.deadAfterMs)) {
        const messages = parser.push(bytes);
        this.#retryMs = parser.retryMs ?? this.#retryMs;
        for (const message of messages) {
          const event = this.#take(message, this.#parse(message));
          if (event !== null) yield event;
        }
        this.#lastId = parser.lastId;
      }
      throw new RollcallError('network', 'the server closed the connection');
    } catch (error) {
      throw deadline.explain(error);
    } finally {
      release();
      deadline.end();
      // Aborting closes the connection at once; a body that is only cancelled is read for a while.
      deadline.fail(new RollcallError('aborted', 'the stream was closed'));
    }
  }

  async #connect(deadline: Deadline): Promise<Response> {
    const headers = { accept: 'text/event-stream', 'last-event-id': this.#lastId || undefined };
    const query = filterQuery(this.#options);
    const request = { method: 'GET', path: this.#path(), query, headers } as const;
    const response = await this.#transport.open(request, deadline);
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
    await response.body?.cancel();
    const { status } = response;
    throw new RollcallError('invalid_request', 'the response is not a stream', { status });
  }

  /** Waits before the next attempt. @throws RollcallError the same error, when it is not retryable */
  async #recover(error: RollcallError): Promise<void> {
    // The token was accepted first and rejected later; when connecting, the transport renews it.
    if (error.aboutToken && error.status === 0 && !this.#isRenewed && this.#transport.rejectToken()) {
      this.#isRenewed = true;
      return;
    }
    if (!error.retryable) throw error;
    // A socket waits by itself before it connects again.
    const isLost = error instanceof SocketLost;
    const delayMs = isLost
      ? 0
      : Math.max(error.retryAfterMs ?? 0, backoffMs(this.#failures, this.#retryMs, RETRY_DELAY_MAX_MS));
    if (!isLost) {
      this.#failures += 1;
      this.#transport.status.report(this, 'reconnecting', error);
    }
    this.#options.onRetry?.(error, delayMs);
    if (!isLost) await this.#pause(delayMs);
  }

  /** Ends early when the stream is closed, and when the machine is online again. */
  async #pause(ms: number): Promise<void> {
    const early = new AbortController();
    const stopListening = onPage('online', () => early.abort());
    await pause(ms, early.signal, ...this.#stops).catch(() => {});
    stopListening();
  }
}

/**
 * The chunks of the body. Silence is measured by the time of day, which continues while a machine sleeps: after sleep, a
 * dead connection is noticed at the next check.
 */
async function* chunksOf(
  response: Response,
  deadline: Deadline,
  deadAfterMs = DEAD_AFTER_MS,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  /** When the pending read began; null while the consumer handles an event. */
  let readSince: number | null = null;
  const check = setInterval(
    () => {
      if (readSince === null || Date.now() - readSince <= deadAfterMs) return;
      deadline.fail(new RollcallError('timeout', `nothing was received for ${deadAfterMs} ms`));
    },
    Math.min(SILENCE_CHECK_MAX_MS, deadAfterMs / 4),
  );
  // Every connection ends with its deadline, also when the consumer stops without another `next()` and the client closes.
  listen(deadline.signal, 'abort', () => clearInterval(check));
  for (;;) {
    readSince = Date.now();
    const { done, value } = await reader.read();
    readSince = null;
    if (done) return;
    yield value;
  }
}
