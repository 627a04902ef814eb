import { setTimeout as passed } from 'node:timers/promises';
import { parseJson } from '@rollcall/protocol';
import { type Answer, ConnectionError, HttpExchange } from './http-exchange.ts';
import type { TokenSource } from './token-source.ts';

/** An answer that the caller can act upon: neither a passing failure nor a refused token. */
export interface ApiAnswer {
  readonly status: number;
  readonly headers: Answer['headers'];
  /** The body, read as JSON. */
  readonly json: unknown;
}

/** The server cannot be used for what was asked. The message is one line for the operator. */
export class ApiError extends Error {}

export interface ApiConnectionOptions {
  readonly url: URL;
  readonly tokens: TokenSource;
  /** Told, in one line, of each failure after which the request is sent again. */
  readonly onRetry: (note: string) => void;
  /** Resolves after so many milliseconds. Default: the machine's timer. */
  readonly wait?: (ms: number) => Promise<unknown>;
}

/** Pauses before a request is sent again, in milliseconds; when they are used up, the failure is final. */
const PAUSES_MS = [500, 1_000, 2_000, 4_000];
/** The longest pause that a server can ask for with Retry-After. */
const PAUSE_MAX_MS = 60_000;
const PASSING_STATUSES = new Set([429, 500, 502, 503, 504]);

/**
 * A project's view of a running server. Requests that fail in passing (no connection, 429, 5xx) are sent again, so
 * only what may be applied twice goes through here.
 */
export class ApiConnection {
  readonly #exchange: HttpExchange;
  readonly #options: ApiConnectionOptions;

  constructor(options: ApiConnectionOptions) {
    this.#options = options;
    this.#exchange = new HttpExchange(options.url);
  }

  /** @throws ApiError when the server stays away, or refuses the token */
  async request(method: string, path: string, body?: string): Promise<ApiAnswer> {
    for (let attempt = 0; ; attempt += 1) {
      const outcome = await this.#attempt(method, path, body);
      if ('answer' in outcome) return readAnswer(outcome.answer);
      const pause = outcome.pauseMs ?? PAUSES_MS[attempt];
      if (attempt >= PAUSES_MS.length || pause === undefined) throw new ApiError(outcome.failure);
      this.#options.onRetry(`${outcome.failure}; trying again in ${pause / 1_000} s`);
      await (this.#options.wait ?? passed)(pause);
    }
  }

  close(): void {
    this.#exchange.close();
  }

  /** One exchange, or two where a fresh token helps: an answer, or the passing failure and the pause asked for. */
  async #attempt(method: string, path: string, body: string | undefined): Promise<Attempt> {
    try {
      let answer = await this.#send(method, path, body);
      if (isTokenFailure(answer) && this.#options.tokens.renew())
        answer = await this.#send(method, path, body);
      if (isTokenFailure(answer)) throw new ApiError(`the server refuses the token: ${reasonOf(answer)}`);
      if (!PASSING_STATUSES.has(answer.status)) return { answer };
      return {
        failure: `the server answers ${answer.status} ${reasonOf(answer)}`,
        pauseMs: retryAfterMs(answer),
      };
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      return { failure: `no answer from ${this.#options.url.origin} (${error.message})`, pauseMs: null };
    }
  }

  async #send(method: string, path: string, body: string | undefined): Promise<Answer> {
    const authorization = `Bearer ${await this.#options.tokens.token()}`;
    if (body === undefined) return this.#exchange.send({ method, path, headers: { authorization } });
    const headers = { authorization, 'content-type': 'application/json' };
    return this.#exchange.send({ method, path, headers, body });
  }
}

type Attempt = { readonly answer: Answer } | { readonly failure: string; readonly pauseMs: number | null };

/** Not-found codes are 401 too; only what is wrong with the token has a challenge. */
const isTokenFailure = ({ status, headers }: Answer) =>
  status === 401 && headers['www-authenticate'] !== undefined;

function readAnswer({ status, headers, body }: Answer): ApiAnswer {
  try {
    return { status, headers, json: parseJson(body.toString('utf8')) };
  } catch {
    throw new ApiError(`the server answers ${status} without JSON: is there a Rollcall server at this URL?`);
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

function reasonOf({ body }: Answer): string {
  let json: unknown = null;
  try {
    json = JSON.parse(body.toString('utf8'));
  } catch {
    // Not the server's own answer: a proxy's page.
  }
  const { error, message } = errorOf(json);
  return `${error}: ${message}`;
}

/** The pause that the server asks for, in seconds or as a date (RFC 9110, 10.2.3); null where it asks for none. */
function retryAfterMs({ headers }: Answer): number | null {
  const header = headers['retry-after'];
  if (header === undefined) return null;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), PAUSE_MAX_MS);
}
