import { Worker } from 'node:worker_threads';
import { type BatchOutcome, StoreUnavailableError } from '../../store.ts';
import { fromThreadFailure } from '../../thread-failure.ts';
import type {
  BatchTask,
  BatchThreadOptions,
  FromBatchThread,
  ToBatchThread,
} from './postgres-batch-protocol.ts';

interface Pending {
  resolve(outcome: BatchOutcome): void;
  reject(error: Error): void;
}

/** The main thread's end of a batch's thread. */
export class BatchWorker {
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  readonly #onAway: (error: Error) => void;
  #pending: Pending | null = null;
  #isAlive = true;

  /** `onAway` is called when the server says nothing at all. */
  constructor(options: BatchThreadOptions, onAway: (error: Error) => void) {
    this.#onAway = onAway;
    const worker = new Worker(new URL('./postgres-batch-thread.ts', import.meta.url), {
      workerData: options,
    });
    this.#worker = worker;
    this.#exited = new Promise((resolve) => worker.once('exit', () => resolve()));
    worker.on('message', (message: FromBatchThread) => this.#hear(message));
    worker.on('error', (error) => this.#fail(error as Error));
    worker.once('exit', () => this.#fail(new Error('it has ended')));
  }

  /** Whether it can be given another batch. */
  get isAlive(): boolean {
    return this.#isAlive;
  }

  /**
   * Applies a batch; not before the one before it is done. When the thread dies first, the server rolls back or has
   * committed all of it.
   * @throws StoreUnavailableError, ProjectGoneError
   */
  apply(task: BatchTask): Promise<BatchOutcome> {
    // The bytes that go there are gone here, and these are the caller's.
    const body = new Uint8Array(task.batch.body);
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject };
      this.#tell({ type: 'apply', task: { ...task, batch: { ...task.batch, body } } }, [body.buffer]);
    });
  }

  /** Ends the thread, which has nothing to do. */
  async close(): Promise<void> {
    this.#isAlive = false;
    this.#tell({ type: 'close' });
    await this.#exited;
  }

  #tell(message: ToBatchThread, transfer: ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  #hear(message: FromBatchThread): void {
    const pending = this.#pending;
    this.#pending = null;
    if (message.type === 'done') {
      pending?.resolve(message.outcome);
    } else {
      const error = fromThreadFailure(message.failure);
      pending?.reject(error);
      if (message.isAway) this.#onAway(error);
    }
  }

  #fail(cause: Error): void {
    this.#isAlive = false;
    this.#pending?.reject(new StoreUnavailableError('the thread of the batch died', { cause }));
    this.#pending = null;
  }
}
