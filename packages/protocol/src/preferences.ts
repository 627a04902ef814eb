/** Preferences: how a user wants to be reached. */
import Type, { type Static } from 'typebox';
import { Flag } from './values.ts';

/** Which channels notify the user. A write merges: a member that is not supplied keeps its value. */
export const NotificationChannels = Type.Object(
  { sendViaMessenger: Type.Optional(Flag), sendViaEmail: Type.Optional(Flag) },
  { additionalProperties: false, description: 'an object of notification channels' },
);
export type NotificationChannels = Static<typeof NotificationChannels>;

/** Body of `PUT /v1/<USER_ID>/preferences`. */
export const PreferenceWrite = Type.Object(
  {
    key: Type.Literal('notification_channels', { description: '"notification_channels"' }),
    value: NotificationChannels,
  },
  { additionalProperties: false },
);
export type PreferenceWrite = Static<typeof PreferenceWrite>;

/** Answer of `GET /v1/users/<USER_ID>/preferences`. */
export const PreferenceList = Type.Array(
  Type.Object({ notification_channels: Type.Object({ sendViaMessenger: Flag, sendViaEmail: Flag }) }),
);
