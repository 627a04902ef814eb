import { Worker } from 'node:worker_threads';
import { type PooledWorker, WorkerPool } from '../../concurrency/worker-pool.ts';
import type { CheckpointerOptions } from './sqlite-checkpointer-thread.ts';

/** The main thread's end of the checkpointer's thread. */
class CheckpointWorker implements PooledWorker {
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  #copied: () => void = () => {};
  #isAlive = true;

  constructor(options: CheckpointerOptions) {
    this.#worker = new Worker(new URL('./sqlite-checkpointer-thread.ts', import.meta.url), {
      workerData: options,
    });
    this.#exited = new Promise((resolve) => this.#worker.once('exit', () => resolve()));
    this.#worker.on('message', () => this.#copied());
    this.#worker.on('error', () => this.#fail());
    this.#exited.then(() => this.#fail());
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  copy(): Promise<void> {
    return new Promise((resolve) => {
      this.#copied = resolve;
      this.#worker.postMessage('copy');
    });
  }

  async close(): Promise<void> {
    this.#isAlive = false;
    this.#worker.postMessage('close');
    await this.#exited;
  }

  /** The log is as it was: its writer finds that nothing was copied. */
  #fail(): void {
    this.#isAlive = false;
    this.#copied();
  }
}

/**
 * Copies the log into the store's file on a thread of its own, so that no write waits for it. The thread is started when the log
 * is long, and ended when it has had nothing to do for 10 seconds.
 */
export class SqliteCheckpointer {
  readonly #pool: WorkerPool<CheckpointWorker>;

  constructor(options: CheckpointerOptions) {
    this.#pool = new WorkerPool(() => new CheckpointWorker(options), { permits: 1 });
  }

  /** Resolves when what no reader needs is copied, or that has failed. */
  copy(): Promise<void> {
    return this.#pool.run('log', (worker) => worker.copy());
  }

  /** Lets a copy that is under way finish, and ends the thread. */
  close(): Promise<void> {
    return this.#pool.close();
  }
}
