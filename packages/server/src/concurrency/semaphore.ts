export interface SemaphoreLimits {
  /** Most callers at once. */
  readonly permits: number;
  /** Most callers of one key at once. Default: no limit of their own. */
  readonly permitsPerKey?: number;
  /** Most callers of one key that wait; more are rejected at once. Default: no limit. */
  readonly waitingPerKey?: number;
  /** Makes the error of a caller that gets no permit in time, or finds too many waiting. */
  readonly unavailable?: () => Error;
}

interface Waiter {
  grant(): void;
  reject(error: unknown): void;
}

/**
 * Limits how many callers do something at once. Each caller names a key, a project as a rule. Keys are served round robin
 * and callers of one key in order, so a key with many callers delays only itself.
 */
export class Semaphore {
  readonly #permitsPerKey: number;
  readonly #waitingPerKey: number;
  readonly #unavailable: () => Error;
  /** Permits in use by key; null where keys have no limit of their own. Maps that shrink and grow allocate each time. */
  readonly #inUse: Map<unknown, number> | null;
  /** The waiting callers by key; the key that is served next is the first. */
  readonly #waiting = new Map<unknown, Set<Waiter>>();
  #free: number;

  constructor({
    permits,
    permitsPerKey = permits,
    waitingPerKey = Number.POSITIVE_INFINITY,
    unavailable = () => new Error('no permit'),
  }: SemaphoreLimits) {
    this.#free = permits;
    this.#permitsPerKey = permitsPerKey;
    this.#inUse = permitsPerKey < permits ? new Map() : null;
    this.#waitingPerKey = waitingPerKey;
    this.#unavailable = unavailable;
  }

  /** Whether any caller waits for a permit. */
  get isContended(): boolean {
    return this.#waiting.size > 0;
  }

  /** How many callers wait for a permit. */
  get waiting(): number {
    let count = 0;
    for (const queue of this.#waiting.values()) count += queue.size;
    return count;
  }

  /** Runs the task with a permit. Rejects when there is none by `until`, a time of `performance.now()`. */
  async run<Result>(
    key: unknown,
    task: () => Promise<Result>,
    until = Number.POSITIVE_INFINITY,
  ): Promise<Result> {
    if (!this.tryAcquire(key)) await this.#wait(key, until);
    try {
      return await task();
    } finally {
      this.release(key);
    }
  }

  /** Takes a permit, which the caller gives back with {@link release}. Rejects like {@link run}. */
  async acquire(key: unknown, until = Number.POSITIVE_INFINITY): Promise<void> {
    if (!this.tryAcquire(key)) await this.#wait(key, until);
  }

  /** Takes a permit if there is one now. */
  tryAcquire(key: unknown): boolean {
    const inUse = this.#inUse?.get(key) ?? 0;
    if (this.#free === 0 || inUse >= this.#permitsPerKey) return false;
    this.#inUse?.set(key, inUse + 1);
    this.#free -= 1;
    return true;
  }

  release(key: unknown): void {
    const inUse = (this.#inUse?.get(key) ?? 0) - 1;
    if (inUse === 0) this.#inUse?.delete(key);
    else this.#inUse?.set(key, inUse);
    this.#free += 1;
    // While permits are free, other keys wait for permits of their own: this release changes nothing for them.
    if (this.#free > 1) this.#grantTo(key);
    else for (const next of this.#waiting.keys()) if (this.#grantTo(next)) return;
  }

  rejectWaiting(error: unknown): void {
    const queues = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const queue of queues) for (const waiter of queue) waiter.reject(error);
  }

  #wait(key: unknown, until: number): Promise<void> {
    const queue = this.#waiting.get(key) ?? new Set();
    if (queue.size >= this.#waitingPerKey) return Promise.reject(this.#unavailable());
    this.#waiting.set(key, queue);
    return new Promise((resolve, reject) => {
      // After a long event-loop tick, the answers that came meanwhile are read first: they may release permits.
      const expire = () =>
        setImmediate(() => {
          if (this.#remove(key, waiter)) reject(this.#unavailable());
        });
      const limit =
        until === Number.POSITIVE_INFINITY
          ? undefined
          : setTimeout(expire, Math.max(0, until - performance.now()));
      const waiter = {
        grant() {
          clearTimeout(limit);
          resolve();
        },
        reject(error: unknown) {
          clearTimeout(limit);
          reject(error);
        },
      };
      queue.add(waiter);
    });
  }

  /** Gives a permit to the first caller of the key, which becomes the last of the keys. False if it may have none. */
  #grantTo(key: unknown): boolean {
    const queue = this.#waiting.get(key);
    if (queue === undefined || !this.tryAcquire(key)) return false;
    const [first] = queue as Iterable<Waiter> as [Waiter];
    this.#remove(key, first);
    if (queue.size > 0) {
      this.#waiting.delete(key);
      this.#waiting.set(key, queue);
    }
    first.grant();
    return true;
  }

  #remove(key: unknown, waiter: Waiter): boolean {
    const queue = this.#waiting.get(key);
    if (queue?.delete(waiter) !== true) return false;
    if (queue.size === 0) this.#waiting.delete(key);
    return true;
  }
}
