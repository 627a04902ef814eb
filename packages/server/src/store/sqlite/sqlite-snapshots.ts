import { StoreUnavailableError } from '../store.ts';
import type { StoreCondition } from './sqlite-condition.ts';
import { SqliteConnection, type Statement } from './sqlite-connection.ts';

/** How many long reads go on at once; more wait for one to end. */
const MAX_SNAPSHOTS = 8;
/** How long a long read waits for its turn. */
const WAIT_LIMIT_MS = 5_000;

/** A connection for reads that take long and must see one state from beginning to end. */
export class Snapshot {
  readonly #connection: SqliteConnection;
  readonly #prepared = new Map<string, Statement>();

  constructor(file: string, { readFailure }: StoreCondition) {
    this.#connection = new SqliteConnection(file, { readOnly: true, toFailure: readFailure });
  }

  /** A read; prepared when it is first asked for, and kept. */
  statement(sql: string): Statement {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      statement = this.#connection.prepare(sql);
      this.#prepared.set(sql, statement);
    }
    return statement;
  }

  begin(): void {
    this.#connection.database.exec('BEGIN');
  }

  end(): void {
    this.#connection.endRead();
  }

  close(): void {
    this.#connection.close();
  }
}

/** A reader that takes nothing for so long loses its snapshot, which keeps the log from being folded into the file. */
const IDLE_LIMIT_MS = 30_000;
/** No reader retains a snapshot for longer, however steadily it reads. */
const TOTAL_LIMIT_MS = 5 * 60_000;

/** A snapshot for one reader, until it is released, left idle, or too old. */
export class LongRead {
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
  statement(sql: string): Statement {
    if (this.#snapshot === null || !this.#pool.holds(this.#snapshot))
      throw new StoreUnavailableError('a long read took too long, and lost its snapshot');
    this.#idle.refresh();
    return this.#snapshot.statement(sql);
  }

  /** Idempotent. */
  release(): void {
    clearTimeout(this.#idle);
    clearTimeout(this.#total);
    if (this.#snapshot !== null) this.#pool.release(this.#snapshot);
    this.#snapshot = null;
  }
}

/** The snapshots of one store: a few connections, used again. */
export class SnapshotPool {
  readonly #file: string;
  readonly #condition: StoreCondition;
  readonly #free: Snapshot[] = [];
  readonly #taken = new Set<Snapshot>();
  readonly #waiting: (() => void)[] = [];
  #closed = false;

  constructor(file: string, condition: StoreCondition) {
    this.#file = file;
    this.#condition = condition;
  }

  /** How many snapshots are held now. */
  get active(): number {
    return this.#taken.size;
  }

  /** False when the store was closed meanwhile, and the snapshot with it. */
  holds(snapshot: Snapshot): boolean {
    return this.#taken.has(snapshot);
  }

  /** A snapshot of the newest state; give it back with {@link release}. @throws StoreUnavailableError */
  async acquire(): Promise<Snapshot> {
    if (this.#taken.size >= MAX_SNAPSHOTS) await this.#turn();
    if (this.#closed) throw new StoreUnavailableError('the store is closed');
    const snapshot = this.#free.pop() ?? this.#open();
    this.#taken.add(snapshot);
    snapshot.begin();
    return snapshot;
  }

  /** A connection to another file under the name of ours would mix two stores. */
  #open(): Snapshot {
    this.#condition.require();
    const snapshot = new Snapshot(this.#file, this.#condition);
    try {
      this.#condition.checkFiles();
      this.#condition.require();
      return snapshot;
    } catch (error) {
      snapshot.close();
      throw error;
    }
  }

  release(snapshot: Snapshot): void {
    if (!this.#taken.delete(snapshot)) return;
    snapshot.end();
    this.#free.push(snapshot);
    this.#waiting.shift()?.();
  }

  close(): void {
    this.#closed = true;
    for (const snapshot of [...this.#free.splice(0), ...this.#taken]) snapshot.close();
    this.#taken.clear();
    for (const next of this.#waiting.splice(0)) next();
  }

  #turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const next = () => {
        clearTimeout(limit);
        resolve();
      };
      const limit = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(next), 1);
        reject(new StoreUnavailableError('too many long reads are under way'));
      }, WAIT_LIMIT_MS);
      this.#waiting.push(next);
    });
  }
}
