import { limits } from '@rollcall/protocol';
import { doneExample, type NotesByOperation } from '../operation-notes.ts';

/** What `text/event-stream` looks like. */
export const STREAM_EXAMPLE = `retry: 1811

event: snapshot
data: {"users":[{"id":"ada","ephemeral":{"locations":[{"page":"q3-report","paragraph":"12"}]}}]}
id: 7e7509717a725170-0

event: arrived
data: {"id":"ada","location":{"page":"q3-report","paragraph":"13"},"from":{"page":"q3-report","paragraph":"12"}}
id: 7e7509717a725170-1

event: departed
data: {"id":"ada","location":{"page":"q3-report","paragraph":"13"},"reason":"expired"}
id: 7e7509717a725170-2
`;

/** `/v1/users/<ID>/presence` and `/v1/presence`; the reading of a group is with the groups. */
export const PRESENCE_NOTES: NotesByOperation = {
  putPresences: {
    description: `
For a gateway that refreshes many users: up to ${limits.PRESENCE_UPDATES_MAX.toLocaleString('en')} updates, each with \`userID\` and the fields of the single call.

- **Not atomic.** An update that may not be is left out and listed in \`refused\`; all others are applied.
- What does not fit (a field that is not expected, missing or wrong) refuses the whole request, and nothing is applied.
- Updates of one user in one group take effect in the order of the list.`.trim(),
    bodies: {
      refresh: {
        summary: 'One user is still there, and one is not known',
        value: {
          updates: [
            { userID: 'ada', groupID: 'analysts', location: { page: 'q3-report' } },
            { userID: 'nobody', groupID: 'analysts', location: { page: 'q3-report' } },
          ],
        },
      },
    },
    success: 'The updates were applied, but for those that are listed as refused.',
    answer: {
      success: true,
      message: 'updated presence 1 time, refused 1 time',
      updated: 1,
      refused: [
        { index: 1, userID: 'nobody', error: 'user_not_found', message: 'user nobody does not exist' },
      ],
    },
    refusals: {
      missing_field: 'A required field of an update is absent.',
      invalid_field:
        'There are no updates or too many, a field has a wrong type or value, or the fields of an update exclude each other.',
    },
    unavailable:
      'The store cannot be reached. Some of the updates may have been applied: send all of them again.',
  },
  getUserPresence: {
    description:
      'Empty for a user who is not there, or may not be: set `deleted`, no member, or the group set `deleted`.',
    query: { groupID: { description: 'The group.', example: 'analysts' } },
    success: 'Where the user is.',
    answer: {
      id: 'ada',
      ephemeral: { locations: [{ page: 'q3-report', paragraph: '12' }] },
    },
    refusals: { user_not_found: 'The user does not exist.', group_not_found: 'The group does not exist.' },
  },
  putPresence: {
    description: `
- **Ephemeral** (the default): ends 30 seconds after its last update, unless the operator has set another time. Repeat it while the user is there.
- **Durable**: where the user was last, with the time; kept until it is replaced. A user has at most ${limits.DURABLE_LOCATIONS_MAX.toLocaleString('en')} in a group, with 1 MiB of text; more ends the oldest.
- **Exclusive**: with \`exclusiveWithin\`, the user is at one place within that wider location, and leaves the place before.
- **Absent**: ends the ephemeral presence at exactly this location. No effect for somebody who is not there.
- **Bounds**: of a user in a group, at most ${limits.EPHEMERAL_LOCATIONS_MAX} ephemeral locations of ${limits.EPHEMERAL_LOCATIONS_MAX_BYTES.toLocaleString('en')} bytes of JSON together. One that exceeds them ends those of the user's others that would have ended first.`.trim(),
    bodies: {
      ephemeral: {
        summary: 'At one paragraph of a page, and at no other of that page',
        value: {
          groupID: 'analysts',
          location: { page: 'q3-report', paragraph: '12' },
          exclusiveWithin: { page: 'q3-report' },
        },
      },
      durable: {
        summary: 'Remember where the user was last',
        value: { groupID: 'analysts', location: { page: 'q3-report', paragraph: '9' }, durable: true },
      },
      absent: {
        summary: 'The user has left',
        value: { groupID: 'analysts', location: { page: 'q3-report', paragraph: '12' }, absent: true },
      },
      organization: {
        summary: 'The older name of groupID',
        value: { organizationID: 'analysts', location: { page: 'q3-report' } },
      },
    },
    success: 'The presence was updated.',
    answer: doneExample('updated presence of user ada'),
    refusals: {
      missing_field: '`location` is absent, or both `groupID` and its older name are.',
      invalid_field:
        'A field has a wrong type or value, `absent` comes with `durable`, or `location` does not have every pair of `exclusiveWithin`.',
      user_not_found: 'The user does not exist, is set `deleted`, or is not a member of the group.',
      group_not_found: 'The group does not exist or is set `deleted`.',
      organization_not_found: 'The same, where the request names it as `organizationID`.',
    },
  },
};
