import { setImmediate as nextIteration } from 'node:timers/promises';
import { justBefore } from '../../core/just-before.ts';
import type { PresenceScope } from '../../presence/presence-store.ts';
import type { Store } from '../../store/store.ts';
import type { LocationFilter } from '../../values/location-filter.ts';
import type { DurableLocation } from './durable-locations.ts';

const PAGE_USERS = 1_000;
/** Up to this many users are read one by one. */
const SINGLE_MAX = 20;

export type LatestLocations = Map<string, DurableLocation>;

/** The latest durable locations of these users that pass a filter, whether or not the users may be seen. */
export async function readDurable(
  store: Store,
  scope: PresenceScope,
  filter: LocationFilter,
  userIds: readonly string[],
): Promise<LatestLocations> {
  if (userIds.length > SINGLE_MAX) return readListed(store, scope, filter, userIds);
  const found = await Promise.all(userIds.map((userId) => readOne(store, scope, filter, userId)));
  return new Map(userIds.flatMap((userId, index) => (found[index] ? [[userId, found[index]]] : [])));
}

/** The same of all users who may be seen. */
export async function readAllDurable(
  store: Store,
  scope: PresenceScope,
  filter: LocationFilter,
): Promise<LatestLocations> {
  const latest: LatestLocations = new Map();
  for await (const page of durablePages(store, scope, filter)) {
    const visible = await store.eligibility.filter(scope.project, scope.groupId, [...page.keys()]);
    for (const [userId, location] of page) if (visible.has(userId)) latest.set(userId, location);
  }
  return latest;
}

/** The same of these users, or with null of all, whether or not they may be seen: all of the list is read. */
export async function readListed(
  store: Store,
  scope: PresenceScope,
  filter: LocationFilter,
  userIds: readonly string[] | null,
): Promise<LatestLocations> {
  const wanted = userIds === null ? null : new Set(userIds);
  const latest: LatestLocations = new Map();
  for await (const page of durablePages(store, scope, filter)) {
    for (const [userId, location] of page) if (wanted?.has(userId) !== false) latest.set(userId, location);
  }
  return latest;
}

async function* durablePages(
  store: Store,
  { project, groupId }: PresenceScope,
  filter: LocationFilter,
): AsyncGenerator<LatestLocations> {
  for (let after: string | null = null; ; ) {
    const page = await store.durablePresence.list(project, groupId, filter, { after, limit: PAGE_USERS });
    if (page.length > 0) yield new Map(page.map(({ userId, location, at }) => [userId, { location, at }]));
    if (page.length < PAGE_USERS) return;
    after = page.at(-1)?.userId ?? null;
    // The embedded store answers within the tick.
    await nextIteration();
  }
}

async function readOne(
  store: Store,
  { project, groupId }: PresenceScope,
  filter: LocationFilter,
  userId: string,
): Promise<DurableLocation | null> {
  if (filter === null) return store.durablePresence.find(project, groupId, userId);
  const page = { after: justBefore(userId), limit: 1 };
  const [found] = await store.durablePresence.list(project, groupId, filter, page);
  return found?.userId === userId ? found : null;
}
