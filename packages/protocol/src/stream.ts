/** The events of the presence stream: the `data` of each event. */
import { PresenceData, PresenceEntry, PresenceProfile } from './presence.ts';
import { constant, list, maybe, meaning, object, oneOf, type Static } from './schema.ts';
import { Id, Location, Timestamp } from './values.ts';

const id = meaning(Id, 'The ID of the user.');

/** All present users that the stream's filter shows. It replaces the state from earlier events. */
export const SnapshotEvent = object(
  { users: meaning(list(PresenceEntry), 'In order of ID.') },
  { 'x-meaning': 'Everyone whom the stream shows. It replaces what earlier events said.' },
);
export type SnapshotEvent = Static<typeof SnapshotEvent>;

/** The user is at `location`; with `from`, they moved there from that location. With `expand=user`, how they are shown. */
export const ArrivedEvent = object(
  {
    id,
    location: meaning(Location, 'Where the user is now.'),
    from: meaning(maybe(Location), 'Where the user was before, in the same exclusive region.'),
    user: meaning(maybe(PresenceProfile), 'With `expand=user`: how the user is shown.'),
  },
  { 'x-meaning': 'A user is at a location.' },
);
export type ArrivedEvent = Static<typeof ArrivedEvent>;

/**
 * Why a user is no longer at a location. `moved`: to one that the filter hides. `absent`: by an update. `expired`: no update
 * came in time. `removed`: the user, group or membership ended, or the location was the oldest of too many durable ones.
 */
export const DepartureReason = oneOf(['moved', 'absent', 'expired', 'removed'], {
  'x-meaning':
    'Why the user is not there any more: `moved` to a location that the filter hides, `absent` by an update, `expired` without one, `removed` with the user, group or membership, or as the oldest of too many.',
});
export type DepartureReason = Static<typeof DepartureReason>;

/** The user is no longer at `location`. With `durable`, their durable location ended. */
export const DepartedEvent = object(
  {
    id,
    location: meaning(Location, 'Where the user was.'),
    reason: DepartureReason,
    durable: meaning(maybe(constant(true)), 'The durable location ended, and no ephemeral one.'),
  },
  { 'x-meaning': 'A user is no longer at a location.' },
);
export type DepartedEvent = Static<typeof DepartedEvent>;

/** The user's latest durable location that the filter shows. It replaces the one before. */
export const DurableEvent = object(
  {
    id,
    location: meaning(Location, 'Where the user was set durably.'),
    timestamp: meaning(Timestamp, 'When it was set.'),
  },
  { 'x-meaning': 'The durable location of a user. It replaces the one before.' },
);
export type DurableEvent = Static<typeof DurableEvent>;

/** With `expand=data`: what the newest holder of a location publishes there now; null for nothing. */
export const DataEvent = object(
  {
    id,
    location: meaning(Location, 'Where the user is.'),
    data: meaning(PresenceData, 'What the newest holder shows there; null for nothing.'),
  },
  { 'x-meaning': 'With `expand=data`: the data of a location where a user is.' },
);
export type DataEvent = Static<typeof DataEvent>;

/** With `expand=user`: how the user is shown from now on. */
export const UserEvent = object(
  { id, user: meaning(PresenceProfile, 'How the user is shown from now on.') },
  {
    'x-meaning':
      'With `expand=user`: the name or picture of a user who is shown has changed, or a durable event has shown the user first.',
  },
);
export type UserEvent = Static<typeof UserEvent>;

/** The `data` of each event of a presence stream, by its name. */
export const PRESENCE_EVENTS = {
  snapshot: SnapshotEvent,
  arrived: ArrivedEvent,
  departed: DepartedEvent,
  durable: DurableEvent,
  data: DataEvent,
  user: UserEvent,
} as const;
