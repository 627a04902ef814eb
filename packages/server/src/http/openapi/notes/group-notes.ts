import { limits } from '@rollcall/protocol';
import { doneExample, type NotesByOperation } from '../operation-notes.ts';
import { STREAM_EXAMPLE } from './presence-notes.ts';

export const GROUP_EXAMPLE = {
  id: 'analysts',
  name: 'Analysts',
  status: 'active',
  members: ['ada', 'grace'],
  metadata: { plan: 'team', seats: 25 },
  connectedToMessenger: false,
} as const;

const { members, ...ENTRY_EXAMPLE } = GROUP_EXAMPLE;

const NO_SUCH_GROUP = 'The group does not exist.';

/** `/v1/groups`, and under the older name `/v1/organizations`. */
export const GROUP_NOTES: NotesByOperation = {
  listGroups: {
    description: 'Deleted groups are listed too. The order is fixed: by ID.',
    query: {
      limit: { description: 'How many groups at most. Absent: all of them, streamed.', example: 100 },
      token: { description: 'Where to go on: part of the `Link` header of the page before.' },
    },
    success: 'The groups, without their members.',
    answer: [ENTRY_EXAMPLE],
    linksNext: true,
  },
  createGroup: {
    bodies: {
      group: { value: { id: 'engineers', name: 'Engineers', members: ['grace'] } },
    },
    success: 'The group was created.',
    answer: doneExample('created group engineers'),
    refusals: {
      user_not_found: 'A user of `members` does not exist; nothing was created.',
      group_already_exists: 'A group of this ID exists, whatever its status.',
    },
  },
  getGroup: {
    success: 'The group.',
    answer: GROUP_EXAMPLE,
    conditions: 'read',
    refusals: { group_not_found: NO_SUCH_GROUP },
  },
  putGroup: {
    description:
      'One atomic step, however many callers race. Users who are not in `members` leave the group; repeated IDs count once. A group set `deleted` keeps its data and can be set `active` again.',
    bodies: {
      whole: {
        summary: 'Create the group, or replace all that it has',
        value: { name: 'Analysts', members: ['ada', 'grace'], metadata: { plan: 'team', seats: 25 } },
      },
      rename: { summary: 'Change only the name', value: { name: 'Data analysts' } },
      retire: { summary: 'Keep it, but let nobody in', value: { status: 'deleted' } },
      restore: { summary: 'Let its members in again', value: { status: 'active' } },
    },
    success: 'The group was created or updated; the message says which.',
    answer: doneExample('created group analysts'),
    conditions: 'put',
    refusals: {
      missing_field: '`name` is absent and the group does not exist.',
      user_not_found: 'A user of `members` does not exist; nothing was changed.',
      group_already_exists: 'The group exists, and the request has `If-None-Match: *`.',
    },
  },
  deleteGroup: {
    description:
      'Its memberships and its presence go with it, in one step. To keep the data and only lock it, `PUT` it with `status` `deleted`.',
    success: 'The group is gone.',
    answer: doneExample('deleted group analysts'),
    conditions: 'write',
    refusals: { group_not_found: NO_SUCH_GROUP },
  },
  listGroupMembers: {
    description: 'Users of either status are members.',
    success: 'A page of members.',
    answer: {
      users: [
        { id: 'ada', name: 'Ada Lovelace', email: 'ada@example.com' },
        { id: 'grace', name: 'Grace Hopper', email: null },
      ],
      pagination: { token: null, total: 2 },
    },
    refusals: { group_not_found: NO_SUCH_GROUP },
  },
  changeGroupMembers: {
    description: 'Adding a member again and removing somebody who is none have no effect.',
    bodies: {
      both: { summary: 'Add two users and remove one', value: { add: ['ada', 'grace'], remove: ['linus'] } },
      add: { summary: 'Add one user', value: { add: ['ada'] } },
    },
    success: 'The members were changed.',
    answer: doneExample('updated members of group analysts'),
    conditions: 'write',
    refusals: {
      invalid_field: 'A field has a wrong type or value, or a user is both in `add` and in `remove`.',
      group_not_found: NO_SUCH_GROUP,
      user_not_found: 'A user of `add` does not exist; nothing was changed.',
    },
  },
  listGroupPresence: {
    description: `
A user set \`deleted\` is not shown, and neither is anybody in a group set \`deleted\`. A page also ends with the entry
that makes it larger than ${limits.PRESENCE_PAGE_MAX_BYTES.toLocaleString('en')} bytes: go by its token.

With \`Accept: text/event-stream\` the answer is a stream of server-sent events: a \`snapshot\` of the reading, then
\`arrived\`, \`departed\` and \`durable\` as they happen. It takes no \`limit\`, \`token\` and \`count_only\`, and goes on after a
\`Last-Event-ID\`.`.trim(),
    query: {
      location: {
        description:
          'Only who is exactly there. JSON, percent-encoded. Absent: everyone present in the group.',
        example: { page: 'q3-report' },
      },
      partial_match: {
        description: 'Also take places that have every pair of `location`, and more.',
        default: false,
        example: true,
      },
      exclude_durable: { description: 'Leave durable presence out.', default: false, example: false },
      count_only: {
        description:
          'Answer `{"count": …}`: how many all pages would list. Not together with `limit` and `token`.',
        default: false,
        example: false,
      },
    },
    success: 'A page of the users who are present, their count, or a stream of what changes.',
    stream: STREAM_EXAMPLE,
    answer: {
      users: [
        {
          id: 'ada',
          ephemeral: { locations: [{ page: 'q3-report', paragraph: '12' }] },
          durable: { location: { page: 'q3-report', paragraph: '9' }, timestamp: '2026-03-01T09:30:00.000Z' },
        },
      ],
      pagination: { token: null },
    },
    refusals: { group_not_found: NO_SUCH_GROUP },
  },
};
