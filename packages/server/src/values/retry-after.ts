/** A date of HTTP begins with a day of the week and has a time. `Date.parse` alone takes `-5` and `soon 1` for dates too. */
const HTTP_DATE = /^(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,? .*\d\d:\d\d:\d\d/;

/** `Retry-After`, a number of seconds or a date (RFC 9110, 10.2.3), in milliseconds from `now` on; null where it is neither. */
export function retryAfterMs(header: string, now: number): number | null {
  const text = header.trim();
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : dateOf(text) - now;
  return Number.isNaN(ms) ? null : ms;
}

/** The oldest form names no time zone, and is in UTC. */
const dateOf = (text: string): number =>
  HTTP_DATE.test(text) ? Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) : Number.NaN;
