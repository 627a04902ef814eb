import { isLargeBody } from './bodies/body-memory.ts';
import type { HttpServices } from './http-services.ts';
import { olderPath } from './older-names.ts';
import { type AnyOperation, isLimited, maxBytesOf, type TokenKind } from './operation.ts';
import { type RequestCheck, requestCheck } from './request-check.ts';
import type { RouteSeries } from './request-metrics.ts';

/** Finds who calls; null where no token is needed. Returns no promise where the token was verified a moment ago. */
type Authenticate = ((header: string | undefined) => object | Promise<object>) | null;

/** An operation at one of its paths, with all that a request needs prepared. */
export interface Route {
  readonly operation: AnyOperation;
  readonly path: string;
  readonly status: number;
  readonly authenticate: Authenticate;
  /** The caller's requests count towards the limit of its project. */
  readonly isLimited: boolean;
  readonly takesBody: boolean;
  readonly bodyMaxBytes: number;
  readonly check: RequestCheck;
  readonly series: RouteSeries;
  readonly headSeries: RouteSeries;
}

/** The operation at its path, and at its older one where it has one. */
export const createRoutes = (operation: AnyOperation, services: HttpServices): Route[] =>
  [operation.path, olderPath(operation.path)]
    .filter((path) => path !== null)
    .map((path) => createRoute(operation, path, services));

function createRoute(operation: AnyOperation, path: string, services: HttpServices): Route {
  const { method, token, body, answer } = operation;
  const { requests, settings } = services;
  const maxBytes = body === undefined ? 0 : maxBytesOf(body);
  if (isLargeBody(maxBytes) && body?.large === undefined && body?.isRaw !== true)
    throw new Error(`${operation.id} would read large bodies on the event loop`);
  const series = requests.route(method, path);
  return {
    operation,
    path,
    status: answer.status ?? 200,
    authenticate: authentication(token, services),
    isLimited: isLimited(operation),
    takesBody: body !== undefined,
    bodyMaxBytes: Math.min(settings.bodyLimitBytes, maxBytes),
    check: requestCheck(operation, services),
    series,
    headSeries: method === 'GET' ? requests.route('HEAD', path) : series,
  };
}

const METHODS = {
  project: 'authenticate',
  client: 'authenticateClient',
  customer: 'authenticateCustomer',
} as const;

const authentication = (token: TokenKind, { authenticator }: HttpServices): Authenticate =>
  token === 'none' ? null : (header) => authenticator[METHODS[token]](header);
