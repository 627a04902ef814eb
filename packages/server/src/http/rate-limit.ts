import { ServiceError } from '../core/service-error.ts';
import type { Exchange } from './exchange.ts';

const WINDOW_MS = 1_000;
/** Headers have whole seconds: what is left of a window is always one. */
const SECONDS_LEFT = '1';

/** More requests came than the operator allows. */
export class RateLimitError extends ServiceError {}

/** What of a caller is counted. Browsers are counted apart from the host, so that they cannot use up its requests. */
export const rateLimitKey = (token: string, projectId: string): string => `${token} ${projectId}`;

/** At most so many requests and frames of each caller in a window of a second, counted by this process. */
export class RateLimit {
  readonly #max: number;
  /** The requests of each caller in the window that is open. */
  readonly #counts = new Map<string, number>();
  #windowEndsAt = 0;

  constructor(requestsPerSecond: number) {
    this.#max = requestsPerSecond;
  }

  /** Counts a request and sets the `RateLimit` headers of its answer. @throws RateLimitError 429 `invalid_request` */
  count(exchange: Exchange, caller: string): void {
    const count = this.#counted(caller);
    exchange.setHeader('ratelimit-limit', String(this.#max));
    exchange.setHeader('ratelimit-remaining', String(Math.max(0, this.#max - count)));
    exchange.setHeader('ratelimit-reset', SECONDS_LEFT);
    this.#check(count);
  }

  /** Counts a frame of a socket, whose answer has no headers. @throws RateLimitError 429 `invalid_request` */
  countFrame(caller: string): void {
    this.#check(this.#counted(caller));
  }

  #check(count: number): void {
    if (count <= this.#max) return;
    throw new RateLimitError(
      'invalid_request',
      `more than ${this.#max} requests in a second; try again in ${SECONDS_LEFT} second`,
      { status: 429, headers: { 'Retry-After': SECONDS_LEFT } },
    );
  }

  /** How many there are of the caller in the window, with this one. */
  #counted(caller: string): number {
    const now = performance.now();
    if (now >= this.#windowEndsAt) {
      this.#counts.clear();
      this.#windowEndsAt = now + WINDOW_MS;
    }
    const count = (this.#counts.get(caller) ?? 0) + 1;
    this.#counts.set(caller, count);
    return count;
  }
}
