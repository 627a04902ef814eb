import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ObserveUnmatched } from './observe.ts';

/** What a page may read of an answer beside its body. */
const EXPOSED = [
  'x-request-id',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Retry-After',
  'WWW-Authenticate',
].join(', ');

const PREFLIGHT = {
  'access-control-allow-methods': 'GET, HEAD, PUT',
  'access-control-allow-headers':
    'Authorization, Content-Type, Last-Event-ID, X-Request-Id, If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since',
  // The longest that any browser remembers a preflight, in seconds.
  'access-control-max-age': '7200',
};

/** Says in the headers of an answer whether a page of another origin may read it. */
export type AllowOrigin = (request: FastifyRequest, reply: FastifyReply) => void;

/**
 * Lets pages of these origins (comma-separated, or `*`) call what client tokens open, and nothing else: a project's
 * token has no business in a browser. Comes before everything that can refuse, so that a page can read refusals too.
 */
export function addCors(
  app: FastifyInstance,
  origins: string | null,
  observe: ObserveUnmatched,
): AllowOrigin {
  const allowed = new Set(origins?.split(','));
  const allowOrigin: AllowOrigin = (request, reply) => {
    if (allowed.size === 0 || !isForClients(request)) return;
    reply.header('vary', 'Origin');
    const { origin = '' } = request.headers;
    if (!allowed.has('*') && !allowed.has(origin)) return;
    reply.header('access-control-allow-origin', allowed.has('*') ? '*' : origin);
    reply.header('access-control-expose-headers', EXPOSED);
  };
  app.addHook('onRequest', (request, reply, next) => {
    allowOrigin(request, reply);
    if (!isPreflight(request) || !reply.hasHeader('access-control-allow-origin')) return next();
    observe(request, reply);
    reply.code(204).headers(PREFLIGHT).removeHeader('content-type').send();
  });
  return allowOrigin;
}

/** By its route, or where none takes it by its path. */
const isForClients = ({ routeOptions, url }: FastifyRequest) => {
  const path = routeOptions.url ?? url;
  return path.startsWith('/v1/client/') && !OF_USER_CLIENT.test(path);
};

/** The preferences of a user whose ID is `client`, which hosts write. */
const OF_USER_CLIENT = /^\/v1\/client\/preferences(?:\?|$)/;

const isPreflight = ({ method, headers }: FastifyRequest) =>
  method === 'OPTIONS' &&
  headers.origin !== undefined &&
  headers['access-control-request-method'] !== undefined;
