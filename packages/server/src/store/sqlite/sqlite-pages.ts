import { compareCodePoints } from '@rollcall/protocol';
import type { ListedById, Page, PageRequest } from '../../values/page.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { SqliteReader } from './sqlite-reader.ts';

/** A list that is read in pages: the rows of one owner, in order of ID. */
export interface PagedList {
  /** An SQL expression: the JSON text of an entry. */
  readonly entry: string;
  /** The table of the rows, or several joined ones. */
  readonly from: string;
  /** The table that has the owner and the ID of every row; default: `from`. */
  readonly index?: string;
  readonly owner: string;
  readonly id: string;
}

/** A parameter in `LIMIT` or `OFFSET`. SQLite plans anew for each value of a bare one, which doubles a small read's cost. */
export const UNPEEKED = '? + 0';

/** Prepares the reads of a list. The result reads the page of an owner. */
export function pagedList(
  prepare: SqliteReader['prepare'],
  { entry, from, index = from, owner, id }: PagedList,
) {
  const afterId = `WHERE ${owner} = ? AND ${id} > ? ORDER BY ${id}`;
  const entries = prepare<[items: string | null, count: number]>(
    `SELECT group_concat(${entry}, ','), count(*) FROM (SELECT * FROM ${from} ${afterId} LIMIT ${UNPEEKED})`,
  );
  const boundary = prepare<[id: string]>(`SELECT ${id} FROM ${index} ${afterId} LIMIT 2 OFFSET ${UNPEEKED}`);

  return (ownerKey: ProjectKey, { after, limit }: PageRequest): Page => {
    const start = after ?? '';
    const [items, count] = entries.get(ownerKey, start, limit) ?? [null, 0];
    // Only a full page may have a next one: then the last ID of this page and the first of the next are read.
    const [last, next] = count < limit ? [] : boundary.all(ownerKey, start, limit - 1);
    return { items: items ?? '', count, last: last === undefined || next === undefined ? null : last[0] };
  };
}

/** Prepares the reads of a list by ID. The result reads the entries of an owner that have these IDs. */
export function listedById(prepare: SqliteReader['prepare'], { entry, from, owner, id }: PagedList) {
  const find = prepare<[entry: string]>(`SELECT ${entry} FROM ${from} WHERE ${owner} = ? AND ${id} = ?`);
  return (ownerKey: ProjectKey, ids: readonly string[]): ListedById => {
    const inOrder = [...new Set(ids)].sort(compareCodePoints);
    const entries = inOrder.flatMap((each) => find.get(ownerKey, each) ?? []);
    return { items: entries.join(','), count: entries.length };
  };
}
