import { limits, PresenceUpdates, PresenceUpdatesDone } from '@rollcall/protocol';
import type { FastifyInstance } from 'fastify';
import { applyPresenceUpdates } from '../../core/presence-updates.ts';
import type { Services } from '../../services.ts';
import { presentUpdatesApplied } from '../present.ts';
import { answers } from '../schemas.ts';

/** Many updates in one call, for gateways that refresh many users. */
export function presenceUpdateRoutes(app: FastifyInstance, { presence, settings }: Services): void {
  const schema = {
    operationId: 'putPresences',
    summary: 'Set many users present or absent, each on its own',
    tags: ['presence'],
    body: PresenceUpdates,
    response: answers(PresenceUpdatesDone),
  };
  const config = { largeBody: 'presenceUpdates' } as const;
  const bodyLimit = Math.min(settings.bodyLimitBytes, limits.PRESENCE_UPDATES_BODY_LIMIT_BYTES);
  app.put<{ Body: PresenceUpdates }>(
    '/v1/presence',
    { schema, config, bodyLimit },
    async ({ caller, body: { updates } }) =>
      presentUpdatesApplied(await applyPresenceUpdates(presence, caller.project, updates)),
  );
}
