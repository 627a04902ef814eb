import { limits } from '@rollcall/protocol';
import Fastify, { type FastifyInstance } from 'fastify';
import { BodyMemory } from './http/bodies/body-memory.ts';
import { BodyThreads } from './http/bodies/body-threads.ts';
import { HttpConnections } from './http/connections.ts';
import { addCallers, requireClient, requireCustomer, requireProject } from './http/plugins/authenticate.ts';
import { addBodies } from './http/plugins/bodies.ts';
import { addRequestChecks } from './http/plugins/check-requests.ts';
import { addCors } from './http/plugins/cors.ts';
import { addErrors, answerFailure } from './http/plugins/errors.ts';
import { addObservation } from './http/plugins/observe.ts';
import { addApiDescription } from './http/plugins/openapi.ts';
import { addRateLimit } from './http/plugins/rate-limit.ts';
import { addRequestContext, requestId, startAnswer } from './http/plugins/request-context.ts';
import { addUnmatched } from './http/plugins/unmatched.ts';
import { addPresenceFastPath } from './http/presence-fast-path.ts';
import { parseQueryString } from './http/query-string.ts';
import { RequestHistogram } from './http/request-histogram.ts';
import { batchRoutes } from './http/routes/batch.ts';
import { clientRoutes } from './http/routes/client.ts';
import { clientPresenceRoutes } from './http/routes/client-presence.ts';
import { groupPresenceRoutes } from './http/routes/group-presence.ts';
import { groupRoutes } from './http/routes/groups.ts';
import { healthRoutes } from './http/routes/health.ts';
import { memberRoutes } from './http/routes/members.ts';
import { preferenceRoutes } from './http/routes/preferences.ts';
import { presenceUpdateRoutes } from './http/routes/presence-updates.ts';
import { projectRoutes } from './http/routes/projects.ts';
import { GROUPS, ORGANIZATIONS } from './http/routes/route-words.ts';
import { authorizeRoutes, revokeRoutes } from './http/routes/tokens.ts';
import { userPresenceRoutes } from './http/routes/user-presence.ts';
import { userRoutes } from './http/routes/users.ts';
import type { Services } from './services.ts';

/** Builds the HTTP application. Opens no port: `listen` or `inject` does. Its server is one of `connections`. */
export function buildApp(services: Services, connections = new HttpConnections()): FastifyInstance {
  const { authenticator, log, settings } = services;
  const histogram = new RequestHistogram();
  const bodyMemory = new BodyMemory(settings.bodiesMemoryBytes);
  const bodyThreads = new BodyThreads(log);
  const app = Fastify({
    // Fastify would make a child logger per request; ours writes what is worth writing.
    logger: false,
    // Of the routes that take large bodies, each names its own limit.
    bodyLimit: Math.min(settings.bodyLimitBytes, limits.SMALL_BODY_LIMIT_BYTES),
    serverFactory: (listener) => connections.createServer(listener),
    genReqId: requestId,
    clientErrorHandler: (error, socket) => connections.clientError(error, socket),
    frameworkErrors: (_error, request, reply) => {
      startAnswer(request, reply);
      allowOrigin(request, reply);
      observeUnmatched(request, reply);
      refuseBadPath(request).catch((refusal) => answerFailure(refusal, request, reply, log));
    },
    // An ID may be long, and a longer one is told what is wrong with it.
    routerOptions: { maxParamLength: Number.MAX_SAFE_INTEGER, querystringParser: parseQueryString as never },
  });
  addRequestContext(app);
  addCallers(app);
  addBodies(app, bodyMemory);
  addErrors(app, log);
  const observeUnmatched = addObservation(app, log, histogram);
  const allowOrigin = addCors(app, settings.corsOrigins, observeUnmatched);
  const refuseBadPath = addUnmatched(app, authenticator, observeUnmatched);
  addRequestChecks(app, bodyThreads);
  addApiDescription(app);
  addRoutes(app, services, histogram, bodyMemory);
  addPresenceFastPath(app, services, histogram, bodyMemory);
  connections.guard(app.server);
  // A stream has no end of its own that closing could wait for.
  app.addHook('preClose', async () => services.streams.stop());
  app.addHook('onClose', () => bodyThreads.close());
  return app;
}

/** One scope per kind of caller, so that no route can end up with another's key. */
function addRoutes(
  app: FastifyInstance,
  services: Services,
  histogram: RequestHistogram,
  bodyMemory: BodyMemory,
): void {
  app.register(async (open) => {
    healthRoutes(open, services, histogram, bodyMemory);
    authorizeRoutes(open, services);
  });
  app.register(async (project) => {
    requireProject(project, services.authenticator);
    await addRateLimit(project, services.settings.rateLimitPerSecond);
    for (const words of [GROUPS, ORGANIZATIONS]) {
      groupRoutes(project, services, words);
      memberRoutes(project, services, words);
      groupPresenceRoutes(project, services, words);
    }
    userRoutes(project, services);
    preferenceRoutes(project, services);
    userPresenceRoutes(project, services);
    presenceUpdateRoutes(project, services);
    batchRoutes(project, services);
    revokeRoutes(project, services);
  });
  app.register(async (client) => {
    requireClient(client, services.authenticator);
    await addRateLimit(client, services.settings.rateLimitPerSecond);
    clientRoutes(client, services);
    clientPresenceRoutes(client, services);
  });
  app.register(async (customer) => {
    requireCustomer(customer, services.authenticator);
    projectRoutes(customer, services);
  });
}
