import { setImmediate as nextIteration } from 'node:timers/promises';
import { clientAccessError } from '../../core/client-access.ts';
import { groupNotFound } from '../../core/errors.ts';
import { slices } from '../../core/slices.ts';
import type { Eligibility } from '../../store/ports/eligibility.ts';
import type { Store } from '../../store/store.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { Watcher, WatchRequest } from './stream-request.ts';

/** Most users whose eligibility is read in one statement. */
const READ_MAX = 1_000;

type Viewer = NonNullable<WatchRequest['viewer']>;
type GroupWatcher = Watcher & { readonly request: WatchRequest };

const isOfGroup = (watcher: Watcher): watcher is GroupWatcher => watcher.request.groupId !== undefined;

/**
 * Checks that the reader may watch the group: a host any group that exists, a viewer one in which the user is eligible.
 * @throws ServiceError
 */
export async function requireAccess(store: Store, request: WatchRequest): Promise<void> {
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

/** Ends the streams of readers who may no longer watch. Costs a read for each group, and for each 1,000 viewers of a project. */
export async function endWithoutAccess(store: Store, sessions: Iterable<Watcher>): Promise<void> {
  const ofGroups = [...sessions].filter(isOfGroup);
  for (const [project, own] of Map.groupBy(ofGroups, ({ request }) => request.caller.project)) {
    const hosts = own.filter(({ request }) => request.viewer === undefined);
    await endHosts(store, project, hosts);
    const viewers = own.filter(({ request }) => request.viewer !== undefined);
    for (const some of slices(viewers, READ_MAX)) {
      await endViewers(store, project, some);
      // The embedded store answers within the tick.
      await nextIteration();
    }
  }
}

async function endHosts(store: Store, project: ProjectKey, hosts: readonly GroupWatcher[]): Promise<void> {
  for (const [groupId, readers] of Map.groupBy(hosts, ({ request }) => request.groupId)) {
    if (await store.groups.exists(project, groupId)) continue;
    for (const reader of readers) reader.end(groupNotFound(groupId));
  }
}

async function endViewers(
  store: Store,
  project: ProjectKey,
  viewers: readonly GroupWatcher[],
): Promise<void> {
  const queries = viewers.map(({ request: { groupId, viewer } }) => ({
    groupId,
    userId: (viewer as Viewer).userId,
  }));
  const found = await store.eligibility.findMany(project, queries);
  for (const [index, { groupId, userId }] of queries.entries()) {
    const error = clientAccessError(found[index] as Eligibility, groupId, userId);
    if (error !== null) viewers[index]?.end(error);
  }
}
