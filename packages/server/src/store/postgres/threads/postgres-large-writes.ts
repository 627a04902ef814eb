import { StoreUnavailableError } from '../../store.ts';
import { Places } from '../connections/postgres-places.ts';
import type { OutcomeOf, WriteTask, WriteThreadOptions } from './postgres-write-protocol.ts';
import { WriteWorker } from './postgres-write-worker.ts';

/**
 * How many large writes are applied at once, each on a thread of its own: two of a project, so that one thread is left to
 * the others whatever a project sends. More of them would cost memory (half a GB for the largest body), connections, and
 * processors that the event loop needs too.
 */
const MOST_THREADS = 3;
/** How long a write waits for a thread, in milliseconds, and how many of a project may wait. The HTTP server bounds their bytes. */
const WAIT_MS = 30_000;
const MOST_WAITING = 64;
/** A thread that has had nothing to do for so long is ended, and its memory and connections given back. */
const IDLE_MS = 10_000;

/** Applies large writes (batches, and groups with long lists of members) away from the event loop. */
export class LargeWrites {
  readonly #options: WriteThreadOptions;
  readonly #places = new Places(MOST_THREADS, 'too many large writes are under way', MOST_WAITING);
  readonly #idle = new Map<WriteWorker, NodeJS.Timeout>();
  readonly #underWay = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(options: WriteThreadOptions) {
    this.#options = options;
  }

  /** Applies a write as soon as a thread is free for it. @throws StoreUnavailableError, ProjectGoneError */
  async apply<Task extends WriteTask>(task: Task): Promise<OutcomeOf<Task>> {
    if (this.#isClosed) throw new StoreUnavailableError('the store is closed');
    return this.#track(this.#apply(task));
  }

  #apply<Task extends WriteTask>(task: Task): Promise<OutcomeOf<Task>> {
    return this.#places.during(task.project, performance.now() + WAIT_MS, async () => {
      const worker = this.#takeIdle() ?? this.#start();
      try {
        return await worker.apply(task);
      } finally {
        if (worker.isAlive) this.#keep(worker);
      }
    });
  }

  #start(): WriteWorker {
    // Those who wait would find the server away too, later than anybody is to wait for that.
    return new WriteWorker(this.#options, (error) => this.#places.refuseAll(error));
  }

  /** The one that was busy last, so that those which are not needed end. */
  #takeIdle(): WriteWorker | undefined {
    for (const [worker, limit] of [...this.#idle].reverse()) {
      clearTimeout(limit);
      this.#idle.delete(worker);
      // One that died of itself is left behind.
      if (worker.isAlive) return worker;
    }
    return undefined;
  }

  #keep(worker: WriteWorker): void {
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

  /** Rejects the writes that wait, lets those that have a thread finish, however long they take, and ends the threads. */
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
