import { Worker } from 'node:worker_threads';
import type { PooledWorker } from './worker-pool.ts';

/**
 * The main thread's end of a worker thread that does one task at a time, and answers each with one message. The message `close`
 * ends it.
 */
export class TaskWorker<Task, Answer> implements PooledWorker {
  readonly #worker: Worker;
  readonly #exited: Promise<unknown>;
  readonly #died: (cause: Error) => Error;
  #answer: PromiseWithResolvers<Answer> | null = null;
  #isAlive = true;

  /** `died` makes the error of a task whose thread dies. */
  constructor(module: URL, died: (cause: Error) => Error, workerData?: unknown) {
    this.#died = died;
    this.#worker = new Worker(module, { workerData });
    this.#worker.on('message', (answer: Answer) => this.#answer?.resolve(answer));
    this.#worker.on('error', (error) => this.#fail(error as Error));
    this.#exited = new Promise((resolve) => this.#worker.once('exit', resolve));
    this.#exited.then(() => this.#fail(new Error('it has ended')));
  }

  /** Whether it can be given another task. */
  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** Does a task; not before the previous one is done. */
  run(task: Task, transfer: readonly ArrayBuffer[] = []): Promise<Answer> {
    this.#answer = Promise.withResolvers();
    this.#worker.postMessage(task, transfer);
    return this.#answer.promise;
  }

  /** Ends the thread after the task that it does. */
  async close(): Promise<void> {
    this.#isAlive = false;
    this.#worker.postMessage('close');
    await this.#exited;
  }

  /** Ends the thread at once. */
  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }

  /** The thread alone does not delay the end of the process. */
  unref(): void {
    this.#worker.unref();
  }

  #fail(cause: Error): void {
    this.#isAlive = false;
    this.#answer?.reject(this.#died(cause));
  }
}
