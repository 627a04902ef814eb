import { PreferenceList, PreferenceWrite, type Static } from '@rollcall/protocol';
import { done } from '../../wire/json-answer.ts';
import { presentPreferences } from '../../wire/presenters.ts';
import type { Exchange } from '../exchange.ts';
import type { HttpServices } from '../http-services.ts';
import { type Callers, operationsOf } from '../operation.ts';
import { doneAnswer } from './examples.ts';

const operation = operationsOf('project', {
  name: 'preferences',
  description: 'How users want to be reached.',
});

const getPreferences = operation('GET /v1/users/:id/preferences', {
  id: 'getPreferences',
  summary: "Get a user's preferences",
  description: 'Both channels are on until they are set otherwise.',
  answer: {
    schema: PreferenceList,
    description: 'One object per preference; there is one.',
    example: [{ notification_channels: { sendViaMessenger: false, sendViaEmail: true } }],
  },
  async handle({ caller, pathId }, { preferences }) {
    return presentPreferences(await preferences.find(caller.project, pathId));
  },
});

/** The definition that the two paths of an update share. */
const update = {
  body: {
    schema: PreferenceWrite,
    examples: {
      quiet: {
        summary: 'No messages; e-mail stays as it is',
        value: { key: 'notification_channels', value: { sendViaMessenger: false } },
      },
      both: {
        summary: 'Both channels',
        value: { key: 'notification_channels', value: { sendViaMessenger: true, sendViaEmail: true } },
      },
    },
  },
  answer: doneAnswer('The preferences were updated.', 'updated preferences of user ada'),
  async handle(
    { writer, pathId, body }: Exchange<Callers['project'], unknown, Static<typeof PreferenceWrite>>,
    { preferences }: HttpServices,
  ) {
    await preferences.put(writer, pathId, body.value);
    return done(`updated preferences of user ${pathId}`);
  },
} as const;

const MERGES = 'Merges: a channel that is not supplied does not change.';

const putPreferences = operation('PUT /v1/:id/preferences', {
  ...update,
  id: 'putPreferences',
  summary: "Update a user's preferences",
  description: MERGES,
});

const putUserPreferences = operation('PUT /v1/users/:id/preferences', {
  ...update,
  id: 'putUserPreferences',
  summary: "Update a user's preferences, whatever the ID",
  description: `${MERGES}\n\nThe same as \`PUT /v1/{user_id}/preferences\`, for users whose ID reads like a resource: \`PUT /v1/groups/preferences\` is the group \`preferences\`.`,
});

export const preferenceOperations = [getPreferences, putPreferences, putUserPreferences];
