import { setImmediate as nextIteration } from 'node:timers/promises';
import { inTicks } from '../../concurrency/in-ticks.ts';
import { clientAccessError } from '../../core/clients/client-access.ts';
import { groupNotFound, userError } from '../../core/errors.ts';
import type { Eligibility } from '../../store/ports/eligibility.ts';
import type { Store } from '../../store/store.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import { slices } from '../../values/slices.ts';
import type { Watcher, WatchRequest } from './stream-request.ts';

/** Most pairs of user and group whose eligibility is read in one statement. */
const READ_MAX = 1_000;
/** How many groups of hosts are read in one event-loop tick. */
const GROUPS_AT_ONCE = 100;
/** How many streams end in one event-loop tick: some milliseconds. */
export const ENDED_AT_ONCE = 100;

type AccessStore = Pick<Store, 'groups' | 'eligibility'>;

/** No group has this ID: of a viewer who acts in no group, the user alone is read. */
const NO_GROUP = '';

/**
 * Checks that the reader may watch the group: a host any group that exists, a viewer one in which the user is eligible.
 * @throws ServiceError
 */
export async function requireAccess(store: AccessStore, request: WatchRequest): Promise<void> {
  const { caller, groupId, viewer } = request;
  if (viewer === undefined) {
    if (!(await store.groups.exists(caller.project, groupId))) throw groupNotFound(groupId);
    return;
  }
  const { userId } = viewer;
  const eligibility = await store.eligibility.find(caller.project, groupId, userId);
  const error = clientAccessError(eligibility, groupId, userId);
  if (error !== null) throw error;
}

/**
 * Ends what these watchers may no longer have: a group, or all of it. Costs a read for each group of hosts, and for each 1,000 pairs
 * of viewer and group of a project.
 */
export async function endWithoutAccess(store: AccessStore, watchers: Iterable<Watcher>): Promise<void> {
  const open = [...watchers].filter(({ ending }) => ending === null);
  for (const [project, own] of Map.groupBy(open, ({ request }) => request.caller.project)) {
    await endHosts(store, project, own);
    for (const some of slices(own.flatMap(queriesOf), READ_MAX)) {
      await endViewers(store, project, some);
      // The embedded store answers within the tick.
      await nextIteration();
    }
  }
}

async function endHosts(store: AccessStore, project: ProjectKey, watchers: readonly Watcher[]) {
  const hosts = watchers.filter(({ request }) => request.viewer === undefined);
  const byGroup = Map.groupBy(hosts, ({ request }) => request.groupId);
  await inTicks(byGroup, GROUPS_AT_ONCE, async ([groupId, readers]) => {
    if (groupId === undefined || (await store.groups.exists(project, groupId))) return;
    await inTicks(readers, ENDED_AT_ONCE, (reader) => reader.end(groupNotFound(groupId)));
  });
}

function queriesOf(watcher: Watcher) {
  const { viewer } = watcher.request;
  if (viewer === undefined) return [];
  const groupIds = [...watcher.groupIds];
  const { userId } = viewer;
  return (groupIds.length > 0 ? groupIds : [NO_GROUP]).map((groupId) => ({ watcher, groupId, userId }));
}

async function endViewers(
  store: AccessStore,
  project: ProjectKey,
  queries: readonly ReturnType<typeof queriesOf>[number][],
): Promise<void> {
  const found = await store.eligibility.findMany(project, queries);
  const lost = queries.flatMap(({ watcher, groupId, userId }, index) => {
    const eligibility = found[index] as Eligibility;
    const error =
      groupId === NO_GROUP
        ? userError(userId, eligibility.user)
        : clientAccessError(eligibility, groupId, userId);
    return error === null ? [] : [{ watcher, groupId, error }];
  });
  await inTicks(lost, ENDED_AT_ONCE, ({ watcher, groupId, error }) => watcher.loseGroup(groupId, error));
}
