import type { StreamSession } from './stream-session.ts';

/** The readers of a group: hosts, and those who watch it as one of its users, by that user. */
export class GroupReaders {
  readonly #hosts = new Set<StreamSession>();
  readonly #viewers = new Map<string, Set<StreamSession>>();

  add(session: StreamSession): void {
    const userId = session.asked.viewer?.userId;
    if (userId === undefined) {
      this.#hosts.add(session);
      return;
    }
    const sessions = this.#viewers.get(userId);
    if (sessions === undefined) this.#viewers.set(userId, new Set([session]));
    else sessions.add(session);
  }

  remove(session: StreamSession): void {
    this.#hosts.delete(session);
    const userId = session.asked.viewer?.userId;
    if (userId === undefined) return;
    const sessions = this.#viewers.get(userId);
    sessions?.delete(session);
    if (sessions?.size === 0) this.#viewers.delete(userId);
  }

  /** Everybody. */
  all(): StreamSession[] {
    return [...this.#hosts, ...[...this.#viewers.values()].flatMap((sessions) => [...sessions])];
  }

  /** Who watches as one of these users. */
  viewersOf(userIds: readonly string[]): StreamSession[] {
    return userIds.flatMap((id) => [...(this.#viewers.get(id) ?? [])]);
  }
}
