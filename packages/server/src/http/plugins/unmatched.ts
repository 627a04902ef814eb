import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Authenticator } from '../../auth/authenticator.ts';
import { ServiceError } from '../../core/service-error.ts';
import { PathTable } from '../path-table.ts';
import type { ObserveUnmatched } from './observe.ts';

/** Throws the refusal of a request whose path does not decode. */
export type RefuseBadPath = (request: FastifyRequest) => Promise<never>;

/** Answers what no route takes: 404 for an unknown path, 405 with `Allow` for a known one. */
export function addUnmatched(
  app: FastifyInstance,
  authenticator: Authenticator,
  observe: ObserveUnmatched,
): RefuseBadPath {
  const paths = new PathTable();
  app.addHook('onRoute', ({ url, method }) => paths.add(url, method));
  const refuse = (request: FastifyRequest, reply: FastifyReply): ServiceError => {
    observe(request, reply);
    return noRoute(paths.methodsOf(originForm(request.url)), request);
  };
  // Before the body is read: whoever has no token could otherwise make us hold any number of large ones.
  app.addHook('onRequest', (request, reply, next) => {
    if (request.is404) next(refuse(request, reply));
    else next();
  });
  app.setNotFoundHandler((request, reply: FastifyReply) => {
    throw refuse(request, reply);
  });
  return async (request) => {
    const url = originForm(request.url);
    const methods = paths.methodsOf(url);
    if (!methods.includes(request.method)) throw noRoute(methods, request);
    // Who may not ask is told that first, here as everywhere.
    if (url.startsWith('/v1/projects')) {
      await authenticator.authenticateCustomer(request.headers.authorization);
    } else if (url.startsWith('/v1/client/')) {
      await authenticator.authenticateClient(request.headers.authorization);
    } else {
      await authenticator.authenticate(request.headers.authorization);
    }
    const expected = 'expected escapes of UTF-8, such as %C3%A9';
    throw new ServiceError('invalid_field', `invalid field id in the path (${expected})`);
  };
}

/** The path and query of a request's target, which may be a whole URL (RFC 9112 section 3.2.2). */
const originForm = (url: string) => url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');

function noRoute(methods: readonly string[], { method, url }: FastifyRequest): ServiceError {
  const [path] = originForm(url).split('?', 1);
  if (methods.length === 0) {
    return new ServiceError('invalid_request', `there is no ${path} in this API`, { status: 404 });
  }
  const allow = methods.join(', ');
  return new ServiceError('invalid_request', `${path} does not take ${method}; it takes ${allow}`, {
    status: 405,
    headers: { Allow: allow },
  });
}
