import { PresenceUpdates, PresenceUpdatesDone } from '@rollcall/protocol';
import type { FastifyInstance } from 'fastify';
import { applyPresenceUpdates, inspectPresenceUpdates } from '../../core/presence-updates.ts';
import type { Services } from '../../services.ts';
import type { RequestRule } from '../fastify-types.ts';
import { presentUpdatesApplied } from '../present.ts';
import { answers } from '../schemas.ts';

const rule: RequestRule = ({ body }, findings) =>
  inspectPresenceUpdates(body as Record<string, unknown>, findings);

/** Many updates in one call, for gateways that refresh many users. */
export function presenceUpdateRoutes(app: FastifyInstance, { presence }: Services): void {
  const schema = {
    operationId: 'putPresences',
    summary: 'Set many users present or absent, each on its own',
    tags: ['presence'],
    body: PresenceUpdates,
    response: answers(PresenceUpdatesDone),
  };
  app.put<{ Body: PresenceUpdates }>(
    '/v1/presence',
    { schema, config: { rule } },
    async ({ caller, body: { updates } }) =>
      presentUpdatesApplied(await applyPresenceUpdates(presence, caller.project, updates)),
  );
}
