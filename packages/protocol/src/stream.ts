/** The events of the presence stream: the `data` of each event. */
import { PresenceData, PresenceEntry, PresenceProfile } from './presence.ts';
import { constant, list, maybe, object, oneOf, type Static } from './schema.ts';
import { Id, Location, Timestamp } from './values.ts';

/** All present users that the stream's filter shows. It replaces the state from earlier events. */
export const SnapshotEvent = object({ users: list(PresenceEntry) });
export type SnapshotEvent = Static<typeof SnapshotEvent>;

/** The user is at `location`; with `from`, they moved there from that location. With `expand=user`, how they are shown. */
export const ArrivedEvent = object({
  id: Id,
  location: Location,
  from: maybe(Location),
  user: maybe(PresenceProfile),
});
export type ArrivedEvent = Static<typeof ArrivedEvent>;

/**
 * Why a user is no longer at a location. `moved`: to one that the filter hides. `absent`: by an update. `expired`: no update
 * came in time. `removed`: the user, group or membership ended, or the location was the oldest of too many durable ones.
 */
export const DepartureReason = oneOf(['moved', 'absent', 'expired', 'removed']);
export type DepartureReason = Static<typeof DepartureReason>;

/** The user is no longer at `location`. With `durable`, their durable location ended. */
export const DepartedEvent = object({
  id: Id,
  location: Location,
  reason: DepartureReason,
  durable: maybe(constant(true)),
});
export type DepartedEvent = Static<typeof DepartedEvent>;

/** The user's latest durable location that the filter shows. It replaces the one before. */
export const DurableEvent = object({ id: Id, location: Location, timestamp: Timestamp });
export type DurableEvent = Static<typeof DurableEvent>;

/** With `expand=data`: what the newest holder of a location publishes there now; null for nothing. */
export const DataEvent = object({ id: Id, location: Location, data: PresenceData });
export type DataEvent = Static<typeof DataEvent>;

/** With `expand=user`: how the user is shown from now on. */
export const UserEvent = object({ id: Id, user: PresenceProfile });
export type UserEvent = Static<typeof UserEvent>;
