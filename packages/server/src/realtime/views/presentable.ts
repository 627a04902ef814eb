import { setImmediate as nextIteration } from 'node:timers/promises';
import type { PresenceScope } from '../../presence/presence-store.ts';
import type { Store } from '../../store/store.ts';
import type { Incarnation } from '../../values/incarnation.ts';
import { slices } from '../../values/slices.ts';

const USERS_PER_READING = 1_000;

/** Those of any number of users who may be seen in the group, with their memberships. */
export async function presentableOf(
  store: Store,
  { project, groupId }: PresenceScope,
  userIds: readonly string[],
): Promise<Map<string, Incarnation>> {
  const found = new Map<string, Incarnation>();
  for (const ids of slices(userIds, USERS_PER_READING)) {
    for (const [id, incarnation] of await store.eligibility.filter(project, groupId, ids))
      found.set(id, incarnation);
    // The embedded store answers within the tick.
    if (ids.length === USERS_PER_READING) await nextIteration();
  }
  return found;
}
