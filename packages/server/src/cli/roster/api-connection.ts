import { setTimeout as passed } from 'node:timers/promises';
import { parseJson } from '@rollcall/protocol';
import { retryAfterMs } from '../../values/retry-after.ts';
import { type Answer, ConnectionError, HttpExchange } from './http-exchange.ts';
import type { TokenSource } from './token-source.ts';

/** An answer that the caller can act upon: neither a temporary failure nor a rejected token. */
export interface ApiAnswer {
  readonly status: number;
  readonly headers: Answer['headers'];
  readonly json: unknown;
}

/** The server cannot be used for the request. The message is one line for the operator. */
export class ApiError extends Error {}

/** What becomes of requests that fail temporarily. */
export interface RetryOptions {
  /** Called with one line for each failure after which the request is sent again, and once a minute where the rate limit is exceeded. */
  readonly onRetry: (note: string) => void;
  /**
   * Requests that fail temporarily are sent again until the connection is closed. Default: for some seconds. Those that exceed the
   * rate limit always are.
   */
  readonly isPatient?: boolean;
  /** Once it aborts, requests that fail are not sent again. */
  readonly interruption?: AbortSignal;
}

interface ApiConnectionOptions extends RetryOptions {
  readonly url: URL;
  readonly tokens: TokenSource;
  /** Resolves after so many milliseconds. Default: the machine's timer. */
  readonly wait?: (ms: number) => Promise<unknown>;
}

/** Pauses before a request is sent again, in milliseconds. After so many failures the next one is final, or the last pause goes on. */
const PAUSES_MS = [500, 1_000, 2_000, 4_000];
const LAST_PAUSE = PAUSES_MS.length - 1;
/** The longest pause that is taken from Retry-After. */
const PAUSE_MAX_MS = 60_000;
const TOO_MANY_REQUESTS = 429;
/** The shortest pause after one too many, whatever Retry-After is: they are sent again without end. */
const LIMITED_PAUSE_MIN_MS = 500;
/** How often it is noted that requests are above the rate limit. */
const LIMIT_NOTED_MS = 60_000;
const NOT_FOUND = new Set(['user_not_found', 'group_not_found', 'thread_not_found', 'message_not_found']);
const TEMPORARY_STATUSES = new Set([TOO_MANY_REQUESTS, 500, 502, 503, 504]);

/**
 * The API of a running server, for one project. Requests that fail temporarily (no connection, 5xx) or exceed the rate limit (429)
 * are sent again, so only requests that may be applied twice are sent here.
 */
export class ApiConnection {
  readonly #exchange: HttpExchange;
  readonly #options: ApiConnectionOptions;
  readonly #closing = new AbortController();
  /** Aborts when nothing is to be sent again. */
  readonly #ending: AbortSignal;
  /** When it was last noted that the rate limit is exceeded. */
  #limitNotedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ApiConnectionOptions) {
    this.#options = options;
    this.#exchange = new HttpExchange(options.url);
    const { interruption = this.#closing.signal } = options;
    this.#ending = AbortSignal.any([this.#closing.signal, interruption]);
  }

