import { ServiceError } from '../core/service-error.ts';
import type { Exchange } from './exchange.ts';

const WINDOW_MS = 1_000;
/** Headers have whole seconds: what is left of a window is always one. */
const SECONDS_LEFT = '1';
/** The windows that have ended are deleted once there are so many: one for each caller. */
const WINDOWS_MAX = 5_000;

interface Window {
  readonly endsAt: number;
  requests: number;
}

/** More requests came than the operator allows. */
export class RateLimitError extends ServiceError {}

/** What of a caller is counted. Browsers are counted apart from the host, so that they cannot use up its requests. */
export const rateLimitKey = (token: string, projectId: string): string => `${token} ${projectId}`;

/** At most so many requests and frames of a caller in a window of a second, counted by this process. */
export class RateLimit {
  readonly #max: number;
  readonly #windows = new Map<string, Window>();

  constructor(requestsPerSecond: number) {
    this.#max = requestsPerSecond;
  }

  /** Counts a request and sets the `RateLimit` headers of its answer. @throws RateLimitError 429 `invalid_request` */
  count(exchange: Exchange, caller: string): void {
    const window = this.#counted(caller);
    exchange.setHeader('ratelimit-limit', String(this.#max));
    exchange.setHeader('ratelimit-remaining', String(Math.max(0, this.#max - window.requests)));
    exchange.setHeader('ratelimit-reset', SECONDS_LEFT);
    this.#check(window);
  }

  /** Counts a frame of a socket, whose answer has no headers. @throws RateLimitError 429 `invalid_request` */
  countFrame(caller: string): void {
    this.#check(this.#counted(caller));
  }

  #check(window: Window): void {
    if (window.requests <= this.#max) return;
    throw new RateLimitError(
      'invalid_request',
      `more than ${this.#max} requests in a second; try again in ${SECONDS_LEFT} second`,
      { status: 429, headers: { 'Retry-After': SECONDS_LEFT } },
    );
  }

  /** The caller's window, in which one more is counted. */
  #counted(caller: string): Window {
    const now = performance.now();
    let window = this.#windows.get(caller);
    if (window === undefined || window.endsAt <= now) {
      if (this.#windows.size >= WINDOWS_MAX) {
        for (const [id, { endsAt }] of this.#windows) if (endsAt <= now) this.#windows.delete(id);
      }
      window = { endsAt: now + WINDOW_MS, requests: 0 };
      this.#windows.set(caller, window);
    }
    window.requests += 1;
    return window;
  }
}
