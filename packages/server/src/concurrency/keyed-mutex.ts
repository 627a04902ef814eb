import { Semaphore } from './semaphore.ts';

/** Runs the tasks of one key one after the other, in order. Tasks of different keys run at once. */
export class KeyedMutex {
  readonly #semaphore: Semaphore;

  /** `unavailable` makes the error of a task that cannot begin in time. */
  constructor(unavailable?: () => Error) {
    this.#semaphore = new Semaphore({
      permits: Number.POSITIVE_INFINITY,
      permitsPerKey: 1,
      ...(unavailable && { unavailable }),
    });
  }

  /** Rejects when the task cannot begin by `until`, a time of `performance.now()`. */
  run<Result>(key: string, task: () => Promise<Result>, until?: number): Promise<Result> {
    return this.#semaphore.run(key, task, until);
  }
}
