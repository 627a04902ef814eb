import { Group, GroupCreation, GroupList, GroupWrite } from '@rollcall/protocol';
import { chunks } from '../../core/paging.ts';
import { GROUP_REQUIRED, type GroupInput } from '../../core/roster/group-service.ts';
import { precondition, taggedReply } from '../conditions.ts';
import { groupBody, releaseMembers } from '../group-body.ts';
import { doneToGroup } from '../older-names.ts';
import { operationsOf } from '../operation.ts';
import { listBody } from '../paged-list.ts';
import { NOT_MODIFIED } from '../reply.ts';
import { checkListedIds, WholeListQuery } from '../schemas.ts';
import { wholePage } from '../whole-page.ts';
import { doneAnswer, NOTHING_TO_MATCH } from './examples.ts';

export const GROUPS_TAG = {
  name: 'groups',
  description: 'Named sets of users, in which presence applies.',
};
const operation = operationsOf('project', GROUPS_TAG);

const EVERYTHING = Number.POSITIVE_INFINITY;
const WHOLE = { head: '[', tail: () => ']' };

const GROUP_EXAMPLE = {
  id: 'analysts',
  name: 'Analysts',
  status: 'active',
  members: ['ada', 'grace'],
  metadata: { plan: 'team', seats: 25 },
  connectedToMessenger: false,
} as const;
const { members, ...ENTRY_EXAMPLE } = GROUP_EXAMPLE;

const listGroups = operation('GET /v1/groups', {
  id: 'listGroups',
  summary: 'List all groups of the project',
  description:
    'The whole list; with `limit` a page of it, and the next one in the `Link` header.\n\nDeleted groups are listed too. The order is fixed: by ID.',
  query: WholeListQuery,
  list: { name: () => ['groups'], defaultLimit: EVERYTHING },
  rule: checkListedIds,
  answer: {
    schema: GroupList,
    description: 'The groups, without their members.',
    example: [ENTRY_EXAMPLE],
    hasLink: true,
  },
  async handle(exchange, { groups, pageTokens }) {
    const { caller, page, list, query, path } = exchange;
    if (query.id !== undefined) return `[${(await groups.listByIds(caller.project, query.id)).items}]`;
    if (page.limit === EVERYTHING) return listBody(groups.listAll(caller.project, page.after), WHOLE);
    const { body, last } = await wholePage(chunks((chunk) => groups.list(caller.project, chunk), page));
    if (last !== null) {
      const token = pageTokens.issue(list, last);
      exchange.setHeader('link', `<${path}?limit=${page.limit}&token=${token}>; rel="next"`);
    }
    return body;
  },
});

const createGroup = operation('POST /v1/groups', {
  id: 'createGroup',
  summary: 'Create a group; an error when it exists',
  description: '`PUT /v1/groups/{group_id}` creates as well, and updates where the group exists.',
  body: {
    schema: GroupCreation,
    large: 'groupCreation',
    maxBytes: Number.POSITIVE_INFINITY,
    examples: { group: { value: { id: 'engineers', name: 'Engineers', members: ['grace'] } } },
  },
  answer: { ...doneAnswer('The group was created.', 'created group engineers'), status: 201 },
  errors: {
    user_not_found: 'A user of `members` does not exist; nothing was created.',
    group_already_exists: 'A group of this ID exists, whatever its status.',
  },
  statuses: NOTHING_TO_MATCH,
  async handle(exchange, { groups }) {
    const { id, ...write } = exchange.body;
    // In a large body the list of members is packed.
    const change = write as GroupInput;
    const condition = { ...precondition(exchange.headers), ifNoneMatch: '*' } as const;
    await groups.put(exchange.writer, id, change, condition);
    return doneToGroup(exchange, 'created', id);
  },
});

const getGroup = operation('GET /v1/groups/:id', {
  id: 'getGroup',
  summary: 'Get a group with its members',
  description:
    'A group set `deleted` is answered too, with its `status`. `GET /v1/groups/{group_id}/members` has the members in pages.',
  answer: { schema: Group, description: 'The group.', example: GROUP_EXAMPLE },
  conditions: 'read',
  async handle(exchange, { groups }) {
    const group = await groups.find(exchange.caller.project, exchange.pathId);
    const reply = taggedReply(exchange, group.revision, () => groupBody(group));
    if (reply === NOT_MODIFIED) await releaseMembers(group);
    return reply;
  },
});

const putGroup = operation('PUT /v1/groups/:id', {
  id: 'putGroup',
  summary: 'Create or update a group',
  description:
    'Only what is supplied changes; `members` replaces the list. `name` is required to create.\n\nOne atomic step, however many callers race. Users who are not in `members` leave the group; repeated IDs count once. A group set `deleted` retains its data and can be set `active` again.',
  body: {
    schema: GroupWrite,
    large: 'groupWrite',
    maxBytes: Number.POSITIVE_INFINITY,
    examples: {
      whole: {
        summary: 'Create the group, or replace all that it has',
        value: { name: 'Analysts', members: ['ada', 'grace'], metadata: { plan: 'team', seats: 25 } },
      },
      rename: { summary: 'Change only the name', value: { name: 'Data analysts' } },
      retire: { summary: 'Lock the group without losing its data', value: { status: 'deleted' } },
      restore: { summary: 'Let its members in again', value: { status: 'active' } },
    },
  },
  answer: doneAnswer('The group was created or updated; the message names which.', 'created group analysts'),
  conditions: 'put',
  creation: {
    required: GROUP_REQUIRED,
    exists: ({ caller, pathId }, { groups }) => groups.exists(caller.project, pathId),
  },
  errors: { user_not_found: 'A user of `members` does not exist; nothing was changed.' },
  async handle(exchange, { groups }) {
    const { writer, pathId, headers } = exchange;
    const change = exchange.body as GroupInput;
    const outcome = await groups.put(writer, pathId, change, precondition(headers));
    return doneToGroup(exchange, outcome, pathId);
  },
});

const deleteGroup = operation('DELETE /v1/groups/:id', {
  id: 'deleteGroup',
  summary: 'Delete a group for good; its users stay',
  description:
    'Its memberships, presence, threads and messages go with it, in one step. To lock it without losing the data, `PUT` it with `status` `deleted`.',
  answer: doneAnswer('The group was deleted.', 'deleted group analysts'),
  conditions: 'write',
  async handle(exchange, { groups }) {
    const { writer, pathId, headers } = exchange;
    await groups.remove(writer, pathId, precondition(headers));
    return doneToGroup(exchange, 'deleted', pathId);
  },
});

export const groupOperations = [listGroups, createGroup, getGroup, putGroup, deleteGroup];
