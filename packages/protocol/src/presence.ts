/** Presence: who is where right now. */
import { exactly, list, maybe, object, type Static, textOrNull } from './schema.ts';
import { Flag, Id, Location, Timestamp } from './values.ts';

/** Body of `PUT /v1/users/<USER_ID>/presence`. `organizationID` is the older name of `groupID`; one of them is required. */
export const PresenceWrite = exactly({
  groupID: maybe(Id),
  organizationID: maybe(Id),
  location: Location,
  exclusiveWithin: maybe(Location),
  durable: maybe(Flag),
  absent: maybe(Flag),
});
export type PresenceWrite = Static<typeof PresenceWrite>;

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

/** One text for all spellings of a location: its pairs sorted by key (code units), as JSON. Equal texts, equal locations. */
export function canonicalLocation(location: Location): string {
  const keys = Object.keys(location);
  if (keys.length > 1) keys.sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${JSON.stringify(location[key])}`).join(',')}}`;
}

/** Location `place` matches location `pattern` when it has every pair of it. */
export function locationMatches(place: Location, pattern: Location): boolean {
  return Object.entries(pattern).every(([key, value]) => Object.hasOwn(place, key) && place[key] === value);
}
