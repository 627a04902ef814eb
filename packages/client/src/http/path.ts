import { RollcallError } from '../rollcall-error.ts';

/**
 * Writes IDs into a path: `` path`/v1/users/${id}` ``.
 * @throws RollcallError `invalid_field` for an ID that no URL can carry. `.` and `..` are IDs, but every `fetch` takes
 * them for steps in the path and would ask for something else; the batch and `POST` carry them in the body.
 */
export function path(parts: TemplateStringsArray, ...ids: readonly string[]): string {
  return String.raw({ raw: parts }, ...ids.map(segment));
}

function segment(id: string): string {
  if (typeof id !== 'string' || id === '' || id === '.' || id === '..') throw unfit(id);
  try {
    return encodeURIComponent(id);
  } catch {
    throw unfit(id);
  }
}

const unfit = (id: unknown) =>
  new RollcallError('invalid_field', `${JSON.stringify(id)} is not an ID that a URL can carry`);

/** Values of a query string; what is undefined is left out, and objects go as JSON. */
export type Query = Readonly<Record<string, string | number | boolean | object | undefined>>;

/** `?a=1&b=2`, or nothing. */
export function queryString(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined)
      parameters.set(name, typeof value === 'object' ? JSON.stringify(value) : String(value));
  }
  const text = String(parameters);
  return text === '' ? '' : `?${text}`;
}
