import { Done, PreferenceList, PreferenceWrite } from '@rollcall/protocol';
import type { FastifyInstance } from 'fastify';
import type { Services } from '../../services.ts';
import { done } from '../answer.ts';
import { presentPreferences } from '../present.ts';
import { answers, IdInPath } from '../schemas.ts';
import type { ById } from './route-words.ts';

const tags = ['preferences'];

export function preferenceRoutes(app: FastifyInstance, services: Services): void {
  getPreferences(app, services);
  putPreferences(app, services, '/v1/:id/preferences', 'putPreferences');
  // The same for users whose ID reads like a resource: `PUT /v1/groups/preferences` is a group.
  putPreferences(app, services, '/v1/users/:id/preferences', 'putUserPreferences');
}

function getPreferences(app: FastifyInstance, { preferences }: Services): void {
  const schema = {
    operationId: 'getPreferences',
    summary: "Get a user's preferences",
    tags,
    params: IdInPath,
    response: answers(PreferenceList),
  };
  app.get<ById>('/v1/users/:id/preferences', { schema }, async ({ caller, params }) => {
    const channels = await preferences.find(caller.project, params.id);
    return presentPreferences(channels);
  });
}

function putPreferences(
  app: FastifyInstance,
  { preferences }: Services,
  url: string,
  operationId: string,
): void {
  const schema = {
    operationId,
    summary: "Update a user's preferences",
    description: 'Merges: a channel that is not supplied keeps its value.',
    tags,
    params: IdInPath,
    body: PreferenceWrite,
    response: answers(Done),
  };
  app.put<ById & { Body: PreferenceWrite }>(url, { schema }, async ({ caller, params, body }) => {
    await preferences.put(caller.project, params.id, body.value);
    return done(`updated preferences of user ${params.id}`);
  });
}
