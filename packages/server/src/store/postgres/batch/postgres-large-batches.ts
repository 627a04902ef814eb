import { type BatchOutcome, StoreUnavailableError } from '../../store.ts';
import { Places } from '../connections/postgres-places.ts';
import type { BatchTask, BatchThreadOptions } from './postgres-batch-protocol.ts';
import { BatchWorker } from './postgres-batch-worker.ts';

/**
 * How many large batches are applied at once, each on a thread of its own: two of a project, so that one thread is left to
 * the others whatever a project sends. More of them would cost memory (half a GB for the largest body), connections, and
 * processors that the event loop needs too.
 */
const MOST_THREADS = 3;
/** How long a batch waits for a thread, in milliseconds, and how many of a project do. Their bytes take memory meanwhile. */
const WAIT_MS = 15_000;
const MOST_WAITING = 8;
/** A thread that has had nothing to do for so long is ended, and its memory and connections given back. */
const IDLE_MS = 10_000;

/** Applies large batches away from the event loop. */
export class LargeBatches {
  readonly #options: BatchThreadOptions;
  readonly #places = new Places(MOST_THREADS, 'too many large batches are under way', MOST_WAITING);
  readonly #idle = new Map<BatchWorker, NodeJS.Timeout>();
  readonly #underWay = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(options: BatchThreadOptions) {
    this.#options = options;
  }

  /** Applies a batch when its turn has come. @throws StoreUnavailableError, ProjectGoneError */
  async apply(task: BatchTask): Promise<BatchOutcome> {
    if (this.#isClosed) throw new StoreUnavailableError('the store is closed');
    return this.#track(this.#apply(task));
  }

  #apply(task: BatchTask): Promise<BatchOutcome> {
    return this.#places.during(task.project, performance.now() + WAIT_MS, async () => {
      const worker = this.#takeIdle() ?? this.#start();
      try {
        return await worker.apply(task);
      } finally {
        if (worker.isAlive) this.#keep(worker);
      }
    });
  }

  #start(): BatchWorker {
    // Those who wait would find the server away too, later than anybody is to wait for that.
    return new BatchWorker(this.#options, (error) => this.#places.refuseAll(error));
  }

  /** The one that was busy last, so that those which are not needed end. */
  #takeIdle(): BatchWorker | undefined {
    for (const [worker, limit] of [...this.#idle].reverse()) {
      clearTimeout(limit);
      this.#idle.delete(worker);
      // One that died of itself is left behind.
      if (worker.isAlive) return worker;
    }
    return undefined;
  }

  #keep(worker: BatchWorker): void {
    const end = () => {
      this.#idle.delete(worker);
      this.#track(worker.close());
    };
    this.#idle.set(worker, setTimeout(end, IDLE_MS).unref());
  }

  #track<Result>(promise: Promise<Result>): Promise<Result> {
    const tracked = promise.finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
    return tracked;
  }

  /** Refuses the batches that wait, lets those that have a thread finish, however long they take, and ends the threads. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#places.refuseAll(new StoreUnavailableError('the store is closed'));
    await Promise.allSettled(this.#underWay);
    const idle = [...this.#idle];
    this.#idle.clear();
    for (const [, limit] of idle) clearTimeout(limit);
    await Promise.all(idle.map(([worker]) => worker.close()));
  }
}
