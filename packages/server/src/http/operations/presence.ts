import {
  exactly,
  Id,
  limits,
  meaning,
  PresenceEntry,
  type PresenceUpdate,
  PresenceUpdates,
  PresenceUpdatesDone,
  PresenceWrite,
} from '@rollcall/protocol';
import { presenceChange } from '../../core/presence/presence-change.ts';
import { inspectPresence } from '../../core/presence/presence-rules.ts';
import { withCommas } from '../../values/with-commas.ts';
import { done } from '../../wire/json-answer.ts';
import { presentPresence, presentUpdatesApplied } from '../../wire/presenters.ts';
import { callersWords } from '../older-names.ts';
import { operationsOf } from '../operation.ts';
import { ExpandParameter, expansionsOf } from '../parameters/expand-parameter.ts';
import { ABSENT_EXAMPLE, doneAnswer, NO_SUCH_GROUP, PRESENT_EXAMPLE } from './examples.ts';

export const PRESENCE_TAG = {
  name: 'presence',
  description: 'Who is where right now.',
};
const operation = operationsOf('project', PRESENCE_TAG);

const UserPresenceQuery = exactly({
  groupID: meaning(Id, 'The group.', { 'x-example': 'analysts' }),
  expand: ExpandParameter,
});

const getUserPresence = operation('GET /v1/users/:id/presence', {
  id: 'getUserPresence',
  summary: 'Where a user is in a group',
  description:
    'Empty for a user who is not there, or may not be: set `deleted`, no member, or the group set `deleted`.',
  query: UserPresenceQuery,
  answer: {
    schema: PresenceEntry,
    description: 'Where the user is.',
    example: { id: 'ada', ephemeral: { locations: [{ page: 'q3-report', paragraph: '12' }] } },
  },
  errors: { group_not_found: NO_SUCH_GROUP },
  async handle({ caller, pathId, query }, { presenceReading }) {
    const scope = { project: caller.project, groupId: query.groupID };
    const expand = query.expand === undefined ? undefined : expansionsOf(query.expand);
    return presentPresence(await presenceReading.ofUser(scope, pathId, expand));
  },
});

export const presenceUpdated = (userId: string) => done(`updated presence of user ${userId}`);

const putPresence = operation('PUT /v1/users/:id/presence', {
  id: 'putPresence',
  summary: 'Set a user present at a location, or absent from it',
  description: `
- **Ephemeral** (the default): ends 30 seconds after its last update, unless the operator has set another time. Repeat it while the user is there.
- **Durable**: where the user was last, with the time; stored until it is replaced. A user has at most ${withCommas(limits.DURABLE_LOCATIONS_MAX)} in a group, with 1 MiB of text; more ends the oldest.
- **Exclusive**: with \`exclusiveWithin\`, the user is at one location within that wider one, and leaves the location before.
- **Absent**: ends the ephemeral presence at exactly this location. No effect for a user who is not there.
- **Connections**: with \`connectionID\`, the location is held by that connection, such as a tab. The user is there as long as one connection or an update without one holds it; in an exclusive region, at the location of the holder that moved last. \`absent\` with \`connectionID\` ends that hold alone.
- **Data**: \`data\` is a JSON object of at most ${withCommas(limits.PRESENCE_DATA_MAX_BYTES)} bytes that readings and streams show with \`expand=data\`.
- **Bounds**: of a user in a group, at most ${limits.EPHEMERAL_LOCATIONS_MAX} ephemeral locations of ${withCommas(limits.EPHEMERAL_LOCATIONS_MAX_BYTES)} bytes of JSON together. One that exceeds them ends those of the user's others that would have ended first.`.trim(),
  body: {
    schema: PresenceWrite,
    examples: {
      ephemeral: PRESENT_EXAMPLE,
      durable: {
        summary: 'Remember where the user was last',
        value: { groupID: 'analysts', location: { page: 'q3-report', paragraph: '9' }, durable: true },
      },
      absent: ABSENT_EXAMPLE,
      organization: {
        summary: 'The older name of groupID',
        value: { organizationID: 'analysts', location: { page: 'q3-report' } },
      },
    },
  },
  answer: doneAnswer('The presence was updated.', 'updated presence of user ada'),
  errors: {
    missing_field: '`location` is absent, or both `groupID` and its older name are.',
    invalid_field:
      'A field has a wrong type or value, `absent` comes with `durable`, or `location` does not have every pair of `exclusiveWithin`.',
    user_not_found: 'The user does not exist, is set `deleted`, or is not a member of the group.',
    group_not_found: 'The group does not exist or is set `deleted`.',
    organization_not_found: 'The same, where the request names it as `organizationID`.',
  },
  rule: ({ body }, errors) => inspectPresence(body, errors),
  handle({ writer, pathId, body }, { presence }) {
    return presence.put(writer, pathId, presenceChange(body)).then(() => presenceUpdated(pathId));
  },
});

const putPresences = operation('PUT /v1/presence', {
  id: 'putPresences',
  summary: 'Set many users present or absent, each on its own',
  description: `
For a gateway that refreshes many users: up to ${withCommas(limits.PRESENCE_UPDATES_MAX)} updates, each with \`userID\` and the fields of the single call.

- **Not atomic.** An update of a user who may not be present is left out and listed in \`refused\`; all others are applied.
- A validation error (an unexpected, missing or invalid field) rejects the whole request, and nothing is applied.
- Updates of one user in one group take effect in the order of the list.
- The durable updates that are not rejected are stored in one write, and their changes are adjacent.`.trim(),
  body: {
    schema: PresenceUpdates,
    large: 'presenceUpdates',
    maxBytes: limits.PRESENCE_UPDATES_BODY_LIMIT_BYTES,
    examples: {
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
  },
  answer: {
    schema: PresenceUpdatesDone,
    description: 'The updates were applied, except those listed in `refused`.',
    example: {
      success: true,
      message: 'updated presence 1 time, refused 1 time',
      updated: 1,
      refused: [
        { index: 1, userID: 'nobody', error: 'user_not_found', message: 'user nobody does not exist' },
      ],
    },
  },
  errors: {
    missing_field: 'A required field of an update is absent.',
    invalid_field:
      'There are no updates or too many, a field has a wrong type or value, or the fields of an update exclude each other.',
  },
  unavailable:
    'The store cannot be reached. Some of the updates may have been applied: send all of them again.',
  async handle({ writer, body: { updates } }, { presence }) {
    const changes = updates.map((write) => ({ userId: write.userID, change: presenceChange(write) }));
    const { updated, rejected } = await presence.putMany(writer, changes);
    const presented = rejected.map(({ index, error }) => {
      const update = updates[index] as PresenceUpdate;
      const { code, message } = callersWords({ body: update })(error);
      return { index, userID: update.userID, error: code, message };
    });
    return presentUpdatesApplied(updated, presented);
  },
});

export const presenceOperations = [getUserPresence, putPresence, putPresences];
