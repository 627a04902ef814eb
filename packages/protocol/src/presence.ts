/** Presence: who is where right now. */
import Type, { type Static } from 'typebox';
import { Flag, Id, Location, Timestamp } from './values.ts';

/** Body of `PUT /v1/users/<USER_ID>/presence`. `organizationID` is the older name of `groupID`; one of them is required. */
export const PresenceWrite = Type.Object(
  {
    groupID: Type.Optional(Id),
    organizationID: Type.Optional(Id),
    location: Location,
    exclusiveWithin: Type.Optional(Location),
    durable: Type.Optional(Flag),
    absent: Type.Optional(Flag),
  },
  { additionalProperties: false },
);
export type PresenceWrite = Static<typeof PresenceWrite>;

/** Where one user is in one group. */
export const PresenceEntry = Type.Object({
  id: Id,
  ephemeral: Type.Object({ locations: Type.Array(Location) }),
  durable: Type.Optional(Type.Object({ location: Location, timestamp: Timestamp })),
});
export type PresenceEntry = Static<typeof PresenceEntry>;

export const PresenceList = Type.Object({
  users: Type.Array(PresenceEntry),
  pagination: Type.Object({ token: Type.Union([Type.String(), Type.Null()]) }),
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
