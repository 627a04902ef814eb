/**
 * The writer's thread: the only thread of this process that writes the store. It takes all operations that have
 * arrived, commits them together (see GroupCommit) and answers them: a slow disk costs one wait for many callers, and
 * none of it is on the event loop that serves requests.
 */
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { SchemaTooNewError } from '../../migration-files.ts';
import { restAfter } from '../../purge-rest.ts';
import { hasPackedList } from '../../worker-threads/packed-ids.ts';
import { StoreCondition } from '../files/sqlite-condition.ts';
import {
  checkStoreFiles,
  createStoreFile,
  type FileIdentities,
  fileIdentities,
  hasOtherLog,
  hasStoreFiles,
} from '../files/sqlite-files.ts';
import { type CheckpointMode, SqliteLog } from '../files/sqlite-log.ts';
import { SqliteConnection } from '../sqlite-connection.ts';
import { migrate } from '../sqlite-migrate.ts';
import { GroupCommit } from './sqlite-group-commit.ts';
import type { FromWriter, ToWriter, WriteRequest, WriterOptions } from './sqlite-writer-protocol.ts';

/** After so long without a write the log is emptied. */
const IDLE_CHECKPOINT_MS = 1_000;

/** So many bytes of the log are copied while writes wait, in a few milliseconds. What is more is copied before, while they go on. */
const REST_BYTES = 1_024 ** 2;

/** Most operations that share one commit. */
const OPERATIONS_MAX = 4_096;

/** Whether a write is a batch, or has packed lists of IDs. */
const isLarge = ([, port, , parameters]: WriteRequest): boolean =>
  port === 'batches' || parameters.some(hasPackedList);

/** How many operations a write is: each update of a list counts. */
const operationsIn = ([, , method, [, updates]]: WriteRequest): number =>
  method === 'putMany' && Array.isArray(updates) ? updates.length : 1;

/** Whether a write leaves rows that are removed in the background. */
const leavesRows = ([, port, method]: WriteRequest): boolean =>
  method === 'delete' && (port === 'projects' || port === 'groups' || port === 'threads');

class WriterThread {
  readonly #port: MessagePort;
  readonly #options: WriterOptions;
  readonly #connection: SqliteConnection;
  readonly #condition: StoreCondition;
  readonly #commit: GroupCommit;
  readonly #queue: WriteRequest[] = [];
  readonly #idle: NodeJS.Timeout;
  readonly #log: SqliteLog;
  /** The used bytes of the log at which the next checkpoint is made. */
  #checkpointAt: number;
  /** The checkpoint that is made when the log is copied but for a rest, and the main thread has released its snapshots. */
  #pendingCheckpoint: CheckpointMode | null = null;
  #purging = false;
  #nextWork: NodeJS.Immediate | undefined;
  #closing = false;

  readonly #files: FileIdentities;

  constructor(port: MessagePort, options: WriterOptions, connection: SqliteConnection) {
    this.#port = port;
    this.#options = options;
    this.#checkpointAt = options.checkpointBytes;
    this.#connection = connection;
    this.#log = new SqliteLog(connection, options.checkpointBytes);
    this.#files = fileIdentities(options.file);
    this.#condition = new StoreCondition((reason) => this.#post({ type: 'lost', reason }), this.#files);
    this.#commit = new GroupCommit(connection, options.durableBounds, this.#condition);
    this.#idle = setTimeout(() => this.#tidy(), IDLE_CHECKPOINT_MS).unref();
  }

