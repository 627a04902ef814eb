import { Semaphore } from '../../concurrency/semaphore.ts';
import type { ProjectKey } from '../../values/project-key.ts';

/** Most readings at once. */
const READS_AT_ONCE = 8;
/** Texts of so many UTF-16 units are made in little time. */
const SHORT_LENGTH = 64 * 1_024;

/**
 * The readings of the store that streams of this process need: a few at once, one project after the other. The embedded store
 * answers within the event-loop tick, so a permit is given back in the next one: other requests are served in between.
 */
export class FeedReads {
  readonly #permits = new Semaphore({ permits: READS_AT_ONCE });
  readonly #long = new Semaphore({ permits: 1 });

  /** `read` must not call `run` itself. */
  async run<Result>(project: ProjectKey, read: () => Promise<Result>): Promise<Result> {
    await this.#permits.acquire(project);
    try {
      return await read();
    } finally {
      setImmediate(() => this.#permits.release(project));
    }
  }

  /**
   * The same for what a snapshot shows, which can be a megabyte, and whose text is made of the answer at once. `texts` are those that
   * it can be long for. Of the long answers, one is returned in an event-loop tick; the others wait with their permits.
   */
  async runLong<Result>(
    project: ProjectKey,
    read: () => Promise<Result>,
    texts: (result: Result) => readonly string[],
  ): Promise<Result> {
    return this.run(project, async () => {
      const result = await read();
      const length = texts(result).reduce((sum, text) => sum + text.length, 0);
      if (length > SHORT_LENGTH) {
        await this.#long.acquire(project);
        setImmediate(() => this.#long.release(project));
      }
      return result;
    });
  }
}
