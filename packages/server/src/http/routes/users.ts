import { Done, User, UserGroupList, UserItem, UserList, UserWrite } from '@rollcall/protocol';
import type { FastifyInstance } from 'fastify';
import { chunks } from '../../core/paging.ts';
import type { Services } from '../../services.ts';
import { done } from '../answer.ts';
import { etag, isFresh, notModified, precondition } from '../conditions.ts';
import { listBody, pageRule, totalTail } from '../paged-list.ts';
import { presentUser } from '../present.ts';
import { answers, IdInPath, PageQuery } from '../schemas.ts';
import type { ById } from './route-words.ts';

const tags = ['users'];

export function userRoutes(app: FastifyInstance, services: Services): void {
  listUsers(app, services);
  createUser(app, services);
  getUser(app, services);
  putUser(app, services);
  deleteUser(app, services);
  listUserGroups(app, services);
}

const LIST = ['users'];

function listUsers(app: FastifyInstance, { users, pageTokens, log }: Services): void {
  const schema = {
    operationId: 'listUsers',
    summary: 'List the users of the project, in order of ID',
    tags,
    querystring: PageQuery,
    response: answers(UserList),
  };
  const config = { rule: pageRule(pageTokens, () => LIST) };
  app.get('/v1/users', { schema, config }, (request) => {
    const list = chunks((chunk) => users.list(request.caller.project, chunk), request.page);
    const tail = totalTail(pageTokens, request, LIST);
    return listBody(list, { head: '{"users":[', tail }, request, log);
  });
}

function createUser(app: FastifyInstance, { users }: Services): void {
  const schema = {
    operationId: 'createUser',
    summary: 'Create a user, or refuse when the user exists',
    tags,
    body: UserItem,
    response: answers(Done, 201),
  };
  app.post<{ Body: UserItem }>('/v1/users', { schema }, async ({ caller, body, headers }, reply) => {
    const { id, ...write } = body;
    await users.put(caller.project, id, write, { ...precondition(headers), ifNoneMatch: '*' });
    reply.code(201);
    return done(`created user ${id}`);
  });
}

function getUser(app: FastifyInstance, { users }: Services): void {
  const schema = {
    operationId: 'getUser',
    summary: 'Get a user',
    tags,
    params: IdInPath,
    response: answers(User),
  };
  app.get<ById>('/v1/users/:id', { schema }, async ({ caller, params, headers }, reply) => {
    const user = await users.find(caller.project, params.id);
    reply.header('etag', etag(user.revision));
    return isFresh(headers, user.revision) ? notModified(reply) : presentUser(user);
  });
}

function putUser(app: FastifyInstance, { users }: Services): void {
  const schema = {
    operationId: 'putUser',
    summary: 'Create or update a user',
    description: 'Only what is supplied changes.',
    tags,
    params: IdInPath,
    body: UserWrite,
    response: answers(Done),
  };
  app.put<ById & { Body: UserWrite }>('/v1/users/:id', { schema }, async (request) => {
    const { caller, params, body, headers } = request;
    const kind = await users.put(caller.project, params.id, body, precondition(headers));
    return done(`${kind} user ${params.id}`);
  });
}

function deleteUser(app: FastifyInstance, { users }: Services): void {
  const schema = {
    operationId: 'deleteUser',
    summary: 'Delete a user for good, with memberships, preferences and presence',
    tags,
    params: IdInPath,
    response: answers(Done),
  };
  app.delete<ById>('/v1/users/:id', { schema }, async ({ caller, params, headers }) => {
    await users.remove(caller.project, params.id, precondition(headers));
    return done(`deleted user ${params.id}`);
  });
}

const groupsOf = (id: string) => ['groups of user', id];

function listUserGroups(app: FastifyInstance, { users, pageTokens, log }: Services): void {
  const schema = {
    operationId: 'listUserGroups',
    summary: 'List the groups that a user belongs to, in order of ID',
    tags,
    params: IdInPath,
    querystring: PageQuery,
    response: answers(UserGroupList),
  };
  const config = { rule: pageRule(pageTokens, ({ params }) => groupsOf((params as ById['Params']).id)) };
  app.get<ById>('/v1/users/:id/groups', { schema, config }, (request) => {
    const { caller, params, page } = request;
    const list = chunks((chunk) => users.listGroups(caller.project, params.id, chunk), page);
    const tail = totalTail(pageTokens, request, groupsOf(params.id));
    return listBody(list, { head: '{"groups":[', tail }, request, log);
  });
}
