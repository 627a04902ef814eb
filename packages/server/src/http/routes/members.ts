import { Done, MemberList, MembersChange } from '@rollcall/protocol';
import type { FastifyInstance } from 'fastify';
import { chunks } from '../../core/paging.ts';
import type { Services } from '../../services.ts';
import type { MembershipChange } from '../../store/store.ts';
import { done } from '../answer.ts';
import { precondition } from '../conditions.ts';
import { listBody, pageRule, totalTail } from '../paged-list.ts';
import { answers, IdInPath, PageQuery } from '../schemas.ts';
import type { ById, GroupWords } from './route-words.ts';

/** The members of a group. */
export function memberRoutes(app: FastifyInstance, services: Services, words: GroupWords): void {
  listMembers(app, services, words);
  changeMembers(app, services, words);
}

/** The name of the list, to which its page tokens are bound. */
export const membersOf = (id: string) => ['members', id];

function listMembers(
  app: FastifyInstance,
  services: Services,
  { path, Noun, noun, aNoun, tags }: GroupWords,
): void {
  const { memberships, pageTokens, log } = services;
  const schema = {
    operationId: `list${Noun}Members`,
    summary: `List the members of ${aNoun}, in order of ID`,
    tags,
    params: IdInPath,
    querystring: PageQuery,
    response: answers(MemberList),
  };
  const config = { rule: pageRule(pageTokens, ({ params }) => membersOf((params as ById['Params']).id)) };
  app.get<ById>(`${path}/:id/members`, { schema, config }, (request) => {
    const { caller, params, page } = request;
    const list = chunks((chunk) => memberships.list(caller.project, noun, params.id, chunk), page);
    const tail = totalTail(pageTokens, request, membersOf(params.id));
    return listBody(list, { head: '{"users":[', tail }, request, log);
  });
}

function changeMembers(
  app: FastifyInstance,
  services: Services,
  { path, Noun, noun, aNoun, tags }: GroupWords,
): void {
  const schema = {
    operationId: `change${Noun}Members`,
    summary: `Add members to ${aNoun} and remove others`,
    tags,
    params: IdInPath,
    body: MembersChange,
    response: answers(Done),
  };
  const url = `${path}/:id/members`;
  const config = { largeBody: 'membersChange' } as const;
  const route = { schema, config, bodyLimit: services.settings.bodyLimitBytes };
  app.post<ById & { Body: Partial<MembershipChange> }>(url, route, async (request) => {
    const { caller, params, body, headers } = request;
    await services.memberships.change(caller.project, noun, params.id, body, precondition(headers));
    return done(`updated members of ${noun} ${params.id}`);
  });
}
