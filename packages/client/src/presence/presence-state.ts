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
  const { id } = event;
  // A profile or data of a user who has left meanwhile.
  if ((event.type === 'user' || event.type === 'data') && !state.has(id)) return state;
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
  switch (event.type) {
    case 'user':
      return { ...entry, user: event.user };
    case 'durable':
      return { ...entry, durable: { location: event.location, timestamp: event.timestamp } };
    case 'data':
      return { ...entry, ephemeral: withData(entry.ephemeral, event.location, event.data) };
    case 'departed': {
      const { durable: _ended, ...current } = entry;
      if (event.durable) return current;
      return { ...entry, ephemeral: without(entry.ephemeral, event.location) };
    }
    case 'arrived': {
      const { location, from, user = entry.user } = event;
      const left = without(without(entry.ephemeral, location), from ?? location);
      const ephemeral = { ...left, locations: [...left.locations, location] };
      // The data of the new location, where it has any, is the next event.
      if (left.data !== undefined) ephemeral.data = [...left.data, null];
      return { ...entry, ephemeral, ...(user !== undefined && { user }) };
    }
  }
}

type Ephemeral = PresenceEntry['ephemeral'];
type Data = NonNullable<Ephemeral['data']>[number];

const indexOf = (locations: readonly Location[], location: Location) =>
  locations.findIndex((other) => sameLocation(other, location));

function without({ locations, data }: Ephemeral, location: Location): Ephemeral {
  const index = indexOf(locations, location);
  const isOther = (_: unknown, at: number) => at !== index;
  const left = { locations: locations.filter(isOther) };
  return data === undefined ? left : { ...left, data: data.filter(isOther) };
}

/** The list of data is parallel to that of locations. */
function withData({ locations, data }: Ephemeral, location: Location, value: Data): Ephemeral {
  const index = indexOf(locations, location);
  const all = locations.map((_, at) => (at === index ? value : (data?.[at] ?? null)));
  return { locations, data: all };
}
