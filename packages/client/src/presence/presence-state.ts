import type { PresenceEntry } from '../protocol.ts';
import type { PresenceEvent } from './presence-event.ts';
import { sameLocation } from './same-location.ts';

/** The present users, by user ID. */
export type PresenceState = ReadonlyMap<string, PresenceEntry>;

/** The state before the first event. */
export const NOBODY: PresenceState = new Map();

/** The state after an event: a new map that shares the unchanged entries. A pure function, for `useReducer` and its like. */
export function presenceAfter(state: PresenceState, event: PresenceEvent): PresenceState {
  if (event.type === 'snapshot') return new Map(event.users.map((user) => [user.id, user]));
  const { id } = event;
  const entry = entryAfter(state.get(id) ?? { id, ephemeral: { locations: [] } }, event);
  const next = new Map(state);
  if (entry.ephemeral.locations.length === 0 && entry.durable === undefined) next.delete(id);
  else next.set(id, entry);
  return next;
}

function entryAfter(
  entry: PresenceEntry,
  event: Exclude<PresenceEvent, { type: 'snapshot' }>,
): PresenceEntry {
  const { id, ephemeral } = entry;
  const { type, location } = event;
  if (type === 'durable') return { id, ephemeral, durable: { location, timestamp: event.timestamp } };
  if (type === 'departed' && event.durable) return { id, ephemeral };
  const left = type === 'arrived' && event.from !== undefined ? [location, event.from] : [location];
  const locations = ephemeral.locations.filter((other) => !left.some((one) => sameLocation(one, other)));
  if (type === 'arrived') locations.push(location);
  return { ...entry, ephemeral: { locations } };
}
