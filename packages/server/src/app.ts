import { createApiDescription } from './api-description/api-description.ts';
import { Application } from './http/application.ts';
import { BodyMemory } from './http/bodies/body-memory.ts';
import { BodyThreads } from './http/bodies/body-threads.ts';
import { HttpConnections } from './http/connections.ts';
import type { MetricsRegistry } from './http/metrics-registry.ts';
import { OPERATIONS } from './http/operations/all-operations.ts';
import { RateLimit } from './http/rate-limit.ts';
import { RequestHistogram } from './http/request-histogram.ts';
import { ClientSockets } from './http/socket/client-sockets.ts';
import type { Services } from './services.ts';

/** Builds the HTTP application. Opens no port: `listen` does. Its server is one of `connections`. */
export function buildApp(services: Services, connections = new HttpConnections()): Application {
  const bodyMemory = new BodyMemory(services.settings.bodiesMemoryBytes);
  const histogram = new RequestHistogram();
  const { rateLimitPerSecond } = services.settings;
  const rateLimit = rateLimitPerSecond === null ? null : new RateLimit(rateLimitPerSecond);
  const sockets = new ClientSockets(services, rateLimit);
  let registry: Promise<MetricsRegistry> | undefined;
  return new Application(
    OPERATIONS,
    {
      ...services,
      bodyMemory,
      bodyThreads: new BodyThreads(services.log),
      histogram,
      rateLimit,
      sockets,
      apiDescription: createApiDescription(OPERATIONS),
      metrics() {
        // The library behind it takes 15 MB, so it is loaded with the first reading of the metrics.
        registry ??= import('./http/metrics-registry.ts').then(({ createRegistry }) =>
          createRegistry(histogram, {
            countStreams: () =>
              services.streams.streamCount +
              services.conversationStreams.streamCount +
              services.changeStreams.streamCount,
            countSockets: () => sockets.count,
            countBodyBytes: () => bodyMemory.bytes,
            countLeasedWebhooks: () => services.webhookDeliveries.leased,
            countAttempts: () => services.webhookDeliveries.counts,
          }),
        );
        return registry;
      },
    },
    connections,
  );
}
