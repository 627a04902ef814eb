import type { DepartureReason } from '@rollcall/protocol';
import type { Json } from '../store/store.ts';
import { arrived, departed, type Entry, type ReaderEvent } from './reader-event.ts';

/**
 * What is left to tell of a list of entries when it is told at once: a user who changed more than once is told as one
 * change, at the offset of the first, so that a reader who is cut off in between and goes on from an offset is ahead of
 * it at most. A reader who takes the merged list knows what one knows who took the whole.
 */
export function mergeEntries(entries: readonly Entry[]): readonly Entry[] {
  const byUser = Map.groupBy(entries, ({ event }) => event.userId);
  if (byUser.size === entries.length) return entries;
  const merged: Entry[] = [];
  for (const [userId, own] of byUser) {
    const { offset } = own[0] as Entry;
    if (own.length === 1) merged.push(own[0] as Entry);
    else for (const event of net(userId, own)) merged.push({ offset, event });
  }
  return merged;
}

/** What became of one place of one user. */
interface Place {
  readonly location: Json;
  /** They were there before all of this. */
  readonly wasThere: boolean;
  isThere: boolean;
  /** Where they came from last, when they moved. */
  origin: Place | null;
  reason: DepartureReason;
}

function net(userId: string, entries: readonly Entry[]): ReaderEvent[] {
  const places = new Map<Json, Place>();
  let durable: ReaderEvent | null = null;
  for (const { event } of entries) {
    if (event.type === 'durable' || (event.type === 'departed' && event.isDurable)) durable = event;
    else follow(places, event);
  }
  const events = ephemeralEvents(userId, [...places.values()]);
  return durable === null ? events : [...events, durable];
}

function follow(places: Map<Json, Place>, event: Exclude<ReaderEvent, { type: 'durable' }>): void {
  if (event.type === 'departed') {
    leave(placeOf(places, event.location, true), event.reason);
    return;
  }
  const origin = event.from === null ? null : placeOf(places, event.from, true);
  const place = placeOf(places, event.location, !event.isNew);
  if (origin !== null) leave(origin, 'moved');
  place.isThere = true;
  place.origin = origin;
}

function leave(place: Place, reason: DepartureReason): void {
  place.isThere = false;
  place.reason = reason;
}

/** `wasThere` says whether the first entry that names the place tells that they were there before it. */
function placeOf(places: Map<Json, Place>, location: Json, wasThere: boolean): Place {
  const known = places.get(location);
  if (known !== undefined) return known;
  const place: Place = { location, wasThere, isThere: wasThere, origin: null, reason: 'moved' };
  places.set(location, place);
  return place;
}

function ephemeralEvents(userId: string, places: readonly Place[]): ReaderEvent[] {
  const left = new Set(places.filter(({ wasThere, isThere }) => wasThere && !isThere));
  const came = places.filter(({ wasThere, isThere }) => isThere && !wasThere);
  const arrivals = came.map((place) => {
    const from = firstOrigin(place);
    // A place is left by one arrival only.
    return arrived(userId, place.location, from !== null && left.delete(from) ? from.location : null);
  });
  for (const place of places) if (!place.wasThere && !place.isThere) passOnReason(place);
  const departures = [...left].map(({ location, reason }) => departed(userId, location, reason));
  return [...departures, ...arrivals];
}

/** Where a chain of moves to the place began. */
function firstOrigin(place: Place): Place | null {
  const passed = new Set<Place>([place]);
  let origin = place.origin;
  while (origin !== null && !origin.wasThere && origin.origin !== null && !passed.has(origin)) {
    passed.add(origin);
    origin = origin.origin;
  }
  return origin?.wasThere === true ? origin : null;
}

/** Who moved to a place and left that in turn has left the first one for the reason of the last. */
function passOnReason(place: Place): void {
  const origin = firstOrigin(place);
  if (origin !== null && origin.reason === 'moved' && place.reason !== 'moved') origin.reason = place.reason;
}