  /** @throws ApiError when the server does not come back, or rejects the token */
  async request(method: string, path: string, body?: string): Promise<ApiAnswer> {
    const { isPatient = false, onRetry } = this.#options;
    let failures = 0;
    for (let attempt = 0; ; attempt += 1) {
      const outcome = await this.#attempt(method, path, body);
      if ('answer' in outcome) return readAnswer(outcome.answer);
      // What is above the rate limit has not failed: the server takes it later, however many other requests come meanwhile.
      if (!outcome.isLimited) failures += 1;
      if (!isPatient && failures > PAUSES_MS.length) throw new ApiError(outcome.failure);
      const pause = pauseOf(outcome, PAUSES_MS[Math.min(attempt, LAST_PAUSE)] ?? 0);
      const isNoted = !this.#ending.aborted && (!outcome.isLimited || this.#isLimitDue());
      if (isNoted) onRetry(`${outcome.failure}; trying again in ${pause / 1_000} s`);
      if (!(await this.#wait(pause))) throw new ApiError(outcome.failure);
    }
  }

  /** What is at the path; null where the server has no such user, group, thread or message. @throws ApiError */
  async find<Found>(path: string): Promise<Found | null> {
    const answer = await this.request('GET', path);
    if (NOT_FOUND.has(errorOf(answer.json).error)) return null;
    return expectOk(answer).json as Found;
  }

  /** Whether to note that the rate limit is exceeded: once a minute, however many requests are. */
  #isLimitDue(): boolean {
    const now = performance.now();
    if (now - this.#limitNotedAt < LIMIT_NOTED_MS) return false;
    this.#limitNotedAt = now;
    return true;
  }

  /** Resolves after so many milliseconds; to false, and at once, where nothing is to be sent again. */
  async #wait(ms: number): Promise<boolean> {
    await (this.#options.wait?.(ms) ?? passed(ms, undefined, { signal: this.#ending }).catch(() => {}));
    return !this.#ending.aborted;
  }

  /** Requests that are under way fail. */
  close(): void {
    this.#closing.abort();
    this.#exchange.close();
  }

  /** One exchange, or two where a fresh token helps: an answer, or a temporary failure and the server's `Retry-After`. */
  async #attempt(method: string, path: string, body: string | undefined): Promise<Attempt> {
    try {
      let answer = await this.#send(method, path, body);
      if (isTokenFailure(answer) && this.#options.tokens.renew())
        answer = await this.#send(method, path, body);
      if (isTokenFailure(answer)) throw new ApiError(this.#tokenFailure(answer));
      if (!TEMPORARY_STATUSES.has(answer.status)) return { answer };
      return {
        failure: `the server answers ${answer.status} ${reasonOf(answer)}`,
        isLimited: answer.status === TOO_MANY_REQUESTS,
        pauseMs: demandedPauseMs(answer),
      };
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      const failure = `no answer from ${this.#options.url.origin} (${error.message})`;
      return { failure, isLimited: false, pauseMs: null };
    }
  }

  /** A usual cause is that another server has the port. */
  #tokenFailure(answer: Answer): string {
    const question = `is ${this.#options.url.origin} the right server (--url), and is the token for it (--token)?`;
    return `the server rejects the token: ${reasonOf(answer)}; ${question}`;
  }

  async #send(method: string, path: string, body: string | undefined): Promise<Answer> {
    const token = await this.#options.tokens.token();
    return this.#exchange.send(method, path, `Bearer ${token}`, body);
  }
}

/** `isLimited`: the server takes no more requests now. */
interface Failure {
  readonly failure: string;
  readonly isLimited: boolean;
  readonly pauseMs: number | null;
}

type Attempt = { readonly answer: Answer } | Failure;

/** What failed is not sent again sooner than after the usual pause, whatever is demanded: a proxy may answer `Retry-After: 0`. */
const pauseOf = ({ isLimited, pauseMs }: Failure, usual: number) =>
  isLimited ? (pauseMs ?? usual) : Math.max(pauseMs ?? 0, usual);

/** Not-found codes are 401 too; only what is wrong with the token has a challenge. */
const isTokenFailure = ({ status, headers }: Answer) =>
  status === 401 && headers['www-authenticate'] !== undefined;

const TOO_LARGE = 413;
const TOO_LARGE_FOR_PROXY = {
  error: 'invalid_request',
  message: 'a proxy before the server accepts no body of this size',
};

function readAnswer(answer: Answer): ApiAnswer {
  const { status, headers } = answer;
  const json = jsonOf(answer);
  if (json !== undefined) return { status, headers, json };
  // A proxy may have a lower limit than the server, and answers in its own words.
  if (status === TOO_LARGE) return { status, headers, json: TOO_LARGE_FOR_PROXY };
  throw new ApiError(`the server answers ${status} without JSON: is there a Rollcall server at this URL?`);
}

/** Undefined where it is none: a proxy's page, for example. */
function jsonOf({ body }: Answer): unknown {
  try {
    return parseJson(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** The error code and message of an answer, as far as it has them. */
export function errorOf(json: unknown): { readonly error: string; readonly message: string } {
  const { error, message } = (json ?? {}) as { error?: unknown; message?: unknown };
  return {
    error: typeof error === 'string' ? error : 'error',
    message: typeof message === 'string' ? message : 'no message',
  };
}

/** @throws ApiError unless the answer is 200 */
export function expectOk(answer: ApiAnswer): ApiAnswer {
  if (answer.status === 200) return answer;
  const { error, message } = errorOf(answer.json);
  throw new ApiError(`the server answers ${answer.status} ${error}: ${message}`);
}

function reasonOf(answer: Answer): string {
  const { error, message } = errorOf(jsonOf(answer));
  return `${error}: ${message}`;
}

/** The pause that `Retry-After` demands, in milliseconds; null where there is none. */
function demandedPauseMs({ status, headers }: Answer): number | null {
  const header = headers['retry-after'];
  const ms = header === undefined ? null : retryAfterMs(header, Date.now());
  const least = status === TOO_MANY_REQUESTS ? LIMITED_PAUSE_MIN_MS : 0;
  return ms === null ? null : Math.min(Math.max(ms, least), PAUSE_MAX_MS);
}
