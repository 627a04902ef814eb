import { Deadline, type MaybeSignal } from '../http/deadline.ts';
import type { Query } from '../http/path.ts';
import { backoffMs, pause } from '../http/pause.ts';
import type { Transport } from '../http/transport.ts';
import { RollcallError } from '../rollcall-error.ts';
import { EventStreamParser, type StreamEvent } from './event-stream.ts';
import { onPage } from './page-life.ts';
import { type PresenceEvent, presenceEvent } from './presence-event.ts';

/** How to follow a stream. */
export interface StreamOptions {
  /** Ends the loop, without an error. */
  readonly signal?: AbortSignal | undefined;
  /** After how long without a byte a connection counts as dead; the server sends one every 15 s. Default: 45,000. */
  readonly deadAfterMs?: number | undefined;
  /** Called whenever the stream is connected. */
  readonly onOpen?: (() => void) | undefined;
  /** Called whenever it is not any more, with why and when it is tried again. */
  readonly onRetry?: ((error: RollcallError, delayMs: number) => void) | undefined;
}

const DEAD_AFTER_MS = 45_000;
const CONNECT_TIMEOUT_MS = 20_000;
const FIRST_RETRY_MS = 1_000;
const LATEST_RETRY_MS = 30_000;
const LONGEST_TICK_MS = 5_000;

/**
 * The events of a group as they happen, for `for await`. It connects with the first turn of the loop, and again for as
 * long as that can help: after cuts, restarts and sleep it goes on where it was. `break` and `return()` close the
 * connection at once, also while somebody waits for the next event.
 */
export class PresenceWatch implements AsyncIterableIterator<PresenceEvent> {
  readonly #stop = new AbortController();
  readonly #events: AsyncGenerator<PresenceEvent, void, undefined>;

  /** @internal */
  constructor(transport: Transport, path: () => string, query: Query, options: StreamOptions) {
    const stops = [this.#stop.signal, options.signal, transport.closing];
    this.#events = new Follower(transport, path, query, options, stops).follow();
  }

  /** @throws RollcallError one that trying again cannot help; after it the stream has ended */
  next(): Promise<IteratorResult<PresenceEvent, void>> {
    return this.#events.next();
  }

  /** Closes the connection. Idempotent. */
  return(): Promise<IteratorResult<PresenceEvent, void>> {
    this.#stop.abort();
    return this.#events.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

class Follower {
  readonly #transport: Transport;
  readonly #path: () => string;
  readonly #query: Query;
  readonly #options: StreamOptions;
  readonly #stops: readonly MaybeSignal[];
  /** How far the events have been seen. */
  #lastId = '';
  #retryMs = FIRST_RETRY_MS;
  #failures = 0;
  #isRenewed = false;

  constructor(
    transport: Transport,
    path: () => string,
    query: Query,
    options: StreamOptions,
    stops: readonly MaybeSignal[],
  ) {
    this.#transport = transport;
    this.#path = path;
    this.#query = query;
    this.#options = options;
    this.#stops = stops;
  }

  async *follow(): AsyncGenerator<PresenceEvent, void, undefined> {
    while (!this.#isStopped) {
      try {
        yield* this.#connection();
      } catch (error) {
        if (this.#isStopped) return;
        await this.#recover(error as RollcallError);
      }
    }
  }

  get #isStopped(): boolean {
    return this.#stops.some((signal) => signal?.aborted === true);
  }

  /** Events of one connection. @throws RollcallError when it ends, however that happens */
  async *#connection(): AsyncGenerator<PresenceEvent, void, undefined> {
    const deadline = new Deadline(CONNECT_TIMEOUT_MS, this.#stops);
    try {
      const response = await this.#connect(deadline);
      deadline.lift();
      this.#options.onOpen?.();
      for await (const message of this.#messages(response, deadline)) {
        const event = presenceEvent(message);
        this.#lastId = message.id;
        this.#failures = 0;
        this.#isRenewed = false;
        if (event !== null) yield event;
      }
      throw new RollcallError('network', 'the server ended the connection');
    } catch (error) {
      throw deadline.explain(error);
    } finally {
      deadline.end();
      // Closes the connection at once; what is only cancelled is read on for a while.
      deadline.fail(new RollcallError('aborted', 'the stream is over'));
    }
  }

  async #connect(deadline: Deadline): Promise<Response> {
    const headers = { accept: 'text/event-stream', 'last-event-id': this.#lastId || undefined };
    const request = { method: 'GET', path: this.#path(), query: this.#query, headers } as const;
    const response = await this.#transport.open(request, deadline);
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
    await response.body?.cancel();
    throw new RollcallError('invalid_request', 'the server does not answer with a stream', {
      status: response.status,
    });
  }

  async *#messages(response: Response, deadline: Deadline): AsyncGenerator<StreamEvent, void, undefined> {
    const parser = new EventStreamParser(this.#lastId);
    for await (const bytes of piecesOf(response, deadline, this.#options.deadAfterMs ?? DEAD_AFTER_MS)) {
      const events = parser.push(bytes);
      this.#retryMs = parser.retryMs ?? this.#retryMs;
      yield* events;
      this.#lastId = parser.lastId;
    }
  }

  /** Waits until the next try, or throws the error where none can help. */
  async #recover(error: RollcallError): Promise<void> {
    if (this.#renewsToken(error)) return;
    if (!error.retryable) throw error;
    const delayMs = Math.max(
      error.retryAfterMs ?? 0,
      backoffMs(this.#failures, this.#retryMs, LATEST_RETRY_MS),
    );
    this.#failures += 1;
    this.#options.onRetry?.(error, delayMs);
    await this.#pause(delayMs);
  }

  /** For a token that was taken at first and is refused later; when connecting, the transport has tried already. */
  #renewsToken({ aboutToken, status }: RollcallError): boolean {
    const renews = aboutToken && status === 0 && !this.#isRenewed && this.#transport.refuseToken();
    this.#isRenewed ||= renews;
    return renews;
  }

  /** Ends early when the loop is left, and when the machine is back on the network. */
  async #pause(ms: number): Promise<void> {
    const early = new AbortController();
    const stopListening = onPage('online', () => early.abort());
    await pause(ms, early.signal, ...this.#stops).catch(() => {});
    stopListening();
  }
}

/**
 * The body as it comes. Silence is measured by the time of day, which goes on while a machine sleeps: it wakes up to a
 * connection that has been dead for long, and notices at the next tick.
 */
async function* piecesOf(
  response: Response,
  deadline: Deadline,
  deadAfterMs: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  /** Since when a piece is waited for; null while the reader of the events is busy. */
  let waitsSince: number | null = null;
  const tick = setInterval(
    () => {
      if (waitsSince === null || Date.now() - waitsSince <= deadAfterMs) return;
      deadline.fail(new RollcallError('timeout', `nothing was heard for ${deadAfterMs} ms`));
    },
    Math.min(LONGEST_TICK_MS, deadAfterMs / 4),
  );
  // Whoever stops without asking for the next event leaves this function where it is.
  deadline.signal.addEventListener('abort', () => clearInterval(tick));
  try {
    for (;;) {
      waitsSince = Date.now();
      const { done, value } = await reader.read();
      waitsSince = null;
      if (done) return;
      yield value;
    }
  } finally {
    clearInterval(tick);
  }
}
