import { StatusOfConnections } from '../connection-status.ts';
import { errorOfResponse, RollcallError } from '../rollcall-error.ts';
import type { SocketLink } from '../socket/socket-link.ts';
import type { LoadStreams } from '../streams/http-stream.ts';
import { Deadline, type MaybeSignal } from './deadline.ts';
import { present, type Query, queryString } from './path.ts';
import { backoffMs, pause, RETRY_AFTER_MAX_MS } from './pause.ts';
import { type Token, TokenSource } from './token-source.ts';

/** How to reach the server, and with which token. */
export interface ConnectionOptions {
  /** Where the server is, with the path before `/v1` where there is one: `https://example.com/rollcall`. */
  readonly url: string;
  /** A token, or a function that gets one: called for the first request, and again when the server rejects a token. */
  readonly token: Token;
  /** How long one attempt may take, the body of the response included; more than a day is no limit. Default: 10,000. */
  readonly timeoutMs?: number | undefined;
  /** How many times a repeatable request is retried. Default: 2; 0 for never. */
  readonly retries?: number | undefined;
  /** Replaces the platform's `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/** Options of every call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  readonly retries?: number | undefined;
}

export interface Outgoing {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly path: string;
  readonly query?: Query | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Whether the request may be retried. Default: everything but POST, and nothing that has a precondition. */
  readonly repeatable?: boolean;
  /** Sent without a token. */
  readonly anonymous?: boolean;
}

interface Incoming {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed body; null when it is empty. */
  readonly body: unknown;
}

const TIMEOUT_MS = 10_000;
const RETRIES = 2;
const FIRST_RETRY_MS = 200;
const RETRY_DELAY_MAX_MS = 10_000;

/** Sends requests, with tokens, timeouts and retries. `close()` aborts all of them. */
export class Transport {
  /** The server's URL, without a slash at the end. */
  readonly base: string;
  readonly status: StatusOfConnections = new StatusOfConnections();
  /** Names the page of a client: what it announces is its own, beside that of other tabs. */
  connectionID: string | undefined;
  /** The socket of a page, where there is one. */
  link: SocketLink | undefined;
  /** Gets the code that reads streams over HTTP. */
  readonly loadStreams: LoadStreams;
  readonly tokens: TokenSource;
  readonly #timeoutMs: number;
  readonly #retries: number;
  readonly #fetch: typeof fetch;
  readonly #closing = new AbortController();
  /** Aborts with {@link close}. */
  readonly closing: AbortSignal = this.#closing.signal;

  /** @throws TypeError when the URL is not valid */
  constructor(options: ConnectionOptions, loadStreams: LoadStreams) {
    const { url, token, timeoutMs = TIMEOUT_MS, retries = RETRIES, fetch: own } = options;
    this.loadStreams = loadStreams;
    this.base = new URL(url).href.replace(/\/+$/, '');
    this.tokens = new TokenSource(token, timeoutMs);
    this.#timeoutMs = timeoutMs;
    this.#retries = retries;
    // The platform's `fetch` throws when it is called as a method.
    this.#fetch = (input, init) => (own ?? globalThis.fetch)(input, init);
  }

  close(): void {
    this.status.close();
    this.#closing.abort();
  }

