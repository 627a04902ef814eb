import type { Route } from './route.ts';
import type { RoutedExchange } from './routed-exchange.ts';
import { METHODS, type Router } from './router.ts';

/** The headers of an answer that a page may read. */
const EXPOSED = [
  'x-request-id',
  'ETag',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Retry-After',
  'WWW-Authenticate',
].join(', ');

/** The headers that a page may send besides those of every page. A browser sends nothing of a request with another one. */
const ALLOWED = [
  'Authorization',
  'Content-Type',
  'Last-Event-ID',
  'X-Request-Id',
  'If-Match',
  'If-None-Match',
  'If-Modified-Since',
  'If-Unmodified-Since',
  // OpenTelemetry in a page adds these to its requests. Only the first one is read.
  'traceparent',
  'tracestate',
  'baggage',
].join(', ');

const PREFLIGHT = {
  'access-control-allow-headers': ALLOWED,
  // The longest that any browser stores a preflight, in seconds.
  'access-control-max-age': '7200',
};

/**
 * Lets pages of these origins (comma-separated, or `*`) call the operations that client tokens open, and no others: a
 * project's token does not belong in a browser. Pages can also read that a path does not exist.
 */
export class Cors {
  readonly #allowed: ReadonlySet<string>;
  readonly #any: boolean;
  readonly #router: Router;

  constructor(origins: string | null, router: Router) {
    this.#allowed = new Set(origins?.split(','));
    this.#any = this.#allowed.has('*');
    this.#router = router;
  }

  /** Sets the headers that let a page of another origin read the answer; true for a preflight request to answer. */
  apply(exchange: RoutedExchange): boolean {
    if (this.#allowed.size === 0) return false;
    if (exchange.route !== null) {
      if (isForClients(exchange.route)) this.#allow(exchange);
      return false;
    }
    const routes = this.#router.routesAt(exchange);
    const methods = METHODS.filter((method) => isForClients(routes.get(method)));
    if (routes.size > 0 && methods.length === 0) return false;
    if (!this.#allow(exchange) || methods.length === 0 || !isPreflight(exchange)) return false;
    exchange.setHeaders({ 'access-control-allow-methods': methods.join(', '), ...PREFLIGHT });
    return true;
  }

  #allow(exchange: RoutedExchange): boolean {
    exchange.setHeader('vary', 'Origin');
    const { origin = '' } = exchange.headers;
    if (!this.#any && !this.#allowed.has(origin)) return false;
    const allowed = this.#any ? '*' : origin;
    exchange.setHeader('access-control-allow-origin', allowed);
    exchange.setHeader('access-control-expose-headers', EXPOSED);
    // Without it, a page does not see that a request went over HTTP/2, and opens as few streams as HTTP/1.1 lets it have.
    exchange.setHeader('timing-allow-origin', allowed);
    return true;
  }
}

const isForClients = (route: Route | undefined) => route?.operation.token === 'client';

const isPreflight = ({ request: { method, headers } }: RoutedExchange) =>
  method === 'OPTIONS' &&
  headers.origin !== undefined &&
  headers['access-control-request-method'] !== undefined;
