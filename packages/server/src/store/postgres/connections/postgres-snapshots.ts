import { StoreUnavailableError } from '../../../values/engine-errors.ts';
import type { ProjectKey } from '../../../values/project-key.ts';
import type { PoolUse } from '../../store-timings.ts';
import { type Call, type PostgresConnection, type Row, together } from './postgres-connection.ts';
import { toStoreFailure } from './postgres-errors.ts';
import { PostgresPool } from './postgres-pool.ts';
import { ANSWER_WITHIN_MS } from './postgres-transaction.ts';
import type { PostgresSettings } from './postgres-url.ts';

/** How many long reads go on at once, on connections of their own; more wait for one to end. */
const MOST_SNAPSHOTS = 4;
/** When a snapshot ends, because the server cannot remove old rows meanwhile. In milliseconds. */
interface SnapshotLimits {
  /** Its reader takes nothing for so long. */
  readonly idleMs: number;
  /** It is so old, however steadily it is read. */
  readonly totalMs: number;
}

/** Of a reader of the API. */
const READER_LIMITS: SnapshotLimits = { idleMs: 30_000, totalMs: 5 * 60_000 };
/** How long a reader may take nothing while other readers wait for a snapshot. */
const CONTENDED_IDLE_LIMIT_MS = 1_000;

/**
 * One state of the store, for reads that take several statements. Ends when it is released, left idle, or too old. A
 * reader that has read nothing for a second loses it to one that waits.
 */
export class Snapshot implements Disposable {
  readonly #connection: PostgresConnection;
  readonly #begun: Promise<Row[]>;
  readonly #idle: NodeJS.Timeout;
  readonly #total: NodeJS.Timeout;
  readonly #onEnd: () => void;
  #idleSince = performance.now();
  #ended = false;

  constructor(
    connection: PostgresConnection,
    until: number,
    { idleMs, totalMs }: SnapshotLimits,
    onEnd: () => void,
  ) {
    this.#connection = connection;
    this.#onEnd = onEnd;
    // No write waits for a snapshot's locks, so the server lets it be idle for longer than other transactions.
    const settings = [['idle_in_transaction_session_timeout', 2 * idleMs]] as const;
    // The snapshot is taken by the first statement after it, which waits for it.
    this.#begun = connection.begin('REPEATABLE READ READ ONLY', settings, until);
    this.#begun.catch(() => this.release());
    this.#idle = setTimeout(() => this.release(), idleMs).unref();
    this.#total = setTimeout(() => this.release(), totalMs).unref();
  }

  get hasEnded(): boolean {
    return this.#ended;
  }

  /** How long nothing has been read; below 0 while something is. */
  get idleMs(): number {
    return performance.now() - this.#idleSince;
  }

  /** @throws StoreUnavailableError also when the snapshot has ended */
  async read(...call: Call): Promise<Row[]> {
    if (this.#ended) throw new StoreUnavailableError('a long read took too long, and lost its snapshot');
    this.#idle.refresh();
    this.#idleSince = Number.POSITIVE_INFINITY;
    try {
      const reading = this.#connection.run(call, performance.now() + ANSWER_WITHIN_MS);
      const [, rows] = await together([this.#begun, reading]);
      return rows as Row[];
    } catch (error) {
      this.release();
      throw toStoreFailure(error);
    } finally {
      this.#idleSince = performance.now();
    }
  }

  /** Idempotent. */
  release(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#idle);
    clearTimeout(this.#total);
    this.#connection.end('COMMIT', performance.now() + ANSWER_WITHIN_MS).catch(() => {});
    this.#onEnd();
  }

  [Symbol.dispose](): void {
    this.release();
  }
}

export class LongReads {
  readonly #pool: PostgresPool;
  readonly #taken = new Set<Snapshot>();
  #nextCheck: NodeJS.Timeout | null = null;

  constructor(settings: PostgresSettings) {
    this.#pool = new PostgresPool(settings, {
      size: MOST_SNAPSHOTS,
      depth: 1,
      leases: MOST_SNAPSHOTS,
      leasesPerProject: MOST_SNAPSHOTS,
    });
  }

  get use(): PoolUse {
    return this.#pool.use;
  }

  /** The newest state. Projects are served round robin. @throws StoreUnavailableError */
  async snapshot(project: ProjectKey | null, limits = READER_LIMITS): Promise<Snapshot> {
    const until = performance.now() + ANSWER_WITHIN_MS;
    const leasing = this.#pool.lease(project, until);
    this.#makeRoom();
    const lease = await leasing;
    const { connection } = lease;
    const snapshot: Snapshot = new Snapshot(connection, until, limits, () => {
      this.#taken.delete(snapshot);
      lease[Symbol.dispose]();
    });
    this.#taken.add(snapshot);
    this.#makeRoom();
    return snapshot;
  }

  /** While a caller waits: ends the snapshot that has been idle for longest, as soon as that is long enough. */
  #makeRoom(): void {
    if (!this.#pool.isContended || this.#taken.size < MOST_SNAPSHOTS || this.#nextCheck !== null) return;
    const idlest = [...this.#taken].reduce((one, other) => (other.idleMs > one.idleMs ? other : one));
    const leftMs = CONTENDED_IDLE_LIMIT_MS - Math.max(0, idlest.idleMs);
    const check = () => {
      this.#nextCheck = null;
      this.#makeRoom();
    };
    if (leftMs <= 0) idlest.release();
    else this.#nextCheck = setTimeout(check, leftMs).unref();
  }

  async close(): Promise<void> {
    for (const snapshot of this.#taken) snapshot.release();
    await this.#pool.close();
  }
}
