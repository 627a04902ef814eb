import { Semaphore, type SemaphoreLimits } from './semaphore.ts';

/** The main thread's end of a worker thread that does one task at a time. */
export interface PooledWorker {
  /** False once the thread has died: it can be given no task. */
  readonly isAlive: boolean;
  /** Ends the thread. Idempotent. */
  close(): Promise<void>;
}

/** A thread that has had no task for so long is ended, and its memory given back, in milliseconds. */
const IDLE_MS = 10_000;

/** Worker threads, started when a task needs one. The limits bound the tasks at once, and those that wait. */
export class WorkerPool<Pooled extends PooledWorker> {
  readonly #start: () => Pooled;
  readonly #permits: Semaphore;
  readonly #idle = new Map<Pooled, NodeJS.Timeout>();
  readonly #workers = new Set<Pooled>();

  constructor(start: () => Pooled, limits: SemaphoreLimits) {
    this.#start = start;
    this.#permits = new Semaphore(limits);
  }

  /** Runs the task on a thread. Rejects like {@link Semaphore.run} when no thread is free by `until`. */
  run<Result>(key: unknown, task: (worker: Pooled) => Promise<Result>, until?: number): Promise<Result> {
    return this.#permits.run(key, () => this.#runOn(this.#takeIdle() ?? this.#startOne(), task), until);
  }

  rejectWaiting(error: Error): void {
    this.#permits.rejectWaiting(error);
  }

  async close(): Promise<void> {
    for (const limit of this.#idle.values()) clearTimeout(limit);
    this.#idle.clear();
    await Promise.all([...this.#workers].map((worker) => worker.close()));
  }

  async #runOn<Result>(worker: Pooled, task: (worker: Pooled) => Promise<Result>): Promise<Result> {
    try {
      return await task(worker);
    } finally {
      this.#idle.set(worker, setTimeout(() => void this.#end(worker), IDLE_MS).unref());
    }
  }

  #startOne(): Pooled {
    const worker = this.#start();
    this.#workers.add(worker);
    return worker;
  }

  /** The most recently used one, so that threads which are not needed become idle long enough to end. */
  #takeIdle(): Pooled | undefined {
    for (const [worker, limit] of [...this.#idle].reverse()) {
      clearTimeout(limit);
      this.#idle.delete(worker);
      if (worker.isAlive) return worker;
      this.#workers.delete(worker);
    }
    return undefined;
  }

  async #end(worker: Pooled): Promise<void> {
    this.#idle.delete(worker);
    await worker.close();
    this.#workers.delete(worker);
  }
}
