import { groupNotFound, userNotFound } from '../core/refusals.ts';
import type { ServiceError } from '../core/service-error.ts';
import type { PresenceScope } from '../presence/presence-store.ts';
import type { Standing, Store } from '../store/store.ts';
import type { StreamRequest } from './stream-request.ts';
import type { StreamSession } from './stream-session.ts';

/** Most standings that the Store is asked for at once. */
const ASKED_MAX = 1_000;

/** The readers who watch a group as one of its users, by that user: they may do so for as long as they may be present. */
export class Viewers {
  readonly #store: Store;
  readonly #scope: PresenceScope;
  readonly #sessions = new Map<string, Set<StreamSession>>();

  constructor(store: Store, scope: PresenceScope) {
    this.#store = store;
    this.#scope = scope;
  }

  /** Nothing happens for a reader who watches as nobody. */
  add(session: StreamSession): void {
    const userId = session.asked.viewer?.userId;
    if (userId === undefined) return;
    const sessions = this.#sessions.get(userId);
    if (sessions === undefined) this.#sessions.set(userId, new Set([session]));
    else sessions.add(session);
  }

  remove(session: StreamSession): void {
    const userId = session.asked.viewer?.userId;
    if (userId === undefined) return;
    const sessions = this.#sessions.get(userId);
    sessions?.delete(session);
    if (sessions?.size === 0) this.#sessions.delete(userId);
  }

  /** Ends the streams of those of these users who may not watch any more; of all of them where it is null. */
  async check(userIds: readonly string[] | null): Promise<void> {
    const { project, groupId } = this.#scope;
    const concerned = (userIds ?? [...this.#sessions.keys()]).filter((id) => this.#sessions.has(id));
    for (let from = 0; from < concerned.length; from += ASKED_MAX) {
      const asked = concerned.slice(from, from + ASKED_MAX).map((userId) => ({ groupId, userId }));
      const standings = await this.#store.standings(project, asked);
      for (const [index, { userId }] of asked.entries()) this.#judge(userId, standings[index] as Standing);
    }
  }

  #judge(userId: string, standing: Standing): void {
    for (const session of this.#sessions.get(userId) ?? []) {
      const refusal = viewerRefusal(standing, session.asked);
      if (refusal !== null) session.end(refusal);
    }
  }
}

/**
 * Holds that the reader may watch: a host any group that exists, a viewer one that they could be present in.
 * @throws ServiceError
 */
export async function requireWatchable(store: Store, asked: StreamRequest): Promise<void> {
  const { caller, groupId, noun, viewer } = asked;
  if (viewer === undefined) {
    if (!(await store.groupExists(caller.project, groupId))) throw groupNotFound(noun, groupId);
    return;
  }
  const refusal = viewerRefusal(await store.standing(caller.project, groupId, viewer.userId), asked);
  if (refusal !== null) throw refusal;
}

/** Why somebody may not watch, or null. Which other groups there are is not for viewers to find out. */
function viewerRefusal(standing: Standing, { viewer, noun, groupId }: StreamRequest): ServiceError | null {
  const { userId } = viewer as NonNullable<StreamRequest['viewer']>;
  if (standing.user === null) return userNotFound(userId);
  if (standing.user === 'deleted') return userNotFound(userId, 'is deleted');
  if (!standing.member) return groupNotFound(noun, groupId, `has no member ${userId}`);
  return standing.group === 'active' ? null : groupNotFound(noun, groupId, 'is deleted');
}
