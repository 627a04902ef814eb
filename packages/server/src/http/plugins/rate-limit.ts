import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance } from 'fastify';
import { ServiceError } from '../../core/service-error.ts';

/**
 * At most so many requests of a project in any second, counted by this process. Call it in a scope that knows its
 * caller: the limit comes after authentication, so that nobody uses up another's share.
 */
export async function addRateLimit(scope: FastifyInstance, requestsPerSecond: number | null): Promise<void> {
  if (requestsPerSecond === null) return;
  await scope.register(rateLimit, {
    max: requestsPerSecond,
    timeWindow: 1_000,
    enableDraftSpec: true,
    keyGenerator: ({ caller }) => caller.projectId,
    errorResponseBuilder: (_request, { after, max }) =>
      new ServiceError('invalid_request', `more than ${max} requests in a second; try again in ${after}`, {
        status: 429,
      }),
  });
}
