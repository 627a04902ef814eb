import { Worker } from 'node:worker_threads';
import { type RequestSpan, requestSpan } from '../../../tracing/request-span.ts';
import { StoreUnavailableError } from '../../../values/engine-errors.ts';
import { SchemaTooNewError } from '../../migration-files.ts';
import { STORE_WRITES } from '../../store.ts';
import type { StoreTimings } from '../../store-timings.ts';
import { fromThreadFailure } from '../../worker-threads/thread-failure.ts';
import { transferableOf } from '../../worker-threads/transferable.ts';
import { SqliteCheckpointer } from '../files/sqlite-checkpointer.ts';
import type { StoreCondition } from '../files/sqlite-condition.ts';
import type { WriteMethods, WritePort } from '../sqlite-ports.ts';
import type {
  FromWriter,
  ToWriter,
  WriteReply,
  WriteRequest,
  WriterOptions,
} from './sqlite-writer-protocol.ts';

/** The reports of the writer to the reader's side. */
interface WriterEvents {
  /** A commit is on disk: snapshots older than now are stale. Called before the writes resolve. */
  onCommit(): void;
  /** Let go of snapshots until `onResume`; answers how many long reads go on holding one. */
  onRelease(): number;
  onResume(): void;
}

const NOTHING: readonly ArrayBuffer[] = [];

interface Pending {
  /** When the write was requested: a time of `performance.now()`. */
  readonly begun: number;
  /** The request that waits for it. */
  readonly request: RequestSpan | undefined;
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

/** The main thread's end of the writer: sends operations to its thread and resolves them when they are on disk. */
export class SqliteWriter {
  readonly #worker: Worker;
  readonly #checkpointer: SqliteCheckpointer;
  readonly #events: WriterEvents;
  readonly #condition: StoreCondition;
  readonly #timings: StoreTimings;
  readonly #pending = new Map<number, Pending>();
  readonly #exited: Promise<void>;
  #outbox: WriteRequest[] = [];
  /** The buffers that the requests of the outbox give away. */
  #transfer: ArrayBuffer[] = [];
  #lastNumber = 0;
  #failure: Error | null = null;
  #closing = false;

  private constructor(
    worker: Worker,
    checkpointer: SqliteCheckpointer,
    events: WriterEvents,
    condition: StoreCondition,
    timings: StoreTimings,
  ) {
    this.#worker = worker;
    this.#checkpointer = checkpointer;
    this.#timings = timings;
    this.#condition = condition;
    this.#events = events;
    this.#exited = new Promise((resolve) => worker.once('exit', () => resolve()));
    worker.on('message', (message: FromWriter) => this.#receive(message));
    worker.on('error', (error) => this.#fail(error as Error));
    worker.once('exit', () => this.#fail(new Error('the writer has ended')));
  }

  /** Starts the thread; resolves when the store is open and its schema up to date. @throws SchemaTooNewError */
  static async start(
    options: WriterOptions,
    events: WriterEvents,
    condition: StoreCondition,
    timings: StoreTimings,
  ): Promise<SqliteWriter> {
    const worker = new Worker(new URL('./sqlite-writer-thread.ts', import.meta.url), { workerData: options });
    using unfinished = new DisposableStack();
    unfinished.defer(() => void worker.terminate());
    const first = await new Promise<FromWriter>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', (code) => reject(new Error(`the writer ended with ${code} before it began`)));
    });
    if (first.type !== 'ready') {
      const { kind, message } = first as Extract<FromWriter, { type: 'startFailed' }>;
      throw kind === 'schemaTooNew'
        ? new SchemaTooNewError(message)
        : new StoreUnavailableError(`the store ${options.file} cannot be opened: ${message}`);
    }
    condition.watch(first.files);
    const checkpointer = new SqliteCheckpointer({ file: options.file, files: first.files });
    unfinished.move();
    return new SqliteWriter(worker, checkpointer, events, condition, timings);
  }

  /** How many writes wait or are being applied. */
  get pending(): number {
    return this.#pending.size;
  }

  readonly methods: WriteMethods = (port) => {
    const methods = STORE_WRITES[port].map((name) => [
      name,
      (...parameters: unknown[]) => this.#run(port, name, parameters),
    ]);
    return Object.fromEntries(methods);
  };

  #run(port: WritePort, method: string, parameters: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.check();
      this.#lastNumber += 1;
      this.#pending.set(this.#lastNumber, {
        begun: performance.now(),
        request: requestSpan(),
        resolve,
        reject,
      });
      // All writes of this event-loop tick go over in one message.
      if (this.#outbox.length === 0) setImmediate(() => this.#send());
      this.#outbox.push([this.#lastNumber, port, method, parameters]);
      for (const buffer of transferableOf(parameters)) this.#transfer.push(buffer);
    });
  }

  /** Whether the thread is alive and the store may be written. @throws StoreUnavailableError */
  check(): void {
    this.#condition.require();
    if (this.#failure !== null)
      throw new StoreUnavailableError('the store cannot be written', { cause: this.#failure });
  }

  /** Commits all that was requested, folds the log back and ends the thread. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#send();
    // The writer empties the log, which it cannot while another connection copies.
    await this.#checkpointer.close();
    this.#post({ type: 'close' });
    await this.#exited;
    this.#checkpointer[Symbol.dispose]();
  }

  #post(message: ToWriter, transfer: readonly ArrayBuffer[] = NOTHING): void {
    this.#worker.postMessage(message, transfer);
  }

  #send(): void {
    if (this.#outbox.length === 0) return;
    const [requests, transfer] = [this.#outbox, this.#transfer];
    this.#outbox = [];
    this.#transfer = [];
    this.#post({ type: 'write', requests }, transfer);
  }

  #receive(message: FromWriter): void {
    if (message.type === 'done') {
      this.#events.onCommit();
      this.#timings.writeBatches.observe(message.replies.length);
      const now = performance.now();
      for (const reply of message.replies) this.#complete(reply, now, message.durationMs);
    } else if (message.type === 'lost') {
      this.#condition.lose(message.reason);
    } else if (message.type === 'copy') {
      void this.#copyLog(message.left);
    } else if (message.type === 'release') {
      this.#post({ type: 'released', longReads: this.#events.onRelease() });
    } else if (message.type === 'resume') {
      this.#events.onResume();
    }
  }

  async #copyLog(left: number): Promise<void> {
    if (this.#closing) return;
    await this.#checkpointer.copy();
    this.#post({ type: 'copied', before: left });
  }

  /** @param commitMs how long the commit took of which the write was a part */
  #complete([number, failure, answer]: WriteReply, now: number, commitMs: number): void {
    const pending = this.#pending.get(number);
    if (pending === undefined) return;
    this.#pending.delete(number);
    const { writes, writeWaits } = this.#timings;
    const error = failure === null ? undefined : fromThreadFailure(failure);
    writes.ended(pending.begun, error, pending.request);
    writeWaits.observe(Math.max(0, now - pending.begun - commitMs) / 1_000);
    if (error === undefined) pending.resolve(answer);
    else pending.reject(error);
  }

  #fail(error: Error): void {
    const isFirst = this.#failure === null;
    this.#failure ??= error;
    for (const { reject } of this.#pending.values()) {
      reject(new StoreUnavailableError('the store stopped before the write was answered', { cause: error }));
    }
    this.#pending.clear();
    // A process whose store cannot be written must not stay alive. No handler catches this error, so the process ends.
    if (isFirst && !this.#closing) queueMicrotask(() => fail(error));
  }
}

function fail(error: Error): never {
  throw new Error('the thread that writes the store has died', { cause: error });
}
