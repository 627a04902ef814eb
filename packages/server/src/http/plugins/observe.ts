import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Caller } from '../../core/caller.ts';
import type { RequestHistogram, RouteSeries } from '../request-histogram.ts';

/** Observes a request that no route took: its own path is no label, or strangers could make up any number of them. */
export type ObserveUnmatched = (request: FastifyRequest, reply: FastifyReply) => void;

/** Each answer is one observation and one `debug` line. */
export function addObservation(
  app: FastifyInstance,
  log: Logger,
  histogram: RequestHistogram,
): ObserveUnmatched {
  const verbose = log.isLevelEnabled('debug');
  const observe = (series: RouteSeries, request: FastifyRequest, reply: FastifyReply, ms: number) => {
    series.observe(reply.statusCode, ms);
    if (verbose) log.debug(line(request, reply, ms), 'request');
  };
  app.addHook('onRoute', (route) => {
    const series = histogram.route(String(route.method), route.url);
    route.onResponse = (request, reply, next) => {
      observe(series, request, reply, reply.elapsedTime);
      next();
    };
  });
  const unmatched = histogram.route('any', 'unmatched');
  return (request, reply) => {
    const startedAt = performance.now();
    reply.raw.once('finish', () => observe(unmatched, request, reply, performance.now() - startedAt));
  };
}

/** Never headers, queries or bodies: they hold tokens, secrets and people's data. */
function line({ method, url, id, caller }: FastifyRequest, { statusCode }: FastifyReply, ms: number): object {
  const projectId = (caller as Caller | null)?.projectId;
  return { method, path: url.split('?', 1)[0], status: statusCode, ms, reqId: id, projectId };
}
