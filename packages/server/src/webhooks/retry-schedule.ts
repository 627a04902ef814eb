import { retryAfterMs } from '../values/retry-after.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** How long after the first, second, … failure a delivery is repeated, in milliseconds; the last one from then on. */
const DELAYS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR];
/** The part of a delay by which it may be longer, so that deliveries that failed together do not come back together. */
const JITTER = 0.1;
const RETRY_AFTER_MIN = SECOND;
const RETRY_AFTER_MAX = HOUR;
/** After failures for so long a webhook rests. */
const FAILING_AFTER = 3 * 24 * HOUR;

/** When a delivery is repeated that has failed `failures` times. `retryAfter`: the header of the answer. */
export function repeatAt(now: number, failures: number, retryAfter: string | null): number {
  const requested = retryAfter === null ? null : requestedDelay(retryAfter, now);
  const delay = requested ?? (DELAYS[Math.min(failures, DELAYS.length) - 1] as number);
  return Math.ceil(now + delay * (1 + Math.random() * JITTER));
}

export const hasFailedLongEnough = (now: number, since: number): boolean => now - since >= FAILING_AFTER;

function requestedDelay(retryAfter: string, now: number): number | null {
  const delay = retryAfterMs(retryAfter, now);
  return delay === null ? null : Math.min(Math.max(delay, RETRY_AFTER_MIN), RETRY_AFTER_MAX);
}