  serve(): void {
    this.#port.on('message', (message: ToWriter) => {
      this.#take(message);
      this.#work();
    });
    this.#post({ type: 'ready', files: this.#files });
    this.#tidy();
  }

  #post(message: FromWriter): void {
    this.#port.postMessage(message);
  }

  #take(message: ToWriter): void {
    if (message.type === 'write') for (const request of message.requests) this.#queue.push(request);
    else if (message.type === 'copied') this.#copyLog(message.before);
    else if (message.type === 'released') this.#checkpoint(message.longReads);
    else this.#closing = true;
  }

  /** Commits all that has arrived, and what arrives meanwhile; then ends, when that was requested. */
  #work(): void {
    do {
      // Writes that arrived during the last flush wait in the message port: they join the next commit.
      for (let next = this.#receive(); next !== null; next = this.#receive()) this.#take(next);
      if (this.#queue.length === 0) {
        if (this.#closing) this.#end();
        return;
      }
      this.#commitSome();
    } while (!this.#purging);
    // Slices of a purge come from the event loop, to which writes that never stop would not return.
    clearImmediate(this.#nextWork);
    this.#nextWork = setImmediate(() => this.#work());
  }

  #commitSome(): void {
    const requests = this.#queue.splice(0, this.#sharing());
    const begun = performance.now();
    const replies = this.#commit.run(requests);
    const durationMs = performance.now() - begun;
    this.#post({ type: 'done', replies, durationMs });
    this.#checkpointLongLog();
    this.#idle.refresh();
    if (requests.some(leavesRows)) this.#purge();
  }

  /**
   * How many of the queue share the next commit. A large write has one of its own: earlier writes do not wait for it, and
   * later ones wait for no other.
   */
  #sharing(): number {
    let operations = 0;
    for (const [index, request] of this.#queue.entries()) {
      operations += operationsIn(request);
      if (isLarge(request) || operations > OPERATIONS_MAX) return Math.max(1, index);
    }
    return this.#queue.length;
  }

  #receive(): ToWriter | null {
    return (receiveMessageOnPort(this.#port)?.message as ToWriter | undefined) ?? null;
  }

  #checkpointLongLog(): void {
    if (this.#log.usedBytes() >= this.#checkpointAt) this.#requestCheckpoint('RESTART');
  }

  /** A long log slows reads and fills the disk, so it is copied into the file and begins anew. */
  #requestCheckpoint(mode: CheckpointMode): void {
    if (this.#pendingCheckpoint !== null || this.#closing || this.#condition.isLost) return;
    this.#pendingCheckpoint = mode;
    this.#copyLog(Number.POSITIVE_INFINITY);
  }

  /**
   * The checkpointer copies the log, and what was written meanwhile, until a rest is left or a reader keeps it from copying more.
   * `before` are the bytes that were left the last time. The log can begin anew only while no reader is in it. The main thread's
   * reader nearly always is, so the main thread releases its snapshots first.
   */
  #copyLog(before: number): void {
    const left = this.#log.uncopiedBytes();
    const isEnough = left <= REST_BYTES || left > before / 2;
    this.#post(isEnough ? { type: 'release' } : { type: 'copy', left });
  }

  #checkpoint(longReads: number): void {
    // A checkpoint that needs what long reads are in would make the writers wait for them.
    this.#log.checkpoint(longReads === 0 ? (this.#pendingCheckpoint ?? 'PASSIVE') : 'PASSIVE');
    this.#checkpointAt = this.#log.usedBytes() + this.#options.checkpointBytes;
    this.#pendingCheckpoint = null;
    this.#post({ type: 'resume' });
  }

  #emptyLog(): void {
    try {
      // A log that was removed is still open here, and what it holds was acknowledged.
      if (!hasOtherLog(this.#files)) this.#log.checkpoint('TRUNCATE');
    } catch {
      // The directory cannot be read now. What the log holds is not lost: the next start reads it.
    }
  }

  /** Runs when nothing is written: reads are fastest without a log, and another process may have left one. */
  #tidy(): void {
    this.#requestCheckpoint('TRUNCATE');
    this.#purge();
  }

  /**
   * Removes what deletions left, a slice between other work, as long as there is some. It rests after each: the main thread may have
   * the same core.
   */
  #purge(): void {
    if (this.#purging) return;
    this.#purging = true;
    const slice = () => {
      const begin = performance.now();
      this.#purging = !this.#closing && this.#commit.purge();
      if (!this.#purging) return;
      this.#checkpointLongLog();
      this.#idle.refresh();
      setTimeout(slice, restAfter(performance.now() - begin)).unref();
    };
    setImmediate(slice);
  }

  #end(): void {
    clearImmediate(this.#nextWork);
    this.#emptyLog();
    this.#connection.close();
    this.#port.close();
  }
}

function open({ file }: WriterOptions): SqliteConnection {
  checkStoreFiles(file);
  if (!hasStoreFiles(file)) createStoreFile(file, (path) => openFile(path).close());
  return openFile(file);
}

function openFile(path: string): SqliteConnection {
  const connection = new SqliteConnection(path, { readOnly: false });
  try {
    migrate(connection.database);
    // SQLite would fold the log back whenever a commit finds it long; here that is arranged with the readers.
    connection.database.exec('PRAGMA wal_autocheckpoint = 0');
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

function main(port: MessagePort, options: WriterOptions): void {
  try {
    new WriterThread(port, options, open(options)).serve();
  } catch (error) {
    const kind = error instanceof SchemaTooNewError ? 'schemaTooNew' : 'unavailable';
    port.postMessage({ type: 'startFailed', kind, message: (error as Error).message } satisfies FromWriter);
    port.close();
  }
}

if (parentPort === null) throw new Error('this module runs on a worker thread');
main(parentPort, workerData as WriterOptions);
