/** The presence stream: what the events of `text/event-stream` carry in their `data`, by the name of the event. */
import { ERRORS, type ErrorCode } from './errors.ts';
import { PresenceEntry } from './presence.ts';
import { constant, list, maybe, object, oneOf, type Static, text } from './schema.ts';
import { Id, Location, Timestamp } from './values.ts';

/** Everybody who is present at places that the stream is about. In place of all that was known before. */
export const SnapshotEvent = object({ users: list(PresenceEntry) });
export type SnapshotEvent = Static<typeof SnapshotEvent>;

/** The user is at `location`, and where there is a `from`, no longer there: they moved. */
export const ArrivedEvent = object({ id: Id, location: Location, from: maybe(Location) });
export type ArrivedEvent = Static<typeof ArrivedEvent>;

/**
 * Why a user is no longer at a place: they moved to one that the filter hides; said so; were not heard of in time; or may
 * not be seen any more, which is also the reason where the oldest of too many durable locations ended.
 */
export const DepartureReason = oneOf(['moved', 'absent', 'expired', 'removed']);
export type DepartureReason = Static<typeof DepartureReason>;

/** The user is at `location` no more. With `durable`, it is their durable place that is none any more. */
export const DepartedEvent = object({
  id: Id,
  location: Location,
  reason: DepartureReason,
  durable: maybe(constant(true)),
});
export type DepartedEvent = Static<typeof DepartedEvent>;

/** The user's durable place, the latest that the stream is about, in place of the one before. */
export const DurableEvent = object({ id: Id, location: Location, timestamp: Timestamp });
export type DurableEvent = Static<typeof DurableEvent>;

/** Why the stream ends; nothing comes after it. */
export const StreamErrorEvent = object({ error: oneOf(Object.keys(ERRORS) as ErrorCode[]), message: text() });
export type StreamErrorEvent = Static<typeof StreamErrorEvent>;

/** The data of each event of a stream, by its name. */
export interface PresenceStreamEvents {
  snapshot: SnapshotEvent;
  arrived: ArrivedEvent;
  departed: DepartedEvent;
  durable: DurableEvent;
  error: StreamErrorEvent;
}
