import { Deadline } from '../http/deadline.ts';
import { type Filter, filterQuery } from '../http/filter.ts';
import { backoffMs, pause } from '../http/pause.ts';
import type { Transport } from '../http/transport.ts';
import { listen } from '../listen.ts';
import { onPage } from '../page-life.ts';
import { RollcallError } from '../rollcall-error.ts';
import { EventStreamParser, type StreamEvent } from './event-stream.ts';
import { parseEvent } from './parse-event.ts';

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
   * @internal
   */
  constructor(
    transport: Transport,
    path: () => string,
    options: StreamOptions & Filter,
    parse: (event: StreamEvent) => object | null = parseEvent,
  ) {
    this.#transport = transport;
    this.#path = path;
    this.#options = options;
    this.#parse = parse;
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
    const { status } = this.#transport;
    if (!this.#isStopped) status.report(this, 'connecting');
    try {
      while (!this.#isStopped) {
        try {
          yield* this.#connection();
        } catch (error) {
          if (this.#isStopped) return;
          await this.#recover(error as RollcallError);
        }
      }
    } finally {
      status.report(this, null);
    }
  }

  get #isStopped(): boolean {
    return this.#stops.some((signal) => signal?.aborted);
  }

  /** The events of one connection. @throws RollcallError whenever it ends */
  async *#connection(): AsyncGenerator<Event, void, undefined> {
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
          const event = this.#parse(message);
          this.#lastId = message.id;
          this.#failures = 0;
          this.#isRenewed = false;
          if (event !== null) yield event as Event;
        }
        this.#lastId = parser.lastId;
      }
      throw new RollcallError('network', 'the server closed the connection');
    } catch (error) {
      throw deadline.explain(error);
    } finally {
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
    const delayMs = Math.max(
      error.retryAfterMs ?? 0,
      backoffMs(this.#failures, this.#retryMs, RETRY_DELAY_MAX_MS),
    );
    this.#failures += 1;
    this.#transport.status.report(this, 'reconnecting', error);
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
