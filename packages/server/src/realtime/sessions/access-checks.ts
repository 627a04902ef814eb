import { Repeated } from '../../concurrency/repeated.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { Watcher } from './stream-request.ts';

/** Most users of a project that are named; beyond, all of the project's readers are checked. */
const NAMED_MAX = 1_000;

/**
 * Ends streams of readers who may no longer read. One check runs at a time, and what is requested meanwhile is one more, so
 * very many removals of members cost no more than checking over and over.
 */
export class AccessChecks<Session extends Watcher = Watcher> {
  readonly #sessions: Iterable<Session>;
  readonly #endWithoutAccess: (sessions: readonly Session[]) => Promise<void>;
  /** Viewers by project whose access is to be checked; with null, all readers of the project. */
  #due = new Map<ProjectKey, Set<string> | null>();
  readonly #run = new Repeated(() => this.#check());

  constructor(
    sessions: Iterable<Session>,
    endWithoutAccess: (sessions: readonly Session[]) => Promise<void>,
  ) {
    this.#sessions = sessions;
    this.#endWithoutAccess = endWithoutAccess;
  }

  /** These users, or with null all readers of the project, may have lost access. */
  request(project: ProjectKey, userIds: readonly string[] | null): void {
    const due = this.#due.get(project);
    if (due === null) return;
    const named = userIds === null ? null : new Set([...(due ?? []), ...userIds]);
    this.#due.set(project, named === null || named.size > NAMED_MAX ? null : named);
    void this.#run.request();
  }

  async #check(): Promise<void> {
    const due = this.#due;
    this.#due = new Map();
    const concerned = [...this.#sessions].filter(({ request: { caller, viewer } }) => {
      const named = due.get(caller.project);
      return named === null || (viewer !== undefined && named?.has(viewer.userId));
    });
    // Where the store is away, the next check ends them.
    await this.#endWithoutAccess(concerned).catch(() => {});
  }
}
