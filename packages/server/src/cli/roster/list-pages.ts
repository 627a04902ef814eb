import type { Static, TokenPagination } from '@rollcall/protocol';
import { type ApiAnswer, type ApiConnection, errorOf, expectOk } from './api-connection.ts';

/** How many entries a page has at most; one of threads or messages also ends at 4 MiB. */
const PAGE = 1_000;

/** The pages of a list, in order. They end where the answer is the error `absent`: what has the list is not there any more. */
export async function* listPages(
  connection: ApiConnection,
  path: string,
  absent?: string,
): AsyncGenerator<unknown, void, void> {
  for (let query: string | null = ''; query !== null; ) {
    const answer = await connection.request('GET', `${path}?limit=${PAGE}${query}`);
    if (absent !== undefined && errorOf(answer.json).error === absent) return;
    yield expectOk(answer).json;
    const token = nextToken(answer);
    query = token === null ? null : `&token=${encodeURIComponent(token)}`;
  }
}

/** A list of groups is an array, and a `Link` header (RFC 8288) names the next page. */
function nextToken({ json, headers }: ApiAnswer): string | null {
  if (!Array.isArray(json)) return (json as { pagination: Static<typeof TokenPagination> }).pagination.token;
  const [, target] = /<([^>]*)>\s*;\s*rel="?next"?/.exec(String(headers.link ?? '')) ?? [];
  return target === undefined ? null : new URL(target, 'http://server').searchParams.get('token');
}
