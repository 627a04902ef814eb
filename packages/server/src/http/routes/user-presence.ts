import { Done, PresenceEntry, PresenceWrite } from '@rollcall/protocol';
import type { FastifyInstance } from 'fastify';
import { inspectPresence } from '../../core/presence-service.ts';
import type { Services } from '../../services.ts';
import { done } from '../answer.ts';
import type { RequestRule } from '../fastify-types.ts';
import { presentPresence } from '../present.ts';
import { answers, IdInPath, UserPresenceQuery } from '../schemas.ts';
import type { ById } from './route-words.ts';

const tags = ['presence'];
export const USER_PRESENCE = '/v1/users/:id/presence';

/** Where one user is. */
export function userPresenceRoutes(app: FastifyInstance, services: Services): void {
  getPresence(app, services);
  putPresence(app, services);
}

function getPresence(app: FastifyInstance, { presenceReading }: Services): void {
  const schema = {
    operationId: 'getUserPresence',
    summary: 'Where a user is in a group',
    tags,
    params: IdInPath,
    querystring: UserPresenceQuery,
    response: answers(PresenceEntry),
  };
  app.get<ById & { Querystring: { groupID: string } }>(
    USER_PRESENCE,
    { schema },
    async ({ caller, params, query }) => {
      const scope = { project: caller.project, groupId: query.groupID };
      return presentPresence(await presenceReading.ofUser(scope, 'group', params.id));
    },
  );
}

/** The answer to an update that was done. */
export const updated = (userId: string) => done(`updated presence of user ${userId}`);

const rule: RequestRule = ({ body }, findings) => inspectPresence(body as Record<string, unknown>, findings);

function putPresence(app: FastifyInstance, { presence }: Services): void {
  const schema = {
    operationId: 'putPresence',
    summary: 'Set a user present at a location, or absent from it',
    tags,
    params: IdInPath,
    body: PresenceWrite,
    response: answers(Done),
  };
  const route = { schema, config: { rule } };
  app.put<ById & { Body: PresenceWrite }>(USER_PRESENCE, route, async ({ caller, params, body }) => {
    await presence.put(caller.project, params.id, body);
    return updated(params.id);
  });
}
