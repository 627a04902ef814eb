/** Presence: the locations of users in groups. */
import { ERRORS, type ErrorCode } from './errors.ts';
import { CONNECTION_ID_MAX_LENGTH, PRESENCE_DATA_MAX_BYTES, PRESENCE_UPDATES_MAX } from './limits.ts';
import {
  exactly,
  integer,
  list,
  maybe,
  meaning,
  object,
  oneOf,
  type Schema,
  type Static,
  text,
  textOrNull,
} from './schema.ts';
import { Done, Flag, Id, Location, Timestamp, TokenPagination } from './values.ts';

const userId = meaning(Id, 'Whose presence it is.');
const groupId = (text: string) => meaning(maybe(Id), text);

/** Names a connection, such as a tab of a browser. */
export const ConnectionId = text({
  'x-meaning':
    'A connection of the user, such as a tab of a browser: any name that no other one of the user has.',
  pattern: `^[!-~]{1,${CONNECTION_ID_MAX_LENGTH}}$`,
  description: `a string of 1 to ${CONNECTION_ID_MAX_LENGTH} visible ASCII characters`,
});

const PRESENCE_DATA = {
  type: ['object', 'null'],
  additionalProperties: true,
  'x-maxBytes': PRESENCE_DATA_MAX_BYTES,
  description: `a JSON object of at most ${PRESENCE_DATA_MAX_BYTES} bytes whose numbers JSON readers can keep, or null to clear it`,
};
/** Any JSON object beside a presence. */
export const PresenceData = PRESENCE_DATA as Schema<Record<string, unknown> | null>;

/** What readings and streams show beside locations. */
export const Expand = oneOf(['data', 'user', 'data,user', 'user,data'], {
  description: 'data, user, or both separated by a comma',
});

const writable = {
  groupID: groupId('The group in which the presence applies. Required, unless `organizationID` is there.'),
  organizationID: groupId('The older name of `groupID`.'),
  location: meaning(Location, 'Where the user is.'),
  exclusiveWithin: meaning(
    maybe(Location),
    'A region: `location` has every pair of it, and the user is at one location in it only.',
  ),
  durable: meaning(maybe(Flag), 'Stored with its time until it is replaced. False when absent.'),
  absent: meaning(
    maybe(Flag),
    'The user has left this location. Not together with `durable`. False when absent.',
  ),
  connectionID: meaning(
    maybe(ConnectionId),
    'The connection that holds the location: the user is there while one holder remains. With `absent`, only its hold ends. Not together with `durable`.',
  ),
  data: meaning(
    maybe(PresenceData),
    'What others see beside the location with `expand=data`. Absent: unchanged. `null` clears it. Not together with `durable`.',
  ),
};

/** For the API description. The server checks it after the fields. */
const NAMES_ONE_GROUP = { oneOf: [{ required: ['groupID'] }, { required: ['organizationID'] }] };

/** Body of `PUT /v1/users/<USER_ID>/presence`. `organizationID` is the older name of `groupID`; one of them is required. */
export const PresenceWrite = exactly(writable, {
  'x-meaning': 'A location where a user is, or that they have left.',
  'x-rule': NAMES_ONE_GROUP,
});
export type PresenceWrite = Static<typeof PresenceWrite>;

/** Body of `PUT /v1/client/presence`: the user is the token's, and so is the group when the token names one. */
export const ClientPresenceWrite = exactly(
  { ...writable, groupID: groupId('The group. Required where the token names none.') },
  {
    'x-meaning': "A location where the token's user is, or that they have left.",
    description: 'an object with the fields of a presence update',
  },
);
export type ClientPresenceWrite = Static<typeof ClientPresenceWrite>;

/** One update of many. */
export const PresenceUpdate = exactly(
  { userID: userId, ...writable },
  {
    'x-meaning': 'One of many presence updates.',
    'x-rule': NAMES_ONE_GROUP,
    description: "an object with a user's ID and the fields of a presence update",
  },
);
export type PresenceUpdate = Static<typeof PresenceUpdate>;

