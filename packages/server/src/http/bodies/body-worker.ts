import { Worker } from 'node:worker_threads';
import { transferable } from '../../store/transferable.ts';
import { bodyUnavailable } from './body-memory.ts';
import type { BodyReading, BodyTask, FromBodyThread } from './body-reading.ts';

interface Pending {
  resolve(reading: BodyReading): void;
  reject(error: Error): void;
}

/** The main thread's end of a thread that reads bodies. */
export class BodyWorker {
  readonly #worker = new Worker(new URL('./body-thread.ts', import.meta.url));
  #pending: Pending | null = null;
  #isAlive = true;

  constructor() {
    // A connection waits for each body that is parsed. The thread alone does not delay the end of the process.
    this.#worker.unref();
    this.#worker.on('message', (message: FromBodyThread) => this.#resolve(message));
    this.#worker.on('error', (error) => this.#fail(error as Error));
    this.#worker.once('exit', () => this.#fail(new Error('it has ended')));
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** Reads one body, not before the previous one is done. @throws ServiceError 503 when the thread dies, for lack of memory, for example */
  read(task: BodyTask): Promise<BodyReading> {
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject };
      this.#worker.postMessage(task, transferable(...task.parts));
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #resolve(message: FromBodyThread): void {
    const pending = this.#pending;
    this.#pending = null;
    if (message.type !== 'failed') pending?.resolve(message);
    else pending?.reject(Object.assign(new Error(message.message), { stack: message.stack }));
  }

  #fail(cause: Error): void {
    this.#isAlive = false;
    this.#pending?.reject(bodyUnavailable('the thread that read the request body died', cause));
    this.#pending = null;
  }
}
