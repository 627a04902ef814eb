import { limits } from '@rollcall/protocol';
import type { Page, TotalPage } from '../../values/page.ts';
import type { Row } from './connections/postgres-connection.ts';
import { rowOf } from './postgres-lists.ts';

interface PageQuery {
  /** Selects `id` and what `entry` needs, from the start of the page on; no order and no limit. */
  readonly rows: string;
  /** An expression of the row `page`: its entry as JSON. */
  readonly entry: string;
  /** The parameter with the limit. */
  readonly limit: string;
  /** An expression: how long the whole list is, or NULL when there is no such list. */
  readonly total: string;
}

/**
 * One statement that reads a page as JSON text: (total, entries joined with commas, how many, the last ID, whether more
 * follow). Entries are made for those on the page alone, after it was cut.
 */
export const pageSql = ({ rows, entry, limit, total }: PageQuery) => `
  WITH found AS (${rows} ORDER BY id LIMIT ${limit}::bigint + 1)
  SELECT ${total}, string_agg(entries.entry, ',' ORDER BY entries.id), count(*), max(entries.id),
    (SELECT count(*) FROM found) > ${limit}::bigint
  FROM (SELECT page.id, ${entry} AS entry
    FROM (SELECT * FROM found ORDER BY id LIMIT ${limit}::bigint) page) entries`;

/** The page of a row of {@link pageSql}; null when there is no such list. */
export function toPage(row: Row): TotalPage | null {
  const [total] = row;
  return total === null ? null : { ...toEndlessPage(row), total: total as number };
}

/** The same of a list without a total. */
export function toEndlessPage([, items, count, last, more]: Row): Page {
  return {
    items: (items as string | null) ?? '',
    count: count as number,
    last: more === true ? (last as string) : null,
  };
}

/** One statement that reads the entries with the IDs of the array $2: (NULL, entries joined with commas, how many). */
export const byIdsSql = (table: 'users' | 'groups', entry: string) =>
  pageSql({
    rows: `SELECT found.* FROM (SELECT DISTINCT id FROM unnest($2::text[]) AS t(id)) AS named
      ${rowOf(table, 'found', 'r.*', 'r.id = named.id')}`,
    entry,
    limit: `${limits.LISTED_IDS_MAX}`,
    total: 'NULL',
  });
