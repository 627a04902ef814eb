/**
 * The writer's thread: the only place of this process where the store is written. It takes all operations that have
 * arrived, commits them together (see GroupCommit) and answers them: a slow disk costs one wait for many callers, and
 * none of it is on the event loop that serves requests.
 */
import { statSync } from 'node:fs';
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { SchemaTooNewError } from '../migration-files.ts';
import { holdsPackedList } from '../packed-ids.ts';
import { BUSY_TIMEOUT_MS, SqliteConnection } from './sqlite-connection.ts';
import {
  checkStoreFiles,
  createStoreFile,
  type FileIdentities,
  fileIdentities,
  hasOtherLog,
  hasStoreFiles,
} from './sqlite-files.ts';
import { GroupCommit } from './sqlite-group-commit.ts';
import { migrate } from './sqlite-migrate.ts';
import type { FromWriter, ToWriter, WriteRequest, WriterOptions } from './sqlite-writer-protocol.ts';

/** Quiet for so long, the log is folded back however short it is: reads are fastest without one. */
const IDLE_CHECKPOINT_MS = 1_000;

/** Whether a write is a batch, or has packed lists of IDs. */
function isLarge([, operation, parameters]: WriteRequest): boolean {
  if (operation === 'applyBatch') return true;
  const hasLists = operation === 'putGroup' || operation === 'changeMembers';
  return hasLists && holdsPackedList(parameters[2] as Parameters<typeof holdsPackedList>[0]);
}

class WriterThread {
  readonly #port: MessagePort;
  readonly #options: WriterOptions;
  readonly #connection: SqliteConnection;
  readonly #commit: GroupCommit;
  readonly #queue: WriteRequest[] = [];
  readonly #idle: NodeJS.Timeout;
  /** The size of the log, in bytes, at which it is folded back next. */
  #checkpointAt: number;
  #checkpointing = false;
  #purging = false;
  #closing = false;

  readonly #files: FileIdentities;
  #isLostReported = false;

  constructor(port: MessagePort, options: WriterOptions, connection: SqliteConnection) {
    this.#port = port;
    this.#options = options;
    this.#checkpointAt = options.checkpointBytes;
    this.#connection = connection;
    this.#files = fileIdentities(options.file);
    this.#commit = new GroupCommit(connection, options.durableBounds, this.#files);
    this.#idle = setTimeout(() => this.#tidy(), IDLE_CHECKPOINT_MS).unref();
  }

  serve(): void {
    this.#port.on('message', (message: ToWriter) => {
      this.#take(message);
      this.#work();
    });
    this.#say({ type: 'ready', files: this.#files });
    this.#tidy();
  }

  #say(message: FromWriter): void {
    this.#port.postMessage(message);
  }

  #take(message: ToWriter): void {
    if (message.type === 'write') for (const request of message.requests) this.#queue.push(request);
    else if (message.type === 'released') this.#checkpoint(message.longReads);
    else this.#closing = true;
  }

  /** Commits all that has arrived, and what arrives meanwhile; then ends, when that was asked for. */
  #work(): void {
    for (;;) {
      // What came while the last commit was being flushed is waiting in the port: it goes into the next one.
      for (let next = this.#receive(); next !== null; next = this.#receive()) this.#take(next);
      if (this.#queue.length === 0) break;
      const requests = this.#queue.splice(0, this.#sharing());
      const replies = this.#commit.run(requests);
      this.#reportLost();
      this.#say({ type: 'done', replies });
      this.#requestCheckpoint(this.#checkpointAt);
      this.#idle.refresh();
      if (requests.some(([, operation]) => operation === 'deleteProject')) this.#purge();
    }
    if (this.#closing) this.#end();
  }

  /**
   * How many of the queue share the next commit. A large write has one of its own: earlier writes do not wait for it, and
   * later ones wait for no other.
   */
  #sharing(): number {
    const large = this.#queue.findIndex(isLarge);
    const { maxOperationsPerCommit } = this.#options;
    return large === -1 ? maxOperationsPerCommit : Math.max(1, Math.min(large, maxOperationsPerCommit));
  }

  #receive(): ToWriter | null {
    return (receiveMessageOnPort(this.#port)?.message as ToWriter | undefined) ?? null;
  }

  /**
   * A long log slows reads and fills the disk, and it can begin anew only at a moment when no reader is in it; the main
   * thread's reader nearly always is. So it is asked to step out, and the log is folded back when it says that it has.
   */
  #requestCheckpoint(atBytes: number): void {
    if (this.#checkpointing || this.#closing || this.#commit.lost !== null) return;
    if (this.#logBytes() < atBytes) return;
    this.#checkpointing = true;
    this.#say({ type: 'release' });
  }

  #checkpoint(longReads: number): void {
    // With long reads in the log, what they do not need is folded back and the rest waits: writers must not.
    this.#foldLog(longReads === 0 ? 'TRUNCATE' : 'PASSIVE');
    this.#checkpointAt = this.#logBytes() + this.#options.checkpointBytes;
    this.#checkpointing = false;
    this.#say({ type: 'resume' });
  }

  /** Folds back what no reader of any process needs, without waiting for readers: it holds up every writer meanwhile. */
  #foldLog(mode: 'TRUNCATE' | 'PASSIVE'): void {
    const { database } = this.#connection;
    try {
      database.exec(`PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(${mode})`);
    } catch {
      // A full disk, say. The log keeps what is in it, and grows until a later try succeeds.
    } finally {
      database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    }
  }

  #reportLost(): void {
    const { lost } = this.#commit;
    if (lost === null || this.#isLostReported) return;
    this.#isLostReported = true;
    this.#say({ type: 'lost', reason: lost });
  }

  #foldLastLog(): void {
    try {
      // A log that was removed is still open here, and what it holds was acknowledged.
      if (!hasOtherLog(this.#files)) this.#foldLog('TRUNCATE');
    } catch {
      // The directory cannot be read now. The log is as good as the file: the next start folds it.
    }
  }

  #logBytes(): number {
    return statSync(`${this.#options.file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** What there is to do when nothing else is: also what could not be done before, or what another process left. */
  #tidy(): void {
    this.#requestCheckpoint(1);
    this.#purge();
  }

  /** Removes what deleted projects left, a slice between other work, as long as there is some. */
  #purge(): void {
    if (this.#purging) return;
    this.#purging = true;
    const slice = () => {
      this.#purging = !this.#closing && this.#commit.purge();
      this.#reportLost();
      if (!this.#purging) return;
      this.#requestCheckpoint(this.#checkpointAt);
      this.#idle.refresh();
      setImmediate(slice);
    };
    setImmediate(slice);
  }

  #end(): void {
    this.#foldLastLog();
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
    port.postMessage({ type: 'refused', kind, message: (error as Error).message } satisfies FromWriter);
    port.close();
  }
}

if (parentPort === null) throw new Error('this module runs on a worker thread');
main(parentPort, workerData as WriterOptions);
