import { ClientPresenceWrite, Done, type Findings } from '@rollcall/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { GroupName } from '../../core/caller.ts';
import { inspectPresence } from '../../core/presence-service.ts';
import { asksForStream } from '../../realtime/sse-route.ts';
import type { StreamPermit } from '../../realtime/stream-permits.ts';
import type { Services } from '../../services.ts';
import type { RequestRule } from '../fastify-types.ts';
import { answers, ClientPresenceQuery, PRESENCE_READING } from '../schemas.ts';
import { groupPresence, presencePageRule } from './group-presence.ts';
import { updated } from './user-presence.ts';

const tags = ['client'];
const url = '/v1/client/presence';

/** Where the token's user is, and who is with them. */
export function clientPresenceRoutes(app: FastifyInstance, services: Services): void {
  getPresence(app, services);
  putPresence(app, services);
}

function getPresence(app: FastifyInstance, services: Services): void {
  const schema = {
    operationId: 'listClientPresence',
    summary: "Who is present in one of the user's groups, in order of ID",
    tags,
    querystring: ClientPresenceQuery,
    response: answers(PRESENCE_READING),
  };
  const pageRule = presencePageRule(services, (request) => groupAsked(request)?.id ?? null);
  const rule: RequestRule = (request, findings) => {
    requireGroup(request, findings);
    pageRule(request, findings);
  };
  app.get(url, { schema, config: { rule } }, async (request, reply) => {
    if (!asksForStream(request)) return readGroup(services, request, reply);
    // Before anything is read, so that one stream too many costs next to nothing.
    const permit = services.streams.permits.take(request.client);
    try {
      return await readGroup(services, request, reply, permit);
    } catch (error) {
      permit.release();
      throw error;
    }
  });
}

/** The reading of the group that the token opens, or its stream, which takes the permit over once it is open. */
async function readGroup(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  permit?: StreamPermit,
) {
  const { client, headers } = request;
  const { authorization } = headers;
  const group = await services.clients.enter(client, groupAsked(request));
  const stillAllowed = () => services.authenticator.authenticateClient(authorization);
  const viewer = { userId: client.userId, ...(permit !== undefined && { permit }) };
  return groupPresence(services, request, reply, group, {
    viewer,
    credentials: authorization,
    stillAllowed,
  });
}

/** The group of the query, or the token's. */
function groupAsked({ query, client }: FastifyRequest): GroupName | null {
  const { groupID } = query as ClientPresenceQuery;
  return groupID === undefined ? client.group : { noun: 'group', id: groupID };
}

function requireGroup({ query, client }: FastifyRequest, findings: Findings): void {
  if (client.group !== null || Object.hasOwn(query as object, 'groupID')) return;
  findings.missing.add('query parameter groupID', 'the ID of a group, because the token names none');
}

/** The group may be left out where the token names it. */
const rule: RequestRule = ({ body, client }, findings) => {
  const write = body as Record<string, unknown>;
  const named = write.groupID !== undefined || write.organizationID !== undefined || client.group === null;
  inspectPresence(named ? write : { ...write, groupID: client.group?.id }, findings);
};

function putPresence(app: FastifyInstance, { clients }: Services): void {
  const schema = {
    operationId: 'putClientPresence',
    summary: "Set the token's user present at a location, or absent from it",
    tags,
    body: ClientPresenceWrite,
    response: answers(Done),
  };
  const route = { schema, config: { rule } };
  app.put<{ Body: ClientPresenceWrite }>(url, route, async ({ client, body }) => {
    await clients.putPresence(client, body);
    return updated(client.userId);
  });
}
