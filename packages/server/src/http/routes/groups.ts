import { Done, Group, GroupCreation, GroupList, GroupWrite } from '@rollcall/protocol';
import type { FastifyInstance } from 'fastify';
import { chunks } from '../../core/paging.ts';
import type { Services } from '../../services.ts';
import type { GroupChange } from '../../store/store.ts';
import { done } from '../answer.ts';
import { etag, isFresh, notModified, precondition } from '../conditions.ts';
import { groupBody, leaveUnread } from '../group-body.ts';
import { heldPage } from '../held-page.ts';
import { listBody, listOf, pageRule } from '../paged-list.ts';
import { answers, IdInPath, PageQuery } from '../schemas.ts';
import type { ById, GroupWords } from './route-words.ts';

/** Groups, under their own name or under an older one. */
export function groupRoutes(app: FastifyInstance, services: Services, words: GroupWords): void {
  listGroups(app, services, words);
  createGroup(app, services, words);
  getGroup(app, services, words);
  putGroup(app, services, words);
  deleteGroup(app, services, words);
}

const LIST = ['groups'];
const EVERYTHING = Number.POSITIVE_INFINITY;
/** The body of a creation, whose list of members is packed where it is large. */
type CreationBody = GroupChange & Pick<GroupCreation, 'id' | 'name'>;

const WHOLE = { head: '[', tail: () => ']' };

function listGroups(app: FastifyInstance, services: Services, { path, Noun, noun, tags }: GroupWords): void {
  const { groups, pageTokens, log } = services;
  const schema = {
    operationId: `list${Noun}s`,
    summary: `List all ${noun}s of the project`,
    description: 'The whole list; with `limit` a page of it, and the next one in the `Link` header.',
    tags,
    querystring: PageQuery,
    response: answers(GroupList),
  };
  const config = { rule: pageRule(pageTokens, () => LIST, EVERYTHING) };
  app.get(path, { schema, config }, async (request, reply) => {
    const { caller, page } = request;
    if (page.limit === EVERYTHING)
      return listBody(groups.listAll(caller.project, page.after), WHOLE, request, log);
    const { body, last } = await heldPage(chunks((chunk) => groups.list(caller.project, chunk), page));
    if (last !== null) {
      const token = pageTokens.issue(listOf(request, LIST), last);
      reply.header('link', `<${path}?limit=${page.limit}&token=${token}>; rel="next"`);
    }
    return body;
  });
}

function createGroup(
  app: FastifyInstance,
  { groups, settings }: Services,
  { path, Noun, noun, aNoun, tags }: GroupWords,
): void {
  const schema = {
    operationId: `create${Noun}`,
    summary: `Create ${aNoun}, or refuse when it exists`,
    tags,
    body: GroupCreation,
    response: answers(Done, 201),
  };
  const config = { largeBody: 'groupCreation' } as const;
  const route = { schema, config, bodyLimit: settings.bodyLimitBytes };
  app.post<{ Body: CreationBody }>(path, route, async ({ caller, body, headers }, reply) => {
    const { id, ...write } = body;
    await groups.put(caller.project, noun, id, write, { ...precondition(headers), ifNoneMatch: '*' });
    reply.code(201);
    return done(`created ${noun} ${id}`);
  });
}

function getGroup(
  app: FastifyInstance,
  services: Services,
  { path, Noun, noun, aNoun, tags }: GroupWords,
): void {
  const { groups, log } = services;
  const schema = {
    operationId: `get${Noun}`,
    summary: `Get ${aNoun} with its members`,
    tags,
    params: IdInPath,
    response: answers(Group),
  };
  app.get<ById>(`${path}/:id`, { schema }, async (request, reply) => {
    const group = await groups.find(request.caller.project, noun, request.params.id);
    reply.header('etag', etag(group.revision));
    if (!isFresh(request.headers, group.revision)) return groupBody(group, request, log);
    await leaveUnread(group);
    return notModified(reply);
  });
}

function putGroup(
  app: FastifyInstance,
  { groups, settings }: Services,
  { path, Noun, noun, aNoun, tags }: GroupWords,
): void {
  const schema = {
    operationId: `put${Noun}`,
    summary: `Create or update ${aNoun}`,
    description: 'Only what is supplied changes; `members` replaces the list. `name` is required to create.',
    tags,
    params: IdInPath,
    body: GroupWrite,
    response: answers(Done),
  };
  const config = { refusesMisfit: true, largeBody: 'groupWrite' } as const;
  const route = { schema, config, bodyLimit: settings.bodyLimitBytes };
  app.put<ById & { Body: GroupChange }>(`${path}/:id`, route, async (request) => {
    const { caller, params, body, misfit } = request;
    const condition = precondition(request.headers);
    if (misfit !== null) {
      const hasName = Object.hasOwn(body, 'name');
      return groups.refuse(caller.project, params.id, hasName, condition, misfit);
    }
    const kind = await groups.put(caller.project, noun, params.id, body, condition);
    return done(`${kind} ${noun} ${params.id}`);
  });
}

function deleteGroup(
  app: FastifyInstance,
  { groups }: Services,
  { path, Noun, noun, aNoun, tags }: GroupWords,
): void {
  const schema = {
    operationId: `delete${Noun}`,
    summary: `Delete ${aNoun} for good; its users stay`,
    tags,
    params: IdInPath,
    response: answers(Done),
  };
  app.delete<ById>(`${path}/:id`, { schema }, async ({ caller, params, headers }) => {
    await groups.remove(caller.project, noun, params.id, precondition(headers));
    return done(`deleted ${noun} ${params.id}`);
  });
}
