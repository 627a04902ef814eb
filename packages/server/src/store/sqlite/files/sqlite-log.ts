import { BUSY_TIMEOUT_MS, type SqliteConnection, type Statement } from '../sqlite-connection.ts';

/** Bytes of a page with its header in the log. */
const FRAME_BYTES = 4_096 + 24;

/**
 * How much of the log is copied into the store's file, and what becomes of the log's file:
 * - PASSIVE copies what no reader needs.
 * - RESTART copies everything if no reader is in the log. The next write begins it anew, in the file as it is: a flush is
 *   cheaper where the file does not grow.
 * - TRUNCATE is RESTART and gives the disk space back.
 */
export type CheckpointMode = 'PASSIVE' | 'RESTART' | 'TRUNCATE';

type CheckpointRow = [busy: number, frames: number, copied: number];

/** The write-ahead log of the store, as its writer sees it. */
export class SqliteLog {
  readonly #connection: SqliteConnection;
  readonly #state: Statement;
  /** How many pages the log had when a checkpoint emptied it: that count remains until the log begins anew. */
  #emptiedFrames = 0;

  /** The file of a log that grew longer, because of a long read or a large write, is cut back to `checkpointBytes`. */
  constructor(connection: SqliteConnection, checkpointBytes: number) {
    this.#connection = connection;
    connection.database.exec(`PRAGMA journal_size_limit = ${checkpointBytes}`);
    this.#state = connection.prepare('PRAGMA wal_checkpoint(NOOP)');
  }

  /** Bytes of the log that are in use. Zero when that cannot be read now. */
  usedBytes(): number {
    const { frames } = this.#read();
    if (frames !== this.#emptiedFrames) this.#emptiedFrames = 0;
    return Math.max(0, frames - this.#emptiedFrames) * FRAME_BYTES;
  }

  /** Bytes of the log that are not in the store's file yet. Zero when that cannot be read now. */
  uncopiedBytes(): number {
    const { frames, copied } = this.#read();
    return Math.max(0, frames - copied) * FRAME_BYTES;
  }

  #read(): { frames: number; copied: number } {
    try {
      const [, frames, copied] = this.#state.get() as CheckpointRow;
      return { frames, copied };
    } catch {
      return { frames: 0, copied: 0 };
    }
  }

  /** Copies without waiting for readers, because every writer waits meanwhile. */
  checkpoint(mode: CheckpointMode): void {
    const { database, prepare } = this.#connection;
    try {
      database.exec('PRAGMA busy_timeout = 0');
      const [busy, frames, copied] = prepare(`PRAGMA wal_checkpoint(${mode})`).get() as CheckpointRow;
      if (mode !== 'PASSIVE' && busy === 0 && frames === copied) this.#emptiedFrames = Math.max(0, frames);
    } catch {
      // A full disk, for example. The log retains what is in it, and grows until a later attempt succeeds.
    } finally {
      database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    }
  }
}
