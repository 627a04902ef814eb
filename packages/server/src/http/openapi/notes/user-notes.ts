import { doneExample, type NotesByOperation } from '../operation-notes.ts';

const USER_EXAMPLE = {
  id: 'ada',
  name: 'Ada Lovelace',
  short_name: 'Ada',
  email: 'ada@example.com',
  profile_picture_url: 'https://example.com/ada.png',
  status: 'active',
  metadata: { locale: 'en-GB' },
  created_at: '2026-03-01T09:00:00.000Z',
  updated_at: '2026-03-01T09:30:00.000Z',
} as const;

const NO_SUCH_USER = 'The user does not exist.';

/** `/v1/users`, with what belongs to one user. */
export const USER_NOTES: NotesByOperation = {
  listUsers: {
    description: 'Deleted users are listed too.',
    success: 'A page of users.',
    answer: { users: [USER_EXAMPLE], pagination: { token: null, total: 1 } },
  },
  createUser: {
    bodies: {
      user: {
        summary: 'A user with a name and an address',
        value: { id: 'hedy', name: 'Hedy Lamarr', email: 'hedy@example.com' },
      },
      bare: { summary: 'Only the ID is needed', value: { id: 'user-8731' } },
    },
    success: 'The user was created.',
    answer: doneExample('created user hedy'),
    refusals: { user_already_exists: 'A user of this ID exists, whatever its status.' },
  },
  getUser: {
    success: 'The user. Fields that were never set are null, `metadata` is `{}`.',
    answer: USER_EXAMPLE,
    conditions: 'read',
    refusals: { user_not_found: NO_SUCH_USER },
  },
  putUser: {
    description:
      'A user set `deleted` can no longer be present and disappears from every reading of presence; what they wrote stays. Set `active` again, they are back.',
    bodies: {
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
    success: 'The user was created or updated; the message says which.',
    answer: doneExample('updated user ada'),
    conditions: 'put',
    refusals: { user_already_exists: 'The user exists, and the request has `If-None-Match: *`.' },
  },
  deleteUser: {
    description: 'To lock somebody out and keep the data, `PUT` the user with `status` `deleted`.',
    success: 'The user is gone.',
    answer: doneExample('deleted user ada'),
    conditions: 'write',
    refusals: { user_not_found: NO_SUCH_USER },
  },
  listUserGroups: {
    success: 'A page of groups.',
    answer: {
      groups: [{ id: 'analysts', name: 'Analysts', status: 'active' }],
      pagination: { token: null, total: 1 },
    },
    refusals: { user_not_found: NO_SUCH_USER },
  },
};

const PREFERENCE_BODIES = {
  quiet: {
    summary: 'No messages; e-mail stays as it is',
    value: { key: 'notification_channels', value: { sendViaMessenger: false } },
  },
  both: {
    summary: 'Both channels',
    value: { key: 'notification_channels', value: { sendViaMessenger: true, sendViaEmail: true } },
  },
} as const;

const putPreferences = {
  bodies: PREFERENCE_BODIES,
  success: 'The preferences were updated.',
  answer: doneExample('updated preferences of user ada'),
  refusals: { user_not_found: NO_SUCH_USER },
};

export const PREFERENCE_NOTES: NotesByOperation = {
  getPreferences: {
    description: 'Both channels are on until they are set otherwise.',
    success: 'One object per preference; there is one.',
    answer: [{ notification_channels: { sendViaMessenger: false, sendViaEmail: true } }],
    refusals: { user_not_found: NO_SUCH_USER },
  },
  putPreferences,
  putUserPreferences: {
    ...putPreferences,
    summary: "Update a user's preferences, whatever the ID",
    description:
      'The same as `PUT /v1/{user_id}/preferences`, for users whose ID reads like a resource: `PUT /v1/groups/preferences` is the group `preferences`.',
  },
};
