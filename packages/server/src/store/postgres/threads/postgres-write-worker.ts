import { Worker } from 'node:worker_threads';
import { isPacked } from '../../packed-ids.ts';
import { StoreUnavailableError } from '../../store.ts';
import { fromThreadFailure } from '../../thread-failure.ts';
import { transferable } from '../../transferable.ts';
import type {
  FromWriteThread,
  OutcomeOf,
  ToWriteThread,
  WriteTask,
  WriteThreadOptions,
} from './postgres-write-protocol.ts';

interface Pending {
  resolve(outcome: OutcomeOf<WriteTask>): void;
  reject(error: Error): void;
}

/** The buffers that a task holds, which are moved to the thread. */
function buffersOf(task: WriteTask): ArrayBuffer[] {
  if (task.type === 'applyBatch') return transferable(task.batch.body);
  const lists = task.type === 'putGroup' ? [task.write.members] : [task.change.add, task.change.remove];
  return transferable(...lists.map((list) => (isPacked(list) ? list.bytes : undefined)));
}

/** The main thread's end of a thread for large writes. */
export class WriteWorker {
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  readonly #onAway: (error: Error) => void;
  #pending: Pending | null = null;
  #isAlive = true;

  /** `onAway` is called when the server gives no answer at all. */
  constructor(options: WriteThreadOptions, onAway: (error: Error) => void) {
    this.#onAway = onAway;
    const worker = new Worker(new URL('./postgres-write-thread.ts', import.meta.url), {
      workerData: options,
    });
    this.#worker = worker;
    this.#exited = new Promise((resolve) => worker.once('exit', () => resolve()));
    worker.on('message', (message: FromWriteThread) => this.#hear(message));
    worker.on('error', (error) => this.#fail(error as Error));
    worker.once('exit', () => this.#fail(new Error('it has ended')));
  }

  /** Whether it can be given another task. */
  get isAlive(): boolean {
    return this.#isAlive;
  }

  /**
   * Applies a write; not before the previous one is done. When the thread dies first, the server rolls back or has
   * committed all of it.
   * @throws StoreUnavailableError, ProjectGoneError
   */
  apply<Task extends WriteTask>(task: Task): Promise<OutcomeOf<Task>> {
    return new Promise((resolve, reject) => {
      this.#pending = { resolve: resolve as Pending['resolve'], reject };
      this.#tell({ type: 'apply', task }, buffersOf(task));
    });
  }

  /** Ends the thread, which has nothing to do. */
  async close(): Promise<void> {
    this.#isAlive = false;
    this.#tell({ type: 'close' });
    await this.#exited;
  }

  #tell(message: ToWriteThread, transfer: ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  #hear(message: FromWriteThread): void {
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
    this.#pending?.reject(new StoreUnavailableError('the thread of the write died', { cause }));
    this.#pending = null;
  }
}
