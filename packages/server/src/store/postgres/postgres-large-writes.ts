import { TaskWorker } from '../../concurrency/task-worker.ts';
import { WorkerPool } from '../../concurrency/worker-pool.ts';
import { StoreUnavailableError } from '../../values/engine-errors.ts';
import type { StoreTimings } from '../store-timings.ts';
import { fromThreadFailure } from '../worker-threads/thread-failure.ts';
import { transferableOf } from '../worker-threads/transferable.ts';
import { storeClosed } from './connections/postgres-pool.ts';
import type {
  FromWriteThread,
  LargeWrite,
  LargeWriteMethods,
  LargeWriteName,
  WriteThreadOptions,
} from './postgres-write-protocol.ts';

/**
 * How many large writes are applied at once, each on a thread of its own: two of a project, so that one thread is left to
 * the others whatever a project sends. More of them would cost memory (half a GB for the largest body), connections, and
 * processors that the event loop needs too.
 */
const MOST_THREADS = 3;
const MOST_THREADS_PER_PROJECT = 2;
/** How long a write waits for a thread, in milliseconds, and how many of a project may wait. The HTTP server bounds their bytes. */
const WAIT_MS = 30_000;
const MOST_WAITING = 64;

const THREAD = new URL('./postgres-write-thread.ts', import.meta.url);

/** When the thread dies first, the server rolls back or has committed all of the write. */
const died = (cause: Error) => new StoreUnavailableError('the thread of the write died', { cause });

type WriteWorker = TaskWorker<LargeWrite, FromWriteThread>;

/** Applies large writes away from the event loop: batches, groups with many members, and the deletion of users of many groups. */
export class LargeWrites {
  readonly #pool: WorkerPool<WriteWorker>;
  readonly #timings: StoreTimings;
  readonly #underWay = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(options: WriteThreadOptions, timings: StoreTimings) {
    this.#timings = timings;
    this.#pool = new WorkerPool(() => new TaskWorker(THREAD, died, options), {
      permits: MOST_THREADS,
      permitsPerKey: MOST_THREADS_PER_PROJECT,
      waitingPerKey: MOST_WAITING,
      unavailable: () => new StoreUnavailableError('too many large writes are under way'),
    });
  }

  get pending(): number {
    return this.#underWay.size;
  }

  /** Runs a method of a port as soon as a thread is free for it. @throws StoreUnavailableError, ProjectGoneError */
  async apply<Name extends LargeWriteName>(
    name: Name,
    ...parameters: Parameters<LargeWriteMethods[Name]>
  ): Promise<Awaited<ReturnType<LargeWriteMethods[Name]>>> {
    if (this.#isClosed) throw storeClosed();
    const applied = this.#timings.writes.measure(() => this.#apply({ name, parameters }));
    this.#underWay.add(applied);
    const outcome = await applied.finally(() => this.#underWay.delete(applied));
    return outcome as Awaited<ReturnType<LargeWriteMethods[Name]>>;
  }

  async #apply(write: LargeWrite): Promise<unknown> {
    const [project] = write.parameters;
    const begun = performance.now();
    const applyOn = (worker: WriteWorker) => {
      this.#timings.writeWaits.observeSince(begun);
      return this.#applyOn(worker, write);
    };
    const answer = await this.#pool.run(project, applyOn, begun + WAIT_MS);
    if ('outcome' in answer) return answer.outcome;
    throw fromThreadFailure(answer.failure);
  }

  async #applyOn(worker: WriteWorker, write: LargeWrite): Promise<FromWriteThread> {
    const answer = await worker.run(write, transferableOf(write.parameters));
    // Before the thread is free: the writes that wait would find out later than a caller is to wait for it.
    if ('isAway' in answer && answer.isAway) this.#pool.rejectWaiting(fromThreadFailure(answer.failure));
    return answer;
  }

  /** Rejects the writes that wait, lets those that have a thread finish, however long they take, and ends the threads. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#pool.rejectWaiting(storeClosed());
    await Promise.allSettled(this.#underWay);
    await this.#pool.close();
  }
}
