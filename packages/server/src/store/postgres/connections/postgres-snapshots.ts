import { StoreUnavailableError } from '../../store.ts';
import type { Call, PostgresConnection, Row } from './postgres-connection.ts';
import { toStoreFailure } from './postgres-errors.ts';
import { PostgresPool } from './postgres-pool.ts';
import type { Whose } from './postgres-queue.ts';
import type { PostgresSettings } from './postgres-url.ts';

/** How many long reads go on at once, on connections of their own; more wait for one to end. */
const MOST_SNAPSHOTS = 4;
/** How long a long read waits for its turn, and for each of its statements, in milliseconds. */
const ANSWER_WITHIN_MS = 4_500;
/** A reader that takes nothing for so long loses its snapshot, which keeps the server from removing old rows. */
const IDLE_LIMIT_MS = 30_000;
/** The same while others wait for one. */
const AWAITED_IDLE_LIMIT_MS = 1_000;
/** It holds no lock that others wait for, so the server leaves it alone for longer than that. */
const BEGIN = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = ${2 * IDLE_LIMIT_MS}`;
/** Nobody holds a snapshot for longer, however steadily they read. */
const TOTAL_LIMIT_MS = 5 * 60_000;

/**
 * One state of the store, for reads that take several statements. Ends when it is released, left idle, or too old. Who
 * has not read for a second loses it to others who wait for one.
 */
export class Snapshot {
  readonly #connection: PostgresConnection;
  readonly #idle: NodeJS.Timeout;
  readonly #total: NodeJS.Timeout;
  readonly #onEnd: () => void;
  #idleSince = performance.now();
  #ended = false;

  constructor(connection: PostgresConnection, totalLimitMs: number, onEnd: () => void) {
    this.#connection = connection;
    this.#onEnd = onEnd;
    this.#idle = setTimeout(() => this.release(), IDLE_LIMIT_MS).unref();
    this.#total = setTimeout(() => this.release(), totalLimitMs).unref();
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
      return await this.#connection.run(call, performance.now() + ANSWER_WITHIN_MS);
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
    this.#connection.control('COMMIT', performance.now() + ANSWER_WITHIN_MS).catch(() => {});
    this.#onEnd();
  }
}

/** The long reads of one store. */
export class LongReads {
  readonly #pool: PostgresPool;
  readonly #taken = new Set<Snapshot>();
  #nextLook: NodeJS.Timeout | null = null;

  constructor(settings: PostgresSettings) {
    this.#pool = new PostgresPool(settings, { size: MOST_SNAPSHOTS, depth: 1 });
  }

  /** The newest state. Projects take turns. @throws StoreUnavailableError */
  async snapshot(whose: Whose, totalLimitMs = TOTAL_LIMIT_MS): Promise<Snapshot> {
    const until = performance.now() + ANSWER_WITHIN_MS;
    const connecting = this.#pool.alone(whose, until);
    this.#makeRoom();
    const connection = await connecting;
    const snapshot: Snapshot = new Snapshot(connection, totalLimitMs, () => {
      this.#taken.delete(snapshot);
      this.#pool.release(connection);
    });
    this.#taken.add(snapshot);
    // The state is that of the first statement after it, which waits for it.
    connection.control(BEGIN, until).catch(() => snapshot.release());
    this.#makeRoom();
    return snapshot;
  }

  /** Where somebody waits: ends the snapshot that has been idle for longest, as soon as that is long enough. */
  #makeRoom(): void {
    if (!this.#pool.isAwaited || this.#taken.size < MOST_SNAPSHOTS || this.#nextLook !== null) return;
    const idlest = [...this.#taken].reduce((one, other) => (other.idleMs > one.idleMs ? other : one));
    const leftMs = AWAITED_IDLE_LIMIT_MS - Math.max(0, idlest.idleMs);
    if (leftMs <= 0) idlest.release();
    else this.#nextLook = setTimeout(() => this.#lookAgain(), leftMs).unref();
  }

  #lookAgain(): void {
    this.#nextLook = null;
    this.#makeRoom();
  }

  /** Ends all of them. */
  async close(): Promise<void> {
    for (const snapshot of this.#taken) snapshot.release();
    await this.#pool.close();
  }
}
