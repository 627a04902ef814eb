import type { Page } from '../store.ts';
import type { Row } from './sqlite-connection.ts';

/**
 * A parameter in `LIMIT` or `OFFSET`. SQLite plans anew for each value of a bare one, which doubles a small read's cost.
 */
export const UNPEEKED = '? + 0';

/**
 * A page from a row of (entries joined with commas, how many). Where it ends is asked only of a full page that may have
 * a next one: `boundary` gives the IDs from place `limit - 1` after the start, the last of this page and the next.
 */
export function toPage(row: Row, limit: number, boundary: (offset: number) => Row[]): Page {
  const [items, count] = row as [string | null, number];
  const [last, next] = count < limit ? [] : boundary(limit - 1);
  return {
    items: items ?? '',
    count,
    last: last === undefined || next === undefined ? null : (last[0] as string),
  };
}

/** What is between the brackets of a JSON array. */
export const inside = (array: string): string => array.slice(1, -1);
