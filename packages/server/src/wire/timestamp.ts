const DAY_MS = 86_400_000;
/** So many dates are cached: some 27 years. */
const DATES_MAX = 10_000;

const padded = (count: number, digits: number): readonly string[] =>
  Array.from({ length: count }, (_, number) => String(number).padStart(digits, '0'));
const TWO_DIGITS = padded(60, 2);
const THREE_DIGITS = padded(1_000, 3);

const dates = new Map<number, string>();

/** The date of a day since 1970, with the `T` after it. */
function dateOf(day: number): string {
  let date = dates.get(day);
  if (date === undefined) {
    date = new Date(day * DAY_MS).toISOString().slice(0, -'00:00:00.000Z'.length);
    if (dates.size === DATES_MAX) dates.clear();
    dates.set(day, date);
  }
  return date;
}

/**
 * Milliseconds since 1970 as the ISO 8601 text that answers have. `Date.toISOString` gives the same, and took more than half of
 * the time of a user's text. @throws RangeError for a time that no `Date` can be
 */
export function timestamp(milliseconds: number): string {
  const day = Math.floor(milliseconds / DAY_MS);
  const ofDay = milliseconds - day * DAY_MS;
  const seconds = Math.floor(ofDay / 1_000);
  const minutes = Math.floor(seconds / 60);
  const time = `${TWO_DIGITS[Math.floor(minutes / 60)]}:${TWO_DIGITS[minutes % 60]}:${TWO_DIGITS[seconds % 60]}`;
  return `${dateOf(day)}${time}.${THREE_DIGITS[Math.floor(ofDay % 1_000)]}Z`;
}
