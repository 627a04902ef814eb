/** How JSON and lists are put into, and made by, SQL. */

import type { Column } from '../transfer-records.ts';

const SPECIAL = /["\\]/;

/** A `text[]`, as PostgreSQL writes it. */
export function textArray(values: Iterable<string | null>): string {
  let literal = '';
  for (const value of values) {
    if (literal !== '') literal += ',';
    if (value === null) literal += 'NULL';
    else literal += SPECIAL.test(value) ? `"${value.replaceAll(/["\\]/g, '\\$&')}"` : `"${value}"`;
  }
  return `{${literal}}`;
}

/** An array of numbers, which may be in texts, or of booleans. */
export const plainArray = (values: readonly (string | number | boolean | null)[]): string =>
  `{${values.map(String).join(',')}}`;

export const bytesArray = (values: readonly Buffer[]): string =>
  `{${values.map((bytes) => `"\\\\x${bytes.toString('hex')}"`).join(',')}}`;

/** An SQL expression: the text of `column` as JSON, `null` where it is not set. */
export const jsonText = (column: string) => `coalesce(to_json(${column})::text, 'null')`;

/** An SQL expression: milliseconds in `column` as ISO 8601 text in JSON. */
export const jsonTime = (column: string) =>
  `'"' || to_char(timestamp 'epoch' + ${column} * interval '1 millisecond', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"'`;

/** The columns of rows, as an array literal each. */
export function arraysOf(rows: readonly (readonly Column[])[]): string[] {
  return (rows[0] ?? []).map((first, index) => {
    const column = rows.map((row) => row[index] as Column);
    if (first instanceof Uint8Array) return bytesArray(column as Buffer[]);
    return textArray(column.map((value) => (value === null ? null : String(value))));
  });
}
