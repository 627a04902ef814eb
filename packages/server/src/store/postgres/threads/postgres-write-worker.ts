import { Worker } from 'node:worker_threads';
import { StoreUnavailableError } from '../../../values/engine-errors.ts';
import { transferableOf } from '../../transferable.ts';
import type {
  FromWriteThread,
  LargeWrite,
  ToWriteThread,
  WriteThreadOptions,
} from './postgres-write-protocol.ts';

/** The main thread's end of a thread for large writes. */
export class WriteWorker {
  readonly #worker: Worker;
  readonly #exited: Promise<unknown>;
  #answer: PromiseWithResolvers<FromWriteThread> | null = null;
  #isAlive = true;

  constructor(options: WriteThreadOptions) {
    this.#worker = new Worker(new URL('./postgres-write-thread.ts', import.meta.url), {
      workerData: options,
    });
    this.#worker.on('message', (message: FromWriteThread) => this.#answer?.resolve(message));
    this.#worker.on('error', (error) => this.#fail(error));
    this.#exited = new Promise((resolve) => this.#worker.once('exit', resolve));
    this.#exited.then(() => this.#fail(new Error('it has ended')));
  }

  /** Whether it can be given another write. */
  get isAlive(): boolean {
    return this.#isAlive;
  }

  /**
   * Applies a write; not before the previous one is done. When the thread dies first, the server rolls back or has
   * committed all of it.
   * @throws StoreUnavailableError
   */
  apply(write: LargeWrite): Promise<FromWriteThread> {
    this.#answer = Promise.withResolvers();
    this.#post(write, transferableOf(write.parameters));
    return this.#answer.promise;
  }

  /** Ends the thread, which has nothing to do. */
  async close(): Promise<void> {
    this.#isAlive = false;
    this.#post('close');
    await this.#exited;
  }

  #post(message: ToWriteThread, transfer: ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  #fail(cause: unknown): void {
    this.#isAlive = false;
    this.#answer?.reject(new StoreUnavailableError('the thread of the write died', { cause }));
  }
}
