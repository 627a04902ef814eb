/** Preferences: how a user wants to be reached. */
import { constant, exactly, list, maybe, object, type Static } from './schema.ts';
import { Flag } from './values.ts';

/** Which channels notify the user. A write merges: a member that is not supplied keeps its value. */
export const NotificationChannels = exactly(
  { sendViaMessenger: maybe(Flag), sendViaEmail: maybe(Flag) },
  { description: 'an object of notification channels' },
);
export type NotificationChannels = Static<typeof NotificationChannels>;

/** Body of `PUT /v1/<USER_ID>/preferences`. */
export const PreferenceWrite = exactly({
  key: constant('notification_channels', { description: '"notification_channels"' }),
  value: NotificationChannels,
});
export type PreferenceWrite = Static<typeof PreferenceWrite>;

/** Answer of `GET /v1/users/<USER_ID>/preferences`. */
export const PreferenceList = list(
  object({ notification_channels: object({ sendViaMessenger: Flag, sendViaEmail: Flag }) }),
);
