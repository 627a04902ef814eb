import type { Json } from './json.ts';

export interface PageRequest {
  /** The ID after which the page starts; null for the first page. */
  readonly after: string | null;
  /** 1 to 10,000. A driver may return fewer entries; more may follow unless `last` is null. */
  readonly limit: number;
}

export interface Page {
  /** The entries as JSON objects joined with commas: what goes between `[` and `]`. */
  readonly items: Json;
  readonly count: number;
  /** The ID from which the next page starts, or null when nothing follows. */
  readonly last: string | null;
}

/** The entries of a list that have the requested IDs. */
export type ListedById = Pick<Page, 'items' | 'count'>;

export interface TotalPage extends Page {
  readonly total: number;
}
