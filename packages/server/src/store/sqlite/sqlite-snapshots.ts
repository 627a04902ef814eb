import { Semaphore } from '../../concurrency/semaphore.ts';
import { StoreUnavailableError } from '../../values/engine-errors.ts';
import type { PoolUse } from '../store-timings.ts';
import type { StoreCondition } from './files/sqlite-condition.ts';
import { type Row, SqliteConnection, type Statement } from './sqlite-connection.ts';

/** How many long reads go on at once; more wait for one to end. */
const MAX_SNAPSHOTS = 8;
/** How long a long read waits for one of them, in milliseconds. */
const WAIT_LIMIT_MS = 5_000;
/** Long reads are served in order, whatever project they are of. */
const ALL_READERS = null;

/** A connection for reads that take long and must see one state from beginning to end. */
class Snapshot extends SqliteConnection {
  readonly #prepared = new Map<string, Statement>();

  /** A statement of this connection; prepared on first use. */
  statement<Columns extends Row = Row>(sql: string): Statement<Columns> {
    const prepared = this.#prepared.get(sql) ?? this.prepare(sql);
    this.#prepared.set(sql, prepared);
    return prepared as Statement as Statement<Columns>;
  }
}

/** A reader that reads nothing for so long loses its snapshot, which prevents folding the log into the file. */
const IDLE_LIMIT_MS = 30_000;
/** No reader retains a snapshot for longer, however steadily it reads. */
const TOTAL_LIMIT_MS = 5 * 60_000;

/** A snapshot for one reader, until it is released, left idle, or too old. */
export class LongRead implements Disposable {
  readonly #pool: SnapshotPool;
  readonly #idle: NodeJS.Timeout;
  readonly #total: NodeJS.Timeout;
  #snapshot: Snapshot | null;

  private constructor(pool: SnapshotPool, snapshot: Snapshot) {
    this.#pool = pool;
    this.#snapshot = snapshot;
    this.#idle = setTimeout(() => this.release(), IDLE_LIMIT_MS).unref();
    this.#total = setTimeout(() => this.release(), TOTAL_LIMIT_MS).unref();
  }

  /** Of the newest state. @throws StoreUnavailableError when too many are open for too long */
  static async begin(pool: SnapshotPool): Promise<LongRead> {
    return new LongRead(pool, await pool.acquire());
  }

  /** A statement on the snapshot. @throws StoreUnavailableError when the reader has lost it */
  readonly prepare = <Columns extends Row = Row>(sql: string): Statement<Columns> => {
    if (this.#snapshot === null || !this.#pool.isActive(this.#snapshot))
      throw new StoreUnavailableError('a long read took too long, and lost its snapshot');
    this.#idle.refresh();
    return this.#snapshot.statement(sql);
  };

  /** Idempotent. */
  release(): void {
    clearTimeout(this.#idle);
    clearTimeout(this.#total);
    if (this.#snapshot !== null) this.#pool.release(this.#snapshot);
    this.#snapshot = null;
  }

  [Symbol.dispose](): void {
    this.release();
  }
}

/** The snapshots of one store: a few connections that are reused. */
export class SnapshotPool {
  readonly #file: string;
  readonly #condition: StoreCondition;
  readonly #free: Snapshot[] = [];
  readonly #taken = new Set<Snapshot>();
  readonly #permits = new Semaphore({
    permits: MAX_SNAPSHOTS,
    unavailable: () => new StoreUnavailableError('too many long reads are under way'),
  });
  #closed = false;

  constructor(file: string, condition: StoreCondition) {
    this.#file = file;
    this.#condition = condition;
  }

  get use(): PoolUse {
    const { size: busy } = this.#taken;
    return { busy, open: busy + this.#free.length, limit: MAX_SNAPSHOTS, awaited: this.#permits.waiting };
  }

  /** False when the store was closed meanwhile, and the snapshot with it. */
  isActive(snapshot: Snapshot): boolean {
    return this.#taken.has(snapshot);
  }

  /** A snapshot of the newest state; give it back with {@link release}. @throws StoreUnavailableError */
  async acquire(): Promise<Snapshot> {
    await this.#permits.acquire(ALL_READERS, performance.now() + WAIT_LIMIT_MS);
    try {
      if (this.#closed) throw new StoreUnavailableError('the store is closed');
      using unusable = new DisposableStack();
      const reused = this.#free.pop();
      const toFailure = this.#condition.readFailure;
      const snapshot = unusable.use(reused ?? new Snapshot(this.#file, { readOnly: true, toFailure }));
      // A connection to another file under the name of ours would mix two stores.
      if (reused === undefined) this.#condition.checkFiles();
      snapshot.database.exec('BEGIN');
      unusable.move();
      this.#taken.add(snapshot);
      return snapshot;
    } catch (error) {
      this.#permits.release(ALL_READERS);
      // Opening fails where the file was removed; a snapshot that is used again has it open.
      throw this.#condition.readFailure(error);
    }
  }

  release(snapshot: Snapshot): void {
    if (!this.#taken.delete(snapshot)) return;
    snapshot.endRead();
    this.#free.push(snapshot);
    this.#permits.release(ALL_READERS);
  }

  close(): void {
    this.#closed = true;
    // Callers that wait for a permit get one, and find that the store is closed.
    for (const snapshot of this.#taken) this.release(snapshot);
    for (const snapshot of this.#free.splice(0)) snapshot.close();
  }
}