/** Body of `PUT /v1/presence`. Not atomic: each update is applied or rejected by itself. */
export const PresenceUpdates = exactly(
  {
    updates: meaning(
      list(PresenceUpdate, {
        minItems: 1,
        maxItems: PRESENCE_UPDATES_MAX,
        description: `an array of 1 to ${PRESENCE_UPDATES_MAX} presence updates`,
      }),
      'Each on its own.',
    ),
  },
  { 'x-meaning': 'Presence updates of many users.' },
);
export type PresenceUpdates = Static<typeof PresenceUpdates>;

/** A rejected update of `PUT /v1/presence`, by its position in the list. */
export const RejectedPresenceUpdate = object(
  {
    index: meaning(integer({ minimum: 0 }), 'Its position in the list, from 0.'),
    userID: userId,
    error: meaning(
      oneOf(Object.keys(ERRORS) as ErrorCode[]),
      'The error code that the update alone would get.',
    ),
    message: meaning(text(), 'The reason, for people.'),
  },
  { 'x-meaning': 'An update that was not applied.' },
);
export type RejectedPresenceUpdate = Static<typeof RejectedPresenceUpdate>;

export const PresenceUpdatesDone = object(
  {
    success: Done.properties.success,
    message: meaning(text(), 'How many were applied and rejected. For people: the text may change.'),
    updated: meaning(integer({ minimum: 0 }), 'How many were applied.'),
    refused: meaning(list(RejectedPresenceUpdate), 'The rejected updates, in order of the list.'),
  },
  { 'x-meaning': 'The results of many presence updates.' },
);

/** How a present user is shown. */
export const PresenceProfile = object(
  {
    name: meaning(textOrNull(), 'The name; null when not set.'),
    profile_picture_url: meaning(textOrNull(), 'The address of the picture; null when not set.'),
  },
  { 'x-meaning': 'How a present user is shown.' },
);
export type PresenceProfile = Static<typeof PresenceProfile>;

/** The locations of one user in one group. */
export const PresenceEntry = object(
  {
    id: meaning(Id, 'The ID that the host gave the user.'),
    ephemeral: meaning(
      object({
        locations: meaning(list(Location), 'In no order; empty when the user is not present.'),
        data: meaning(
          maybe(list(PresenceData)),
          'With `expand=data`: of each location, the data of its newest holder, or null.',
        ),
      }),
      'The current locations of the user.',
    ),
    durable: meaning(
      maybe(
        object({
          location: meaning(Location, 'The location.'),
          timestamp: meaning(
            Timestamp,
            'When it was set; later than those of the locations that were set before.',
          ),
        }),
      ),
      'Where the user was set durably, most recently. Absent when nowhere.',
    ),
    user: meaning(maybe(PresenceProfile), 'With `expand=user`: how the user is shown.'),
  },
  { 'x-meaning': 'The locations of one user in one group.' },
);
export type PresenceEntry = Static<typeof PresenceEntry>;

export const PresenceList = object(
  {
    users: meaning(list(PresenceEntry), 'In order of ID.'),
    pagination: meaning(TokenPagination, 'The next page, with the same filter.'),
  },
  { 'x-meaning': 'A page of the users present in a group.' },
);

/** The response to a read with `count_only`. */
export const PresenceCount = object(
  { count: meaning(integer({ minimum: 0 }), 'On all pages together.') },
  { 'x-meaning': 'The number of present users.' },
);

/** The canonical JSON of a location: its pairs sorted by key (UTF-16 units). Equal locations have equal texts. */
export function canonicalLocation(location: Location): string {
  const keys = Object.keys(location);
  if (keys.every((key, index) => index === 0 || (keys[index - 1] as string) < key))
    return JSON.stringify(location);
  const pairs = keys.sort().map((key) => `${JSON.stringify(key)}:${JSON.stringify(location[key])}`);
  // Locations are stored. V8 stores the result of a template as its parts, until it is compared as a whole.
  return ['{', pairs.join(','), '}'].join('');
}

/** Location `location` matches location `pattern` when it has every pair of `pattern`. */
export function locationMatches(location: Location, pattern: Location): boolean {
  return Object.entries(pattern).every(
    ([key, value]) => Object.hasOwn(location, key) && location[key] === value,
  );
}
