import { MemberList, MembersChange } from '@rollcall/protocol';
import type { MembershipChange } from '../../store/ports/members.ts';
import type { PageRequest } from '../../values/page.ts';
import { precondition } from '../conditions.ts';
import { doneToGroup } from '../older-names.ts';
import { operationsOf } from '../operation.ts';
import { pagedBody } from '../paged-list.ts';
import { PageQuery } from '../schemas.ts';
import { doneAnswer, MEMBERS_EXAMPLE } from './examples.ts';
import { GROUPS_TAG } from './groups.ts';

const operation = operationsOf('project', GROUPS_TAG);

/** The name of the list, to which its page tokens are bound. */
export const membersOf = (groupId: string) => ['members', groupId];

const listMembers = operation('GET /v1/groups/:id/members', {
  id: 'listGroupMembers',
  summary: 'List the members of a group, in order of ID',
  description: 'Users of either status are members.',
  query: PageQuery,
  list: { name: ({ pathId }) => membersOf(pathId) },
  answer: { schema: MemberList, description: 'A page of members.', example: MEMBERS_EXAMPLE },
  handle(exchange, { memberships, pageTokens }) {
    const { caller, pathId } = exchange;
    const read = (chunk: PageRequest) => memberships.list(caller.project, pathId, chunk);
    return pagedBody('users', exchange, pageTokens, read);
  },
});

const changeMembers = operation('POST /v1/groups/:id/members', {
  id: 'changeGroupMembers',
  summary: 'Add members to a group and remove others',
  description: 'Adding a member again, or removing a user who is not a member, has no effect.',
  body: {
    schema: MembersChange,
    large: 'membersChange',
    maxBytes: Number.POSITIVE_INFINITY,
    examples: {
      both: {
        summary: 'Add two users and remove one',
        value: { add: ['ada', 'grace'], remove: ['linus'] },
      },
      add: { summary: 'Add one user', value: { add: ['ada'] } },
    },
  },
  answer: doneAnswer('The members were changed.', 'updated members of group analysts'),
  conditions: 'write',
  errors: {
    invalid_field: 'A field has a wrong type or value, or a user is both in `add` and in `remove`.',
    user_not_found: 'A user of `add` does not exist; nothing was changed.',
  },
  async handle(exchange, { memberships }) {
    const { writer, pathId, headers } = exchange;
    const change = exchange.body as Partial<MembershipChange>;
    await memberships.change(writer, pathId, change, precondition(headers));
    return doneToGroup(exchange, 'updated members of', pathId);
  },
});

export const memberOperations = [listMembers, changeMembers];
