import { MemberList, Viewer } from '@rollcall/protocol';
import type { FastifyInstance } from 'fastify';
import { chunks } from '../../core/paging.ts';
import type { Services } from '../../services.ts';
import { listBody, pageRule, totalTail } from '../paged-list.ts';
import { presentUser } from '../present.ts';
import { answers, IdInPath, PageQuery } from '../schemas.ts';
import { membersOf } from './members.ts';
import type { ById } from './route-words.ts';

const tags = ['client'];

/** What a browser is told of its own user. Presence is in `client-presence.ts`. */
export function clientRoutes(app: FastifyInstance, services: Services): void {
  getViewer(app, services);
  listMembers(app, services);
}

/** All of a list, however long. */
const WHOLE = { after: null, limit: Number.POSITIVE_INFINITY };

function getViewer(app: FastifyInstance, { clients, log }: Services): void {
  const schema = {
    operationId: 'getViewer',
    summary: "The token's user, and the active groups in which they may act",
    tags,
    response: answers(Viewer),
  };
  app.get('/v1/client/viewer', { schema }, async (request) => {
    const user = await clients.user(request.client);
    const groups = chunks((page) => clients.listGroups(request.client, page), WHOLE);
    const head = `{"user":${presentUser(user)},"groups":[`;
    return listBody(groups, { head, tail: () => ']}' }, request, log);
  });
}

function listMembers(app: FastifyInstance, { clients, memberships, pageTokens, log }: Services): void {
  const schema = {
    operationId: 'listClientGroupMembers',
    summary: "List the members of one of the user's groups, in order of ID",
    tags,
    params: IdInPath,
    querystring: PageQuery,
    response: answers(MemberList),
  };
  const config = { rule: pageRule(pageTokens, ({ params }) => membersOf((params as ById['Params']).id)) };
  app.get<ById>('/v1/client/groups/:id/members', { schema, config }, async (request) => {
    const { client, params, page } = request;
    const { noun, id } = await clients.enter(client, { noun: 'group', id: params.id });
    const list = chunks((chunk) => memberships.list(client.project, noun, id, chunk), page);
    const tail = totalTail(pageTokens, request, membersOf(id));
    return listBody(list, { head: '{"users":[', tail }, request, log);
  });
}