  /** Sends a request, and retries it when it is repeatable and the error can pass. @throws RollcallError */
  async send(outgoing: Outgoing, options: CallOptions = {}): Promise<Incoming> {
    const { signal, timeoutMs = this.#timeoutMs, retries = this.#retries } = options;
    const maxRetries = isRepeatable(outgoing) ? retries : 0;
    for (let failures = 0; ; failures += 1) {
      try {
        return await this.#attempt(outgoing, signal, timeoutMs);
      } catch (error) {
        const { retryable, aboutToken, retryAfterMs = 0 } = error as RollcallError;
        // A gateway has rejected the next token too: another one would not help now.
        if (!retryable || aboutToken || failures >= maxRetries || retryAfterMs > RETRY_AFTER_MAX_MS)
          throw error;
        await pause(
          Math.max(retryAfterMs, backoffMs(failures, FIRST_RETRY_MS, RETRY_DELAY_MAX_MS)),
          signal,
          this.closing,
        );
      }
    }
  }

  /** The body of the response to {@link send}, with the type that the caller names. @throws RollcallError */
  async json<Body>(
    method: Outgoing['method'],
    path: string,
    options?: CallOptions,
    more?: Partial<Outgoing>,
  ): Promise<Body> {
    return (await this.send({ method, path, ...more }, options)).body as Body;
  }

  async #attempt(outgoing: Outgoing, signal: MaybeSignal, timeoutMs: number): Promise<Incoming> {
    const deadline = new Deadline(timeoutMs, [signal, this.closing]);
    try {
      const response = await this.open(outgoing, deadline);
      const { status, headers } = response;
      return { status, headers, body: bodyOf(await response.text()) };
    } catch (error) {
      throw deadline.explain(error);
    } finally {
      deadline.end();
    }
  }

  /**
   * A successful response, its body still unread. A rejected token is replaced once.
   * @throws RollcallError, or what `fetch` throws: pass it to {@link Deadline.explain}
   */
  async open(outgoing: Outgoing, deadline: Deadline, isRenewed = false): Promise<Response> {
    deadline.signal.throwIfAborted();
    const token = outgoing.anonymous ? undefined : await deadline.race(this.tokens.get());
    const init = { ...requestInit(outgoing, token), signal: deadline.signal };
    const response = await this.#fetch(this.#urlOf(outgoing), init);
    if (response.ok || response.status === 304) return response;
    const error = errorOfResponse(response, await response.text());
    if (error.aboutToken && !isRenewed && token && this.tokens.reject(token))
      return this.open(outgoing, deadline, true);
    throw error;
  }

  /**
   * Reports a connection over HTTP that failed: it is connected again, or the user is not let in. That a group which was named
   * cannot be used says nothing about the user.
   */
  failed(connection: object, error: RollcallError, groupID: string | undefined): void {
    const { retryable, aboutToken, status, code } = error;
    // A server token is one of the host, which names users who may be missing.
    const isUserOut = this.connectionID && (code === 'user_not_found' || (status === 401 && !groupID));
    if (retryable || aboutToken || status === 403 || isUserOut)
      this.status.report(connection, retryable ? 'reconnecting' : 'closed', error);
  }

  /** Sends without waiting, also from a page that unloads (`keepalive`). The result is not reported. */
  dispatch(outgoing: Outgoing): void {
    const token = this.tokens.latest;
    if (!token) return;
    const init = { ...requestInit(outgoing, token), keepalive: true };
    this.#fetch(this.#urlOf(outgoing), init).catch(() => {});
  }

  #urlOf({ path, query = {} }: Outgoing): string {
    return this.base + path + queryString(query);
  }
}

function isRepeatable({ method, headers = {}, repeatable = method !== 'POST' }: Outgoing): boolean {
  // After a lost response, the retry would fail its precondition although the first attempt was applied.
  return repeatable && !(method !== 'GET' && (headers['if-match'] ?? headers['if-none-match']));
}

function requestInit({ method, body, headers }: Outgoing, token: string | undefined) {
  const all: Record<string, string | undefined> = {
    accept: 'application/json',
    authorization: token && `Bearer ${token}`,
    'content-type': body ? 'application/json' : undefined,
    ...headers,
  };
  return { method, headers: Object.fromEntries(present(all)), body: JSON.stringify(body) };
}

function bodyOf(text: string): unknown {
  try {
    return JSON.parse(text || 'null');
  } catch (cause) {
    throw new RollcallError('network', 'the response is not JSON: is this Rollcall?', {
      cause,
    });
  }
}
