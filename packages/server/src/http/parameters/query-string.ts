/** The text of a query, decoded: a parameter that is repeated has all of its values. */
export type RawQuery = Readonly<Record<string, string | string[]>>;

/** A query with an escape that does not decode, in this parameter. */
export class MalformedQuery {
  readonly parameter: string;
  constructor(parameter: string) {
    this.parameter = parameter;
  }
}

/** What a path or a query with other escapes is expected to have. */
export const ESCAPES_EXPECTED = 'escapes of UTF-8, such as %C3%A9';

/** The query of most requests. */
export const NO_QUERY: RawQuery = Object.freeze(Object.create(null) as RawQuery);

/**
 * Decodes a query as browsers and `URLSearchParams` encode it (`+` is a space). Escapes that do not decode make it
 * malformed, where other parsers hand on the raw text as if it had been meant.
 */
export function parseQueryString(text: string): RawQuery | MalformedQuery {
  if (text === '') return NO_QUERY;
  const query: Record<string, string | string[]> = Object.create(null);
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const rawName = equals === -1 ? pair : pair.slice(0, equals);
    const name = decodedOfQuery(rawName);
    const value = equals === -1 ? '' : decodedOfQuery(pair.slice(equals + 1));
    if (name === null || value === null) return new MalformedQuery(name ?? rawName);
    const before = query[name];
    if (before === undefined) query[name] = value;
    else if (typeof before === 'string') query[name] = [before, value];
    else before.push(value);
  }
  return query;
}

/** The text of a part of a path without its escapes; null where one does not decode. */
export function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** The same of a query, where `+` is a space. */
const decodedOfQuery = (text: string) => decoded(text.replaceAll('+', ' '));
