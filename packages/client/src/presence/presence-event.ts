import type {
  ArrivedEvent,
  DataEvent,
  DepartedEvent,
  DurableEvent,
  SnapshotEvent,
  UserEvent,
} from '../protocol.ts';

/** All present users that match the filter. The first event, and sent again when the missed events are no longer stored. */
export type PresenceSnapshot = { readonly type: 'snapshot' } & SnapshotEvent;
/** A user (`id`) is at a location; with `from`, they moved there from that location. */
export type PresenceArrived = { readonly type: 'arrived' } & ArrivedEvent;
/**
 * A user (`id`) is no longer at a location; with `durable`, their durable location ended. `moved`: to a location that the
 * filter hides. `removed`: the user, group or membership ended, or the location was the oldest of too many durable ones.
 */
export type PresenceDeparted = { readonly type: 'departed' } & DepartedEvent;
/** The latest durable location of a user (`id`). */
export type PresenceDurable = { readonly type: 'durable' } & DurableEvent;
/** With `expand: 'data'`: what a user (`id`) publishes at a location now; null for nothing. */
export type PresenceDataChanged = { readonly type: 'data' } & DataEvent;
/** With `expand: 'user'`: the name and picture of a user (`id`) now. */
export type PresenceUserChanged = { readonly type: 'user' } & UserEvent;

export type PresenceEvent =
  | PresenceSnapshot
  | PresenceArrived
  | PresenceDeparted
  | PresenceDurable
  | PresenceDataChanged
  | PresenceUserChanged;
