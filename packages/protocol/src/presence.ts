/** Presence: who is where right now. */
import { ERRORS, type ErrorCode } from './errors.ts';
import { PRESENCE_UPDATES_MAX } from './limits.ts';
import { exactly, integer, list, maybe, object, oneOf, type Static, text, textOrNull } from './schema.ts';
import { Done, Flag, Id, Location, Timestamp } from './values.ts';

const writable = {
  groupID: maybe(Id),
  organizationID: maybe(Id),
  location: Location,
  exclusiveWithin: maybe(Location),
  durable: maybe(Flag),
  absent: maybe(Flag),
};

/** Body of `PUT /v1/users/<USER_ID>/presence`. `organizationID` is the older name of `groupID`; one of them is required. */
export const PresenceWrite = exactly(writable);
export type PresenceWrite = Static<typeof PresenceWrite>;

/** Body of `PUT /v1/client/presence`: the user is the token's, and so is the group where the token names one. */
export const ClientPresenceWrite = exactly(writable, {
  description: 'an object with the fields of a presence update',
});
export type ClientPresenceWrite = Static<typeof ClientPresenceWrite>;

/** One update of many. */
export const PresenceUpdate = exactly(
  { userID: Id, ...writable },
  { description: "an object with a user's ID and the fields of a presence update" },
);
export type PresenceUpdate = Static<typeof PresenceUpdate>;

/** Body of `PUT /v1/presence`. Not atomic: each update is applied or refused on its own. */
export const PresenceUpdates = exactly({
  updates: list(PresenceUpdate, {
    minItems: 1,
    maxItems: PRESENCE_UPDATES_MAX,
    description: `an array of 1 to ${PRESENCE_UPDATES_MAX} presence updates`,
  }),
});
export type PresenceUpdates = Static<typeof PresenceUpdates>;

/** An update of many that was not applied, by its place in the list. */
export const PresenceRefusal = object({
  index: integer({ minimum: 0 }),
  userID: Id,
  error: oneOf(Object.keys(ERRORS) as ErrorCode[]),
  message: text(),
});
export type PresenceRefusal = Static<typeof PresenceRefusal>;

export const PresenceUpdatesDone = object({
  ...Done.properties,
  updated: integer({ minimum: 0 }),
  refused: list(PresenceRefusal),
});

/** Where one user is in one group. */
export const PresenceEntry = object({
  id: Id,
  ephemeral: object({ locations: list(Location) }),
  durable: maybe(object({ location: Location, timestamp: Timestamp })),
});
export type PresenceEntry = Static<typeof PresenceEntry>;

export const PresenceList = object({
  users: list(PresenceEntry),
  pagination: object({ token: textOrNull() }),
});

/** The answer to a reading with `count_only`. */
export const PresenceCount = object({ count: integer({ minimum: 0, description: 'how many are present' }) });

/** One text for all spellings of a location: its pairs sorted by key (code units), as JSON. Equal texts, equal locations. */
export function canonicalLocation(location: Location): string {
  const keys = Object.keys(location);
  if (keys.every((key, index) => index === 0 || (keys[index - 1] as string) < key))
    return JSON.stringify(location);
  keys.sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${JSON.stringify(location[key])}`).join(',')}}`;
}

/** Location `place` matches location `pattern` when it has every pair of it. */
export function locationMatches(place: Location, pattern: Location): boolean {
  return Object.entries(pattern).every(([key, value]) => Object.hasOwn(place, key) && place[key] === value);
}
