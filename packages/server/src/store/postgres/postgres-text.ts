/** How JSON and lists are put into, and made by, SQL. */

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

/** An array of numbers or of booleans. */
export const plainArray = (values: readonly (number | boolean | null)[]): string =>
  `{${values.map(String).join(',')}}`;

/** A `bytea[]`. */
export const bytesArray = (values: readonly Buffer[]): string =>
  `{${values.map((bytes) => `"\\\\x${bytes.toString('hex')}"`).join(',')}}`;

/** An SQL expression: the text of `column` as JSON, `null` where it is not set. */
export const jsonText = (column: string) => `coalesce(to_json(${column})::text, 'null')`;

/** An SQL expression: milliseconds in `column` as ISO 8601 text in JSON. */
export const jsonTime = (column: string) =>
  `'"' || to_char(timestamp 'epoch' + ${column} * interval '1 millisecond', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"'`;
