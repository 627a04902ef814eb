import { justBefore } from '../core/just-before.ts';
import type { PresenceScope } from '../presence/presence-store.ts';
import type { LocationFilter, Store } from '../store/store.ts';
import type { DurablePlace } from './filtered-view.ts';

const PAGE_USERS = 1_000;
/** Up to how many users are read one by one. */
const SINGLE_MAX = 20;

/** Reads the latest durable places that pass a filter. Of these users, whether or not they may be seen. */
export async function readDurable(
  store: Store,
  scope: PresenceScope,
  filter: LocationFilter,
  userIds: readonly string[],
): Promise<Map<string, DurablePlace>> {
  if (userIds.length > SINGLE_MAX) return readListed(store, scope, filter, userIds);
  const found = await Promise.all(userIds.map((userId) => readOne(store, scope, filter, userId)));
  return new Map(userIds.flatMap((userId, index) => (found[index] ? [[userId, found[index]]] : [])));
}

/** Of all users who may be seen. */
export async function readAllDurable(
  store: Store,
  scope: PresenceScope,
  filter: LocationFilter,
): Promise<Map<string, DurablePlace>> {
  const places = new Map<string, DurablePlace>();
  for await (const page of durablePages(store, scope, filter)) {
    const ids = await store.presentable(scope.project, scope.groupId, [...page.keys()]);
    for (const id of ids.keys()) places.set(id, page.get(id) as DurablePlace);
  }
  return places;
}

async function readOne(
  store: Store,
  { project, groupId }: PresenceScope,
  filter: LocationFilter,
  userId: string,
): Promise<DurablePlace | null> {
  if (filter === null) return store.findDurablePresence(project, groupId, userId);
  const page = { after: justBefore(userId), limit: 1 };
  const [found] = await store.listDurablePresence(project, groupId, filter, page);
  return found?.userId === userId ? found : null;
}

async function readListed(
  store: Store,
  scope: PresenceScope,
  filter: LocationFilter,
  userIds: readonly string[],
): Promise<Map<string, DurablePlace>> {
  const wanted = new Set(userIds);
  const places = new Map<string, DurablePlace>();
  for await (const page of durablePages(store, scope, filter)) {
    for (const [userId, place] of page) if (wanted.has(userId)) places.set(userId, place);
  }
  return places;
}

/** The latest durable places that pass a filter, a page of users at a time, whether or not these may be seen. */
export async function* durablePages(
  store: Store,
  { project, groupId }: PresenceScope,
  filter: LocationFilter,
): AsyncGenerator<Map<string, DurablePlace>> {
  for (let after: string | null = null; ; ) {
    const page = await store.listDurablePresence(project, groupId, filter, { after, limit: PAGE_USERS });
    if (page.length > 0) yield new Map(page.map(({ userId, location, at }) => [userId, { location, at }]));
    if (page.length < PAGE_USERS) return;
    after = page.at(-1)?.userId ?? null;
  }
}
