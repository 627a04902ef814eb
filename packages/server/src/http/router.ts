import type { IncomingMessage } from 'node:http';
import findMyWay from 'find-my-way';
import { ServiceError } from '../core/service-error.ts';
import { decoded, type MalformedQuery, parseQueryString, type RawQuery } from './parameters/query-string.ts';
import type { Route } from './route.ts';
import type { RoutedExchange } from './routed-exchange.ts';

/** The methods of the API, in the order of `Allow`. */
export const METHODS = ['DELETE', 'GET', 'HEAD', 'POST', 'PUT'] as const;

export class Router {
  readonly #paths = findMyWay({
    // An ID may be long; the check of the path rejects one that is too long.
    maxParamLength: Number.MAX_SAFE_INTEGER,
    querystringParser: parseQueryString as never,
    // Without it, a path whose escapes do not decode would be found nowhere; this match has no store.
    onBadUrl: () => {},
  });

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      const { method } = route.operation;
      this.#paths.on(method === 'GET' ? ['GET', 'HEAD'] : method, route.path, () => {}, route);
    }
  }

  match(exchange: RoutedExchange): void {
    const { method, url } = exchange.request as { method: string; url: string };
    const found = this.#find(method, url);
    if (found === null) return;
    const isMalformed = found.store === null;
    const match = isMalformed ? this.#find(method, withoutEscapes(url)) : found;
    const route = (match?.store ?? null) as Route | null;
    if (match === null || route === null) return;
    exchange.route = route;
    exchange.path = route.path;
    if (isMalformed) {
      const { path, query } = targetOf(url);
      exchange.params = decodedParams(route.path, path);
      exchange.rawQuery = parseQueryString(query);
    } else {
      exchange.params = match.params as Record<string, string>;
      exchange.rawQuery = match.searchParams as RawQuery | MalformedQuery;
    }
  }

  /** The error of a request that no operation takes: 404 for an unknown path, 405 with `Allow` for a known one. */
  notFound(exchange: RoutedExchange): ServiceError {
    const { request } = exchange;
    const { path } = targetOf(request.url as string);
    const methods = [...this.routesAt(exchange).keys()];
    if (methods.length === 0)
      return new ServiceError('invalid_request', `there is no ${path} in this API`, { status: 404 });
    const allow = methods.join(', ');
    return new ServiceError('invalid_request', `${path} does not take ${request.method}; it takes ${allow}`, {
      status: 405,
      headers: { Allow: allow },
    });
  }

  routesAt({ request }: RoutedExchange): Map<string, Route> {
    const url = withoutEscapes(request.url as string);
    const found = METHODS.map((method) => [method, this.#find(method, url)?.store as Route] as const);
    return new Map(found.filter(([, route]) => route != null));
  }

  #find(method: string, url: string) {
    return this.#paths.find(method as 'GET', originForm(url));
  }
}

/**
 * A target has no fragment (RFC 9112, section 3.2). Without its `#`, the ID that a client has not escaped would be another one.
 * @throws ServiceError 400 `invalid_request`
 */
export function requireNoFragment({ url = '' }: IncomingMessage): void {
  if (url.includes('#'))
    throw new ServiceError('invalid_request', 'a path or query has no "#": write %23 where an ID has one');
}

/** The parameters of the path, without those whose escapes do not decode. */
function decodedParams(route: string, path: string): Record<string, string> {
  const parts = path.split('/');
  const params: Record<string, string> = {};
  for (const [index, name] of route.split('/').entries()) {
    const value = name.startsWith(':') ? decoded(parts[index] as string) : null;
    if (value !== null) params[name.slice(1)] = value;
  }
  return params;
}

/** The same path, as far as routing is concerned, whose parameters always decode. */
const withoutEscapes = (url: string) => url.replaceAll('%', '_');

/** The path and query of a request's target, which may be a whole URL (RFC 9112 section 3.2.2). */
const originForm = (url: string) =>
  url.startsWith('/') ? url : url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*\/?/i, '/');

function targetOf(url: string): { readonly path: string; readonly query: string } {
  const target = originForm(url);
  const [path] = target.split('?', 1) as [string];
  return { path, query: target.slice(path.length + 1) };
}
