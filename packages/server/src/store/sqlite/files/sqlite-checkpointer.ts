import { closeSync, openSync } from 'node:fs';
import { TaskWorker } from '../../../concurrency/task-worker.ts';
import { WorkerPool } from '../../../concurrency/worker-pool.ts';
import type { CheckpointerOptions } from './sqlite-checkpointer-thread.ts';

const THREAD = new URL('./sqlite-checkpointer-thread.ts', import.meta.url);

/**
 * Copies the log into the store's file on a thread of its own, so that no write waits for it. The thread is started when the log
 * is long, and ended when it has had nothing to do for 10 seconds.
 */
export class SqliteCheckpointer {
  readonly #pool: WorkerPool<TaskWorker<'copy', unknown>>;
  /** Of the store's file. */
  readonly #descriptor: number;

  constructor(files: Omit<CheckpointerOptions, 'descriptor'>) {
    this.#descriptor = openSync(files.file, 'r+');
    const options: CheckpointerOptions = { ...files, descriptor: this.#descriptor };
    this.#pool = new WorkerPool(() => new TaskWorker(THREAD, (cause) => cause, options), { permits: 1 });
  }

  /** Resolves when what no reader needs is copied, or that has failed. */
  async copy(): Promise<void> {
    // Where the thread dies, or none can be started, the log is as it was, and its writer finds that nothing was copied.
    await this.#pool.run('log', (worker) => worker.run('copy')).catch(() => {});
  }

  /** Lets a copy that is under way finish, and ends the thread. */
  close(): Promise<void> {
    return this.#pool.close();
  }

  /** Not before the writer's connection is closed: a process that closes one descriptor of a file loses its locks on the file. */
  [Symbol.dispose](): void {
    closeSync(this.#descriptor);
  }
}
