import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler } from 'fastify';
import type { Logger } from 'pino';
import type { Caller } from '../../core/caller.ts';
import type { RequestHistogram, RouteSeries } from '../request-histogram.ts';

/** Observes a request that no route took: its own path is no label, or strangers could make up any number of them. */
export type ObserveUnmatched = (request: FastifyRequest, reply: FastifyReply) => void;

/**
 * Each answer is one observation and one `debug` line: when it is handed over to be sent, or, of a stream, has been
 * sent. (Fastify's `onResponse` waits for every answer's end, for twice the price of all the rest here.)
 */
export function addObservation(
  app: FastifyInstance,
  log: Logger,
  histogram: RequestHistogram,
): ObserveUnmatched {
  const verbose = log.isLevelEnabled('debug');
  const observe = (series: RouteSeries, request: FastifyRequest, reply: FastifyReply) => {
    const ms = performance.now() - request.startedAt;
    series.observe(reply.statusCode, ms);
    if (verbose) log.debug(line(request, reply, ms), 'request');
  };
  const observeEnd = (series: RouteSeries, request: FastifyRequest, reply: FastifyReply) =>
    reply.raw.once('finish', () => observe(series, request, reply));
  app.addHook('onRoute', (route) => {
    const series = histogram.route(String(route.method), route.url);
    const onSend: onSendHookHandler = (request, reply, payload, next) => {
      (payload instanceof Readable ? observeEnd : observe)(series, request, reply);
      next();
    };
    route.config = { ...route.config, observe: (request, reply) => observe(series, request, reply) };
    // A HEAD route comes with a hook of its own, which takes the body away.
    route.onSend = [onSend, ...[route.onSend ?? []].flat()];
  });
  const unmatched = histogram.route('any', 'unmatched');
  return (request, reply) => void observeEnd(unmatched, request, reply);
}

/** Never headers, queries or bodies: they hold tokens, secrets and people's data. */
function line({ method, url, id, caller }: FastifyRequest, { statusCode }: FastifyReply, ms: number): object {
  const projectId = (caller as Caller | null)?.projectId;
  return { method, path: url.split('?', 1)[0], status: statusCode, ms, reqId: id, projectId };
}
