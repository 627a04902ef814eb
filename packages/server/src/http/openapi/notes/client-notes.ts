import { limits } from '@rollcall/protocol';
import { doneExample, type NotesByOperation, type OperationNotes } from '../operation-notes.ts';
import { GROUP_NOTES } from './group-notes.ts';

const { query, description, success, answer, stream = '' } = GROUP_NOTES.listGroupPresence as OperationNotes;

/** `/v1/client`: what a browser may do with a client token. */
export const CLIENT_NOTES: NotesByOperation = {
  getViewer: {
    description:
      'Say this first, to find out who is logged in and where. `user_details` of the token are applied by the first request with it, whichever that is.',
    success: 'The user and the groups.',
    answer: {
      user: {
        id: 'ada',
        name: 'Ada Lovelace',
        short_name: 'Ada',
        email: 'ada@example.com',
        profile_picture_url: 'https://example.com/ada.png',
        status: 'active',
        metadata: {},
        created_at: '2026-03-01T09:00:00.000Z',
        updated_at: '2026-03-01T09:30:00.000Z',
      },
      groups: [{ id: 'analysts', name: 'Analysts' }],
    },
  },
  listClientGroupMembers: {
    description: 'Whoever is a member, of either status.',
    success: 'A page of members.',
    answer: {
      users: [
        { id: 'ada', name: 'Ada Lovelace', email: 'ada@example.com' },
        { id: 'grace', name: 'Grace Hopper', email: null },
      ],
      pagination: { token: null, total: 2 },
    },
  },
  listClientPresence: {
    description: `The same as \`GET /v1/groups/{group_id}/presence\`. ${description}

A user has at most ${limits.USER_STREAMS_MAX} open streams; one more is answered 429.`,
    query: {
      groupID: { description: 'The group. Left out where the token names one.', example: 'analysts' },
      ...query,
    },
    success,
    answer,
    stream,
    refusals: {
      missing_field: '`groupID` is absent, and the token names no group.',
    },
  },
  putClientPresence: {
    description:
      "The same as `PUT /v1/users/{user_id}/presence`, for the token's user and in their groups only. Repeat it while the user is there.",
    bodies: {
      ephemeral: {
        summary: 'At one paragraph of a page, and at no other of that page',
        value: {
          groupID: 'analysts',
          location: { page: 'q3-report', paragraph: '12' },
          exclusiveWithin: { page: 'q3-report' },
        },
      },
      absent: {
        summary: 'The user has left',
        value: { groupID: 'analysts', location: { page: 'q3-report', paragraph: '12' }, absent: true },
      },
    },
    success: 'The presence was updated.',
    answer: doneExample('updated presence of user ada'),
    refusals: {
      missing_field: '`location` is absent, or the group is named neither in the request nor by the token.',
      invalid_field:
        'A field has a wrong type or value, `absent` comes with `durable`, or `location` does not have every pair of `exclusiveWithin`.',
    },
  },
};
