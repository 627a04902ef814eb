import { RollcallError } from '../rollcall-error.ts';

/**
 * Encodes IDs into a path: `` path`/v1/users/${id}` ``.
 * @throws RollcallError `invalid_field` for an ID that a URL cannot contain. `.` and `..` are legal IDs, but `fetch`
 * removes them as dot segments and would request another path; the batch and `POST` take them in the body.
 */
export function path(parts: TemplateStringsArray, ...ids: readonly string[]): string {
  return String.raw({ raw: parts }, ...ids.map(segment));
}

function segment(id: string): string {
  try {
    if (typeof id === 'string' && !/^\.{0,2}$/.test(id)) return encodeURIComponent(id);
  } catch {
    // A lone surrogate: the error is the same.
  }
  throw new RollcallError('invalid_field', `the ID ${JSON.stringify(id)} cannot stand in a URL`);
}

/** Values of a query string: `undefined` is left out, objects are sent as JSON. */
export type Query = Readonly<Record<string, string | number | boolean | object | undefined>>;

/** The entries whose value is not `undefined`. */
export const present = <Value>(record: Readonly<Record<string, Value | undefined>>): [string, Value][] =>
  Object.entries(record).filter((entry): entry is [string, Value] => entry[1] !== undefined);

/** `?a=1&b=2`, or the empty string. */
export function queryString(query: Query): string {
  const texts = present(query).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  return texts.length > 0 ? `?${new URLSearchParams(texts)}` : '';
}
