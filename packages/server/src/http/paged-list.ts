import type { PageTokens } from '../core/page-token.ts';
import { type Chunk, chunks } from '../core/paging.ts';
import type { Page, PageRequest, TotalPage } from '../values/page.ts';
import { listHead, listTail } from '../wire/json-answer.ts';
import type { Exchange } from './exchange.ts';
import type { Pieces } from './reply.ts';

/** The text around the entries of a list. */
interface Frame<P extends Page> {
  readonly head: string;
  tail(last: P): string;
}

/**
 * The body of a list. One chunk is a text; a longer list is written in pieces, and reading stops when the client disconnects.
 * The first chunk is read here, so that a failure has a status.
 */
export async function listBody<P extends Page>(
  source: AsyncGenerator<Chunk<P>, void, void>,
  frame: Frame<P>,
): Promise<string | Pieces> {
  const first = await source.next();
  if (first.done === true) throw new Error('a list yields at least one chunk');
  const { page, final } = first.value;
  if (final) {
    await source.return();
    return frame.head + page.items + frame.tail(page);
  }
  return { pieces: pieces(first.value, source, frame), release: () => source.return() };
}

async function* pieces<P extends Page>(
  first: Chunk<P>,
  rest: AsyncGenerator<Chunk<P>, void, void>,
  frame: Frame<P>,
): AsyncGenerator<string, void, void> {
  yield frame.head + first.page.items;
  let separator = first.page.items === '' ? '' : ',';
  for await (const { page, final } of rest) {
    if (page.items !== '') {
      yield separator + page.items;
      separator = ',';
    }
    if (final) yield frame.tail(page);
  }
}

type MaybeTotalPage = Page & Partial<Pick<TotalPage, 'total'>>;

/**
 * The body of a list with the token of its next page, and its total where it has one; `read` reads a chunk of the requested page,
 * which ends with the entry that makes it larger than `maxBytes`.
 */
export function pagedBody(
  field: string,
  { page, list }: Exchange,
  tokens: PageTokens,
  read: (request: PageRequest, maxBytes: number) => Promise<MaybeTotalPage>,
  maxBytes?: number,
): Promise<string | Pieces> {
  const tail = ({ last, total }: MaybeTotalPage) => listTail(tokens.next(list, last), total);
  return listBody(chunks(read, page, maxBytes), { head: listHead(field), tail });
}
