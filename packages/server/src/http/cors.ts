import type { Exchange } from './exchange.ts';

/** The headers of an answer that a page may read. */
const EXPOSED = [
  'x-request-id',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Retry-After',
  'WWW-Authenticate',
].join(', ');

/** What a preflight request is answered. */
export const PREFLIGHT = {
  'access-control-allow-methods': 'GET, HEAD, PUT',
  'access-control-allow-headers':
    'Authorization, Content-Type, Last-Event-ID, X-Request-Id, If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since',
  // The longest that any browser stores a preflight, in seconds.
  'access-control-max-age': '7200',
};

/**
 * Lets pages of these origins (comma-separated, or `*`) call the operations that client tokens open, and no others: a
 * project's token does not belong in a browser.
 */
export class Cors {
  readonly #allowed: ReadonlySet<string>;
  readonly #any: boolean;

  constructor(origins: string | null) {
    this.#allowed = new Set(origins?.split(','));
    this.#any = this.#allowed.has('*');
  }

  /** Sets the headers that let a page of another origin read the answer; true where it may. */
  allow(exchange: Exchange): boolean {
    if (this.#allowed.size === 0 || !isForClients(exchange)) return false;
    exchange.setHeader('vary', 'Origin');
    const { origin = '' } = exchange.headers;
    if (!this.#any && !this.#allowed.has(origin)) return false;
    exchange.setHeader('access-control-allow-origin', this.#any ? '*' : origin);
    exchange.setHeader('access-control-expose-headers', EXPOSED);
    return true;
  }
}

/** By the operation's path, or where no operation matches by the request's. */
const isForClients = ({ route, request }: Exchange) => {
  const path = route?.path ?? (request.url as string);
  return path.startsWith('/v1/client/') && !OF_USER_CLIENT.test(path);
};

/** The preferences of a user whose ID is `client`, which hosts write. */
const OF_USER_CLIENT = /^\/v1\/client\/preferences(?:\?|$)/;

export const isPreflight = ({ request: { method, headers } }: Exchange) =>
  method === 'OPTIONS' &&
  headers.origin !== undefined &&
  headers['access-control-request-method'] !== undefined;
