import type { Location, PresenceEntry } from '../protocol.ts';
import type { PresenceEvent } from './presence-event.ts';
import { sameLocation } from './same-location.ts';

/** The present users, by user ID. */
export type PresenceState = ReadonlyMap<string, PresenceEntry>;

/** The state before the first event. */
export const NOBODY: PresenceState = new Map();

/** The state after an event: a new map that shares the unchanged entries. A pure function, for `useReducer` and its like. */
export function presenceAfter(state: PresenceState, event: PresenceEvent): PresenceState {
  if (event.type === 'snapshot') return new Map(event.users.map((user) => [user.id, user]));
  const entry = entryAfter(state.get(event.id) ?? nowhere(event.id), event);
  const next = new Map(state);
  if (entry.ephemeral.locations.length === 0 && entry.durable === undefined) next.delete(event.id);
  else next.set(event.id, entry);
  return next;
}

const nowhere = (id: string): PresenceEntry => ({ id, ephemeral: { locations: [] } });

function entryAfter(
  entry: PresenceEntry,
  event: Exclude<PresenceEvent, { type: 'snapshot' }>,
): PresenceEntry {
  const { id, location } = event;
  switch (event.type) {
    case 'durable':
      return { ...entry, durable: { location, timestamp: event.timestamp } };
    case 'departed':
      if (event.durable) return { id, ephemeral: entry.ephemeral };
      return at(entry, without(entry, location));
    case 'arrived': {
      const rest = without(entry, location).filter(
        (other) => !event.from || !sameLocation(other, event.from),
      );
      return at(entry, [...rest, location]);
    }
  }
}

const without = ({ ephemeral }: PresenceEntry, location: Location) =>
  ephemeral.locations.filter((other) => !sameLocation(other, location));

const at = (entry: PresenceEntry, locations: Location[]): PresenceEntry => ({
  ...entry,
  ephemeral: { locations },
});
