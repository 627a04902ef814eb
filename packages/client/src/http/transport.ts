import { errorOfAnswer, RollcallError } from '../rollcall-error.ts';
import { Deadline, type MaybeSignal } from './deadline.ts';
import { type Query, queryString } from './path.ts';
import { backoffMs, pause } from './pause.ts';
import { type Token, TokenSource } from './token-source.ts';

/** How to reach the server, and as whom. */
export interface ConnectionOptions {
  /** Where the server is, with the path before `/v1` where there is one: `https://example.com/rollcall`. */
  readonly url: string;
  /** A token, or a function that gets one: it is asked when the first is needed, and again when the server refuses one. */
  readonly token: Token;
  /** How long one attempt may take, the answer's body included. Default: 10,000. */
  readonly timeoutMs?: number | undefined;
  /** How many more times a request is sent that may be sent again. Default: 2; 0 for never. */
  readonly retries?: number | undefined;
  /** In place of the platform's `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/** What every call takes. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  readonly retries?: number | undefined;
}

export interface Outgoing {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly path: string;
  readonly query?: Query;
  /** Goes as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Whether a second time does no harm. Default: everything but POST, and nothing that has a precondition. */
  readonly repeatable?: boolean;
  /** Goes without a token. */
  readonly anonymous?: boolean;
}

export interface Incoming {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed body; null where there was none. */
  readonly body: unknown;
}

const TIMEOUT_MS = 10_000;
const RETRIES = 2;
const FIRST_RETRY_MS = 200;
const LATEST_RETRY_MS = 10_000;
/** A server that asks for more patience than this is told of as an error, with how long it asks for. */
const PATIENCE_MS = 30_000;

/** Sends requests: tokens, timeouts and second attempts. Everything ends with `close()`. */
export class Transport {
  readonly #base: string;
  readonly #tokens: TokenSource;
  readonly #timeoutMs: number;
  readonly #retries: number;
  readonly #fetch: typeof fetch;
  readonly #closing = new AbortController();

  /** @throws TypeError when the URL is none */
  constructor({ url, token, timeoutMs = TIMEOUT_MS, retries = RETRIES, fetch: own }: ConnectionOptions) {
    this.#base = new URL(url).href.replace(/\/+$/, '');
    this.#tokens = new TokenSource(token, timeoutMs);
    this.#timeoutMs = timeoutMs;
    this.#retries = retries;
    // Called as a method, the platform's own refuses.
    this.#fetch = (input, init) => (own ?? globalThis.fetch)(input, init);
  }

  /** The server's URL, without a slash at the end. */
  get base(): string {
    return this.#base;
  }

  /** Aborted when the client is closed. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  close(): void {
    this.#closing.abort();
  }

  /** Sends a request, again where that helps and does no harm. @throws RollcallError */
  async send(outgoing: Outgoing, options: CallOptions = {}): Promise<Incoming> {
    const { signal, timeoutMs = this.#timeoutMs, retries = this.#retries } = options;
    const mostRetries = isRepeatable(outgoing) ? retries : 0;
    for (let failures = 0; ; failures += 1) {
      try {
        return await this.#attempt(outgoing, signal, timeoutMs);
      } catch (error) {
        const { retryable, retryAfterMs = 0 } = error as RollcallError;
        if (!retryable || failures >= mostRetries || retryAfterMs > PATIENCE_MS) throw error;
        await pause(
          Math.max(retryAfterMs, backoffMs(failures, FIRST_RETRY_MS, LATEST_RETRY_MS)),
          signal,
          this.closing,
        );
      }
    }
  }

  /** The body of the answer to {@link send}; typed by the caller, as the protocol says. */
  async json<Body>(outgoing: Outgoing, options?: CallOptions): Promise<Body> {
    return (await this.send(outgoing, options)).body as Body;
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
   * The answer, its body still to be read, unless it is a refusal. A token that is refused is replaced once.
   * @throws RollcallError, or what `fetch` throws: {@link Deadline.explain} tells
   */
  async open(outgoing: Outgoing, deadline: Deadline, isRenewed = false): Promise<Response> {
    const token = outgoing.anonymous === true ? undefined : await deadline.race(this.#tokens.get());
    const init = { ...requestInit(outgoing, token), signal: deadline.signal };
    const response = await this.#fetch(this.#urlOf(outgoing), init);
    if (response.ok || response.status === 304) return response;
    const error = errorOfAnswer(response, await response.text());
    const canRenew = error.aboutToken && !isRenewed && token !== undefined && this.#tokens.refused(token);
    if (canRenew) return this.open(outgoing, deadline, true);
    throw error;
  }

  /** Forgets the token: the server has said elsewhere than in an answer that it does not take it. */
  refuseToken(): boolean {
    const { latest } = this.#tokens;
    return latest !== undefined && this.#tokens.refused(latest);
  }

  /** Sends without waiting for anything, also from a page that is going away; nobody learns what becomes of it. */
  dispatch(outgoing: Outgoing): void {
    const token = this.#tokens.latest;
    if (token === undefined) return;
    const init = { ...requestInit(outgoing, token), keepalive: true };
    this.#fetch(this.#urlOf(outgoing), init).catch(() => {});
  }

  #urlOf({ path, query = {} }: Outgoing): string {
    return this.#base + path + queryString(query);
  }
}

function isRepeatable({ method, headers = {}, repeatable = method !== 'POST' }: Outgoing): boolean {
  // A precondition that held the first time fails the second, and nobody could tell that from a refusal.
  return repeatable && !(method !== 'GET' && (headers['if-match'] ?? headers['if-none-match']));
}

function requestInit({ method, body, headers }: Outgoing, token: string | undefined) {
  const all: Record<string, string | undefined> = {
    accept: 'application/json',
    authorization: token && `Bearer ${token}`,
    'content-type': body === undefined ? undefined : 'application/json',
    ...headers,
  };
  const present = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    method,
    headers: Object.fromEntries(present),
    // Answers are of this moment, and a cached one would lie about it.
    cache: 'no-store' as const,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  };
}

function bodyOf(text: string): unknown {
  if (text === '') return null;
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new RollcallError('network', 'the answer is not JSON: is this the address of a Rollcall server?', {
      cause,
    });
  }
}
