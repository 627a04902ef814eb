import type { PresenceScope } from '../presence/presence-store.ts';
import type { Incarnation, Store } from '../store/store.ts';

const USERS_PER_READING = 1_000;

/** Those of any number of users who may be seen in the group, with their memberships. */
export async function presentableOf(
  store: Store,
  { project, groupId }: PresenceScope,
  userIds: readonly string[],
): Promise<Map<string, Incarnation>> {
  const found = new Map<string, Incarnation>();
  for (let from = 0; from < userIds.length; from += USERS_PER_READING) {
    const ids = userIds.slice(from, from + USERS_PER_READING);
    for (const [id, incarnation] of await store.presentable(project, groupId, ids))
      found.set(id, incarnation);
  }
  return found;
}
