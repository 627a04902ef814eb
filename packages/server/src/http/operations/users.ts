import { User, UserGroupList, UserItem, UserList, UserWrite } from '@rollcall/protocol';
import type { ListedById, PageRequest } from '../../values/page.ts';
import { done, listHead, listTail } from '../../wire/json-answer.ts';
import { presentUser } from '../../wire/presenters.ts';
import { precondition, taggedReply } from '../conditions.ts';
import { operationsOf } from '../operation.ts';
import { pagedBody } from '../paged-list.ts';
import { checkListedIds, PageQuery, UserListQuery } from '../schemas.ts';
import { doneAnswer, NOTHING_TO_MATCH, USER_EXAMPLE } from './examples.ts';

const operation = operationsOf('project', {
  name: 'users',
  description: 'Who can belong to groups and be present in them.',
});

const listUsers = operation('GET /v1/users', {
  id: 'listUsers',
  summary: 'List the users of the project, in order of ID',
  description: 'Deleted users are listed too.',
  query: UserListQuery,
  list: { name: () => ['users'] },
  rule: checkListedIds,
  answer: {
    schema: UserList,
    description: 'A page of users.',
    example: { users: [USER_EXAMPLE], pagination: { token: null, total: 1 } },
  },
  handle(exchange, { users, pageTokens }) {
    const { project } = exchange.caller;
    const { id } = exchange.query;
    return id === undefined
      ? pagedBody('users', exchange, pageTokens, (chunk) => users.list(project, chunk))
      : listedUsers(users.listByIds(project, id));
  },
});

async function listedUsers(listed: Promise<ListedById>): Promise<string> {
  const { items, count } = await listed;
  return `${listHead('users')}${items}${listTail(null, count)}`;
}

const createUser = operation('POST /v1/users', {
  id: 'createUser',
  summary: 'Create a user; an error when the user exists',
  description:
    'Only `id` is required. `PUT /v1/users/{user_id}` creates as well, and updates where the user exists.',
  body: {
    schema: UserItem,
    examples: {
      user: {
        summary: 'A user with a name and an address',
        value: { id: 'hedy', name: 'Hedy Lamarr', email: 'hedy@example.com' },
      },
      bare: { summary: 'Only the ID is needed', value: { id: 'user-8731' } },
    },
  },
  answer: { ...doneAnswer('The user was created.', 'created user hedy'), status: 201 },
  errors: { user_already_exists: 'A user of this ID exists, whatever its status.' },
  statuses: NOTHING_TO_MATCH,
  async handle({ writer, body, headers }, { users }) {
    const { id, ...write } = body;
    await users.put(writer, id, write, { ...precondition(headers), ifNoneMatch: '*' });
    return done(`created user ${id}`);
  },
});

const getUser = operation('GET /v1/users/:id', {
  id: 'getUser',
  summary: 'Get a user',
  description: 'A user set `deleted` is answered too, with its `status`.',
  answer: {
    schema: User,
    description: 'The user. Fields that were never set are null, `metadata` is `{}`.',
    example: USER_EXAMPLE,
  },
  conditions: 'read',
  async handle(exchange, { users }) {
    const user = await users.find(exchange.caller.project, exchange.pathId);
    return taggedReply(exchange, user.revision, () => presentUser(user));
  },
});

const putUser = operation('PUT /v1/users/:id', {
  id: 'putUser',
  summary: 'Create or update a user',
  description:
    'Only what is supplied changes.\n\nA user set `deleted` can no longer be present and disappears from every reading of presence; what they wrote stays. Set `active` again, they are back.',
  body: {
    schema: UserWrite,
    examples: {
      user: {
        summary: 'Create the user, or update these fields',
        value: {
          name: 'Ada Lovelace',
          short_name: 'Ada',
          email: 'ada@example.com',
          metadata: { locale: 'en-GB' },
        },
      },
      clear: {
        summary: 'Clear the address and the picture',
        value: { email: null, profile_picture_url: null },
      },
      lock: { summary: 'Lock the user out everywhere', value: { status: 'deleted' } },
      restore: { summary: 'Let the user back in', value: { status: 'active' } },
    },
  },
  answer: doneAnswer('The user was created or updated; the message names which.', 'updated user ada'),
  conditions: 'put',
  async handle({ writer, pathId, body, headers }, { users }) {
    const outcome = await users.put(writer, pathId, body, precondition(headers));
    return done(`${outcome} user ${pathId}`);
  },
});

const deleteUser = operation('DELETE /v1/users/:id', {
  id: 'deleteUser',
  summary: 'Delete a user for good, with memberships, preferences and presence',
  description: 'To lock a user out without losing the data, `PUT` the user with `status` `deleted`.',
  answer: doneAnswer('The user was deleted.', 'deleted user ada'),
  conditions: 'write',
  async handle({ writer, pathId, headers }, { users }) {
    await users.remove(writer, pathId, precondition(headers));
    return done(`deleted user ${pathId}`);
  },
});

const listUserGroups = operation('GET /v1/users/:id/groups', {
  id: 'listUserGroups',
  summary: 'List the groups that a user belongs to, in order of ID',
  description: 'Groups of either status are listed.',
  query: PageQuery,
  list: { name: ({ pathId }) => ['groups of user', pathId] },
  answer: {
    schema: UserGroupList,
    description: 'A page of groups.',
    example: {
      groups: [{ id: 'analysts', name: 'Analysts', status: 'active' }],
      pagination: { token: null, total: 1 },
    },
  },
  handle(exchange, { users, pageTokens }) {
    const { caller, pathId } = exchange;
    const read = (chunk: PageRequest) => users.listGroups(caller.project, pathId, chunk);
    return pagedBody('groups', exchange, pageTokens, read);
  },
});

export const userOperations = [listUsers, createUser, getUser, putUser, deleteUser, listUserGroups];
