import { Repeated } from '../../concurrency/repeated.ts';
import type { Store } from '../../store/store.ts';
import type { ProjectKey } from '../../values/project-key.ts';
import type { Watcher } from './stream-request.ts';
import { endWithoutAccess } from './watch-access.ts';

/** Most users of a project that are named; beyond, all of the project's readers are checked. */
const NAMED_MAX = 1_000;

/**
 * Ends streams of readers who may no longer read, and sockets. One check runs at a time, and what is requested meanwhile is one
 * more, so very many removals of members cost no more than checking over and over.
 */
export class AccessChecks {
  readonly #store: Store;
  readonly #watchers: Iterable<Watcher>;
  /** Viewers by project whose access is to be checked; with null, all readers of the project. */
  #due = new Map<ProjectKey, Set<string> | null>();
  readonly #run = new Repeated(() => this.#check());

  constructor(store: Store, watchers: Iterable<Watcher>) {
    this.#store = store;
    this.#watchers = watchers;
  }

  /** These users, or with null all readers of the project, may have lost access. */
  request(project: ProjectKey, userIds: readonly string[] | null): void {
    this.#add(project, userIds);
    void this.#run.request();
  }

  /** Repeats a check that failed. Call it once a second. */
  tick(): void {
    if (this.#due.size > 0) void this.#run.request();
  }

  #add(project: ProjectKey, userIds: Iterable<string> | null): void {
    const due = this.#due.get(project);
    if (due === null) return;
    const named = userIds === null ? null : new Set([...(due ?? []), ...userIds]);
    this.#due.set(project, named === null || named.size > NAMED_MAX ? null : named);
  }

  async #check(): Promise<void> {
    const due = this.#due;
    this.#due = new Map();
    const concerned = [...this.#watchers].filter(({ request: { caller, viewer } }) => {
      const named = due.get(caller.project);
      return named === null || (viewer !== undefined && named?.has(viewer.userId));
    });
    try {
      await endWithoutAccess(this.#store, concerned);
    } catch {
      // The store is away: nothing else may request the check again.
      for (const [project, userIds] of due) this.#add(project, userIds);
    }
  }
}
