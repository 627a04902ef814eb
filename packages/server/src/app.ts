import { createApiDescription } from './api-description/api-description.ts';
import { Application } from './http/application.ts';
import { BodyMemory } from './http/bodies/body-memory.ts';
import { BodyThreads } from './http/bodies/body-threads.ts';
import { HttpConnections } from './http/connections/connections.ts';
import { httpMetrics } from './http/http-metrics.ts';
import { OPERATIONS } from './http/operations/all-operations.ts';
import { RateLimit } from './http/rate-limit.ts';
import { RequestMetrics } from './http/request-metrics.ts';
import { ClientSockets } from './http/socket/client-sockets.ts';
import type { Services } from './services.ts';

/** Builds the HTTP application. Opens no port: `listen` does. Its server is one of `connections`. */
export function buildApp(services: Services, connections = new HttpConnections()): Application {
  const { log, settings } = services;
  const bodyMemory = new BodyMemory(settings.bodiesMemoryBytes);
  const requests = new RequestMetrics();
  const { rateLimitPerSecond } = settings;
  const rateLimit = rateLimitPerSecond === null ? null : new RateLimit(rateLimitPerSecond);
  const sockets = new ClientSockets(services, rateLimit);
  return new Application(
    OPERATIONS,
    {
      ...services,
      bodyMemory,
      bodyThreads: new BodyThreads(log),
      requests,
      rateLimit,
      sockets,
      apiDescription: createApiDescription(OPERATIONS),
      metrics: [...httpMetrics({ requests, bodyMemory, sockets }), ...services.metrics],
    },
    connections,
  );
}
