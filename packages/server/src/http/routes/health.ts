import { constant, object, text } from '@rollcall/protocol';
import type { FastifyInstance } from 'fastify';
import type { Services } from '../../services.ts';
import type { BodyMemory } from '../bodies/body-memory.ts';
import type { MetricsRegistry } from '../metrics-registry.ts';
import { stopping, unavailable } from '../plugins/errors.ts';
import type { RequestHistogram } from '../request-histogram.ts';
import { answers } from '../schemas.ts';

const tags = ['operation'];
const Ok = object({ status: constant('ok', { description: 'always "ok"' }) });
const OK = '{"status":"ok"}';

/** What operators and their machines ask; none of it needs a token. */
export function healthRoutes(
  app: FastifyInstance,
  services: Services,
  histogram: RequestHistogram,
  bodyMemory: BodyMemory,
): void {
  alive(app);
  ready(app, services);
  metrics(app, services, histogram, bodyMemory);
}

function alive(app: FastifyInstance): void {
  const schema = {
    operationId: 'healthz',
    summary: 'Whether the process is alive',
    tags,
    response: answers(Ok),
  };
  app.get('/healthz', { schema }, async () => OK);
}

function ready(app: FastifyInstance, { readiness }: Services): void {
  const schema = {
    operationId: 'readyz',
    summary: 'Whether the engine answers',
    tags,
    response: answers(Ok),
  };
  app.get('/readyz', { schema }, async () => {
    if (readiness.isStopping) throw stopping();
    const failing = await readiness.failing();
    if (failing.length > 0) throw unavailable(failing.join(', '));
    return OK;
  });
}

function metrics(
  app: FastifyInstance,
  { streams }: Services,
  histogram: RequestHistogram,
  bodyMemory: BodyMemory,
): void {
  let registry: Promise<MetricsRegistry> | undefined;
  const schema = {
    operationId: 'metrics',
    summary: 'Metrics in the text format of Prometheus',
    tags,
    produces: ['text/plain'],
    response: { 200: { content: { 'text/plain': { schema: text() } } } },
  };
  app.get('/metrics', { schema }, async (_request, reply) => {
    // The library behind it takes 15 MB, which a server that nobody scrapes does without.
    registry ??= import('../metrics-registry.ts').then(({ createRegistry }) =>
      createRegistry(histogram, {
        countStreams: () => streams.streamCount,
        countBodyBytes: () => bodyMemory.bytes,
      }),
    );
    const { contentType, text } = await registry;
    reply.type(contentType);
    return text();
  });
}
