import { Semaphore } from '../../concurrency/semaphore.ts';
import type { ProjectKey } from '../../values/project-key.ts';

/** Most readings at once. */
const READS_AT_ONCE = 8;

/**
 * The readings of the store that streams of this process need: a few at once, one project after the other. The embedded store
 * answers within the event-loop tick, so a permit is given back in the next one: other requests are served in between.
 */
export class FeedReads {
  readonly #permits = new Semaphore({ permits: READS_AT_ONCE });

  /** `read` must not call `run` itself. */
  async run<Result>(project: ProjectKey, read: () => Promise<Result>): Promise<Result> {
    await this.#permits.acquire(project);
    try {
      return await read();
    } finally {
      setImmediate(() => this.#permits.release(project));
    }
  }
}
