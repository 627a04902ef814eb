import { groupNotFound, userNotFound } from '../core/refusals.ts';
import type { ServiceError } from '../core/service-error.ts';
import type { ProjectKey, Standing, Store } from '../store/store.ts';
import type { StreamRequest } from './stream-request.ts';
import type { StreamSession } from './stream-session.ts';

/** Most standings that the Store is asked for at once. */
const ASKED_MAX = 1_000;

type Viewer = NonNullable<StreamRequest['viewer']>;

/**
 * Holds that the reader may watch: a host any group that exists, a viewer one that they could be present in.
 * @throws ServiceError
 */
export async function requireWatchable(store: Store, asked: StreamRequest): Promise<void> {
  const { caller, groupId, viewer } = asked;
  if (viewer === undefined) {
    if (!(await store.groupExists(caller.project, groupId))) throw goneFor(asked);
    return;
  }
  const refusal = viewerRefusal(await store.standing(caller.project, groupId, viewer.userId), asked, viewer);
  if (refusal !== null) throw refusal;
}

/** Ends the streams of those who may not watch any more. Each group, and each thousand viewers of a project, is one question. */
export async function endRefused(store: Store, sessions: Iterable<StreamSession>): Promise<void> {
  for (const [project, own] of Map.groupBy(sessions, ({ asked }) => asked.caller.project)) {
    const hosts = own.filter(({ asked }) => asked.viewer === undefined);
    await endHosts(store, project, hosts);
    const viewers = own.filter(({ asked }) => asked.viewer !== undefined);
    for (let from = 0; from < viewers.length; from += ASKED_MAX) {
      await endViewers(store, project, viewers.slice(from, from + ASKED_MAX));
    }
  }
}

async function endHosts(store: Store, project: ProjectKey, hosts: readonly StreamSession[]): Promise<void> {
  for (const [groupId, readers] of Map.groupBy(hosts, ({ asked }) => asked.groupId)) {
    if (await store.groupExists(project, groupId)) continue;
    for (const reader of readers) reader.end(goneFor(reader.asked));
  }
}

async function endViewers(
  store: Store,
  project: ProjectKey,
  viewers: readonly StreamSession[],
): Promise<void> {
  const questions = viewers.map(({ asked: { groupId, viewer } }) => ({
    groupId,
    userId: (viewer as Viewer).userId,
  }));
  const standings = await store.standings(project, questions);
  for (const [index, reader] of viewers.entries()) {
    const { asked } = reader;
    const refusal = viewerRefusal(standings[index] as Standing, asked, asked.viewer as Viewer);
    if (refusal !== null) reader.end(refusal);
  }
}

const goneFor = ({ noun, groupId }: StreamRequest) => groupNotFound(noun, groupId);

/** Why somebody may not watch, or null. Which other groups there are is not for viewers to find out. */
function viewerRefusal(
  standing: Standing,
  { noun, groupId }: StreamRequest,
  { userId }: Viewer,
): ServiceError | null {
  if (standing.user === null) return userNotFound(userId);
  if (standing.user === 'deleted') return userNotFound(userId, 'is deleted');
  if (standing.incarnation === null) return groupNotFound(noun, groupId, `has no member ${userId}`);
  return standing.group === 'active' ? null : groupNotFound(noun, groupId, 'is deleted');
}
