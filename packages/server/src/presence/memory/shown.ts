import { compareCodePoints } from '@rollcall/protocol';
import type { Json } from '../../values/json.ts';
import type { UserLocations } from '../presence-store.ts';
import type { Presence } from './presence.ts';

export const isLive = (presence: Presence, now: number) => presence.endsAt > now;

/** The presence whose location changed last; undefined for none. */
export function newestOf(presences: readonly Presence[]): Presence | undefined {
  let newest = presences[0];
  for (const presence of presences) if (presence.order > (newest as Presence).order) newest = presence;
  return newest;
}

const NONE: readonly Presence[] = [];

/** Those of a user's presences that are in the region. Most users have a single one: nothing is copied for them. */
export function inRegion(own: readonly Presence[], region: Json): readonly Presence[] {
  return own.length === 1 && own[0]?.region === region ? own : own.filter((one) => one.region === region);
}

/** Whether it is the newest of its region among its user's presences, so that watchers know its location. Its deadline may have passed. */
export const isNewest = (own: readonly Presence[], presence: Presence): boolean =>
  newestOf(inRegion(own, presence.region)) === presence;

/** The newest presences of their regions that are at the location, their deadlines passed or not. */
export function newestAt(own: readonly Presence[], location: Json): readonly Presence[] {
  if (own.length === 1) return own[0]?.location === location ? own : NONE;
  return own.filter((presence) => presence.location === location && isNewest(own, presence));
}

/**
 * Whether watchers know the user at the location, and that is still so. A reading can show more: in a region whose newest
 * presence has ended and is not swept, watchers do not know the next one.
 */
export const isKnownAt = (own: readonly Presence[], location: Json, now: number): boolean =>
  newestAt(own, location).some((presence) => isLive(presence, now));

/** The data of the newest presence at the location; null where it has none, or no presence is there. */
export const dataAt = (own: readonly Presence[], location: Json): Json | null =>
  newestOf(newestAt(own, location))?.record?.data ?? null;

/** The locations of a user's presences that are shown and pass. */
export function shownLocations(
  presences: readonly Presence[],
  now: number,
  passes: (location: Json) => boolean,
): UserLocations {
  let shown = presences.filter((presence) => isLive(presence, now));
  const isPlain = shown.every(({ record }) => record === null);
  if (!isPlain) shown = newestOfRegions(shown);
  shown = shown.filter(({ location }) => passes(location));
  if (shown.length > 1) {
    // Of one location, the newest comes first.
    shown.sort((a, b) => compareCodePoints(a.location, b.location) || b.order - a.order);
    shown = shown.filter(({ location }, index) => location !== shown[index - 1]?.location);
  }
  const locations = shown.map(({ location }) => location);
  const data = isPlain ? [] : shown.map(({ record }) => record?.data ?? null);
  return data.some((one) => one !== null) ? { locations, data } : { locations };
}

export function bytesOf({ locations, data = [] }: UserLocations): number {
  let bytes = 0;
  for (const location of locations) bytes += Buffer.byteLength(location);
  for (const one of data) bytes += one === null ? 0 : Buffer.byteLength(one);
  return bytes;
}

function newestOfRegions(presences: readonly Presence[]): Presence[] {
  const newest = new Map<Json, Presence>();
  for (const presence of presences) {
    const known = newest.get(presence.region);
    if (known === undefined || known.order < presence.order) newest.set(presence.region, presence);
  }
  return [...newest.values()];
}
