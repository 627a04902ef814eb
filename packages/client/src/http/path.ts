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
  if (typeof id !== 'string' || id === '' || id === '.' || id === '..') throw notInUrl(id);
  try {
    return encodeURIComponent(id);
  } catch {
    throw notInUrl(id);
  }
}

const notInUrl = (id: unknown) =>
  new RollcallError('invalid_field', `${JSON.stringify(id)} is not an ID that can stand in a URL`);

/** Values of a query string: `undefined` is left out, objects are sent as JSON. */
export type Query = Readonly<Record<string, string | number | boolean | object | undefined>>;

/** `?a=1&b=2`, or the empty string. */
export function queryString(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined)
      parameters.set(name, typeof value === 'object' ? JSON.stringify(value) : String(value));
  }
  const text = String(parameters);
  return text === '' ? '' : `?${text}`;
}
