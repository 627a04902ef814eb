import type { Readable } from 'node:stream';
import { limits } from '@rollcall/protocol';
import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { ListName, PageTokens } from '../core/page-token.ts';
import type { Chunk } from '../core/paging.ts';
import type { Page, TotalPage } from '../store/store.ts';
import { bodyStream } from './body-stream.ts';
import type { RequestRule } from './fastify-types.ts';
import { presentPagination } from './present.ts';
import { type PageQuery, TOKEN_EXPECTED } from './schemas.ts';

/** Names the list that a request is about within its project; null when the request is too wrong to say. */
export type NameList = (request: FastifyRequest) => ListName | null;

/** The list a token is bound to: names of lists are per project. */
export const listOf = (request: FastifyRequest, name: ListName): ListName => [
  request.caller.project,
  ...name,
];

/** Reads `limit` and `token` of the query into `request.page`. */
export function pageRule(
  tokens: PageTokens,
  name: NameList,
  defaultLimit: number = limits.PAGE_DEFAULT_LIMIT,
): RequestRule {
  return (request, findings) => {
    const { limit = defaultLimit, token } = request.query as PageQuery;
    const list = name(request);
    let after: string | null = null;
    if (typeof token === 'string' && list !== null) {
      after = tokens.read(listOf(request, list), token);
      if (after === null) findings.invalid.add('query parameter token', TOKEN_EXPECTED);
    }
    request.page = { after, limit };
  };
}

/** What is written around the entries of a list. */
export interface Frame<P extends Page> {
  readonly head: string;
  tail(last: P): string;
}

/**
 * The body of a list. One chunk is a text; a longer list is a stream that reads the next chunk when the socket has
 * taken the last one, and stops when the reader is gone. The first chunk is read here, so that a failure has a status.
 */
export async function listBody<P extends Page>(
  source: AsyncGenerator<Chunk<P>, void, void>,
  frame: Frame<P>,
  request: FastifyRequest,
  log: Logger,
): Promise<string | Readable> {
  const first = await source.next();
  if (first.done === true) throw new Error('a list yields at least one chunk');
  const { page, final } = first.value;
  if (final) {
    await source.return();
    return frame.head + page.items + frame.tail(page);
  }
  const stream = bodyStream(pieces(first.value, source, frame), request, log);
  // A reader may leave before the next piece is asked for: what the store retains for the list is released then too.
  return stream.once('close', () => void source.return());
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

/** The tail of a list that says how much there is in all, and where to go on. */
export function totalTail(tokens: PageTokens, request: FastifyRequest, name: ListName) {
  return ({ last, total }: TotalPage): string => {
    const token = last === null ? null : tokens.issue(listOf(request, name), last);
    return `],"pagination":${presentPagination(token, total)}}`;
  };
}
