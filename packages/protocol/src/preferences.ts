/** Preferences: the notification channels of a user. */
import { constant, exactly, list, maybe, meaning, object, type Static } from './schema.ts';
import { Flag } from './values.ts';

/** The channels that notify the user. A write merges: a channel that is not supplied does not change. */
export const NotificationChannels = exactly(
  {
    sendViaMessenger: meaning(maybe(Flag), 'Whether the messenger notifies the user.'),
    sendViaEmail: meaning(maybe(Flag), 'Whether e-mail notifies the user.'),
  },
  {
    'x-meaning': 'Channels to switch on or off: one that is not supplied does not change.',
    description: 'an object of notification channels',
  },
);
export type NotificationChannels = Static<typeof NotificationChannels>;

/** Body of `PUT /v1/<USER_ID>/preferences`. */
export const PreferenceWrite = exactly(
  {
    key: meaning(
      constant('notification_channels', { description: '"notification_channels"' }),
      'Which preference. There is one.',
    ),
    value: meaning(NotificationChannels, 'The channels to change.'),
  },
  { 'x-meaning': 'A preference to set.' },
);
export type PreferenceWrite = Static<typeof PreferenceWrite>;

/** One object per preference; there is one. */
export const Preferences = object(
  {
    notification_channels: meaning(
      object({
        sendViaMessenger: meaning(Flag, 'Whether the messenger does.'),
        sendViaEmail: meaning(Flag, 'Whether e-mail does.'),
      }),
      'Which channels notify the user.',
    ),
  },
  { 'x-meaning': "One of a user's preferences." },
);

/** Response of `GET /v1/users/<USER_ID>/preferences`. */
export const PreferenceList = list(Preferences);
