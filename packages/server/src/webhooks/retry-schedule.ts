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

/** A date of HTTP begins with a day of the week and has a time. `Date.parse` alone takes `-5` and `soon 1` for dates too. */
const HTTP_DATE = /^(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,? .*\d\d:\d\d:\d\d/;

/** `Retry-After` is a number of seconds or a date. Null where it is neither. */
function requestedDelay(retryAfter: string, now: number): number | null {
  const text = retryAfter.trim();
  const delay = /^\d+$/.test(text) ? Number(text) * SECOND : dateOf(text) - now;
  return Number.isNaN(delay) ? null : Math.min(Math.max(delay, RETRY_AFTER_MIN), RETRY_AFTER_MAX);
}

/** The oldest form names no time zone, and is in UTC. */
const dateOf = (text: string): number =>
  HTTP_DATE.test(text) ? Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) : Number.NaN;
