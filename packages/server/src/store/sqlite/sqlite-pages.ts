import type { Page } from '../store.ts';
import type { Row } from './sqlite-connection.ts';

/**
 * A page from a row of (entries joined with commas, how many, the last ID). Only a full page asks whether more follows.
 */
export function toPage(row: Row, limit: number, hasMore: (last: string) => boolean): Page {
  const [items, count, last] = row as [string | null, number, string | null];
  return {
    items: items ?? '',
    count,
    last: count === limit && last !== null && hasMore(last) ? last : null,
  };
}

/** What is between the brackets of a JSON array. */
export const inside = (array: string): string => array.slice(1, -1);
