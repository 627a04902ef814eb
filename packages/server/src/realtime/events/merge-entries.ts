import type { DepartureReason } from '@rollcall/protocol';
import type { Profile } from '../../store/ports/users.ts';
import type { Json } from '../../values/json.ts';
import { type Arrival, arrived, dataOf, departed, type Entry, type ReaderEvent } from './reader-event.ts';

/**
 * Merges entries that are sent together: several changes of a user become their net change, at the offset of the first. So a
 * reader who is cut off in between and resumes from an offset is ahead of that offset at most. The merged list and the whole
 * list lead a reader to the same state.
 *
 * @param showsData whether the reader is shown data
 */
export function mergeEntries(entries: readonly Entry[], showsData = false): readonly Entry[] {
  const byUser = Map.groupBy(entries, ({ event }) => event.userId);
  if (byUser.size === entries.length) return entries;
  const merged: Entry[] = [];
  for (const [userId, own] of byUser) {
    const { offset } = own[0] as Entry;
    if (own.length === 1) merged.push(own[0] as Entry);
    else for (const event of net(userId, own, showsData)) merged.push({ offset, event });
  }
  return merged;
}

/** The events of one user at one location, merged. */
interface Visit {
  readonly location: Json;
  /** The user was there before all entries. */
  readonly wasThere: boolean;
  isThere: boolean;
  /** The last location from which the user moved here. */
  origin: Visit | null;
  reason: DepartureReason;
  /** The data that the entries have of the location; undefined where they have none. An arrival has null. */
  data: Json | null | undefined;
}

function net(userId: string, entries: readonly Entry[], showsData: boolean): ReaderEvent[] {
  const visits = new Map<Json, Visit>();
  let durable: ReaderEvent | null = null;
  /** The last name and picture, which an arrival can have too. */
  let profile: Profile | null = null;
  let isRenamed = false;
  let hasLeft = false;
  /** Whether the user came back, perhaps with another name. */
  let isBack = false;
  for (const { event } of entries) {
    if (event.type === 'durable' || (event.type === 'departed' && event.isDurable)) durable = event;
    else if (event.type === 'user') {
      isRenamed = true;
      profile = event.user;
    } else {
      follow(visits, event);
      if (event.type === 'departed') hasLeft = true;
      if (event.type !== 'arrived') continue;
      profile = event.user;
      isBack ||= hasLeft;
    }
  }
  const events = ephemeralEvents(userId, [...visits.values()], profile);
  const data = showsData ? dataEvents(userId, [...visits.values()]) : [];
  // The arrival has name and picture, and is merged with the departure: of a user who came back, or whose durable location remains.
  const remains =
    durable?.type === 'durable' || (isBack && [...visits.values()].some(({ isThere }) => isThere));
  const hasProfile = isRenamed || (remains && !events.some(isArrival));
  const user = profile !== null && hasProfile ? { type: 'user' as const, userId, user: profile } : null;
  return [...events, ...data, durable, user].filter((event) => event !== null);
}

const isArrival = ({ type }: ReaderEvent) => type === 'arrived';

type Followed = Exclude<ReaderEvent, { type: 'durable' | 'user' }>;

function follow(visits: Map<Json, Visit>, event: Followed): void {
  if (event.type === 'data') {
    visitOf(visits, event.location, true).data = event.data;
    return;
  }
  if (event.type === 'departed') {
    leave(visitOf(visits, event.location, true), event.reason);
    return;
  }
  const origin = event.from === null ? null : visitOf(visits, event.from, true);
  const visit = visitOf(visits, event.location, !event.isNew);
  if (origin !== null) leave(origin, 'moved');
  visit.isThere = true;
  visit.origin = origin;
  visit.data = null;
}

function leave(visit: Visit, reason: DepartureReason): void {
  visit.isThere = false;
  visit.reason = reason;
}

/** `wasThere` follows from the first entry that names the location. */
function visitOf(visits: Map<Json, Visit>, location: Json, wasThere: boolean): Visit {
  const known = visits.get(location);
  if (known !== undefined) return known;
  const visit: Visit = {
    location,
    wasThere,
    isThere: wasThere,
    origin: null,
    reason: 'moved',
    data: undefined,
  };
  visits.set(location, visit);
  return visit;
}

function ephemeralEvents(userId: string, visits: readonly Visit[], profile: Profile | null): ReaderEvent[] {
  const left = new Set(visits.filter(({ wasThere, isThere }) => wasThere && !isThere));
  const arrivals = visits
    .filter(({ wasThere, isThere }) => isThere && !wasThere)
    .map((visit): Arrival => {
      const from = firstOrigin(visit);
      // A location is left by one arrival only.
      const origin = from !== null && left.delete(from) ? from.location : null;
      return arrived(userId, visit.location, origin, true, profile);
    });
  for (const visit of visits) if (!visit.wasThere && !visit.isThere) passOnReason(visit);
  const departures = [...left].map(({ location, reason }) => departed(userId, location, reason));
  return [...departures, ...arrivals];
}

/** To a reader an arrival has no data. A location that was left and reached again has the data that it had, or others. */
function dataEvents(userId: string, visits: readonly Visit[]): ReaderEvent[] {
  return visits
    .filter(({ isThere, wasThere, data }) => isThere && data !== undefined && (wasThere || data !== null))
    .map(({ location, data }) => dataOf(userId, location, data ?? null));
}

/** The location at which a chain of moves began. */
function firstOrigin(visit: Visit): Visit | null {
  const passed = new Set<Visit>([visit]);
  let { origin } = visit;
  while (origin !== null && !origin.wasThere && origin.origin !== null && !passed.has(origin)) {
    passed.add(origin);
    origin = origin.origin;
  }
  return origin?.wasThere === true ? origin : null;
}

/** A user who moved to a location and then left it has left the first location for the reason of the last departure. */
function passOnReason(visit: Visit): void {
  const origin = firstOrigin(visit);
  if (origin !== null && origin.reason === 'moved' && visit.reason !== 'moved') origin.reason = visit.reason;
}
