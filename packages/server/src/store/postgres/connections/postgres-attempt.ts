import type { Semaphore } from '../../../concurrency/semaphore.ts';
import type { HistogramSeries } from '../../../metrics/metric.ts';
import type { ProjectKey } from '../../../values/project-key.ts';
import type { Call, Row } from './postgres-connection.ts';
import { isLockTimeout } from './postgres-errors.ts';
import type { CallsOf, MergedWrites } from './postgres-merged-writes.ts';
import { type PostgresPool, SENT_BEFORE_MS } from './postgres-pool.ts';
import { ANSWER_WITHIN_MS, Transaction, type TransactionOptions } from './postgres-transaction.ts';

/** How long an operation waits for a lock that is late already, in milliseconds. */
const LOCK_WAIT_LEAST_MS = 500;
/** How long a transaction may take, and one of its statements where a shorter limit was not enough, in milliseconds. */
const LONG_MS = 10 * 60_000;
/** How long a transaction that runs long waits for others that do, in milliseconds. */
const LONG_WAIT_MS = 30_000;

export interface WriteResources {
  readonly pool: PostgresPool;
  mergedBy<Item>(callsOf: CallsOf<Item>): MergedWrites<Item>;
  /** Limits the transactions with statements that run long. */
  readonly long: Semaphore;
  /** How long an operation waits for locks, in milliseconds since its beginning. */
  readonly lockWaitMs: number;
  /** How long operations wait for their connection, in seconds. */
  readonly waits: HistogramSeries;
}

/** One write of a store, run again when it lost a race. */
export class Attempt {
  readonly #resources: WriteResources;
  readonly #project: ProjectKey | null;
  readonly #begun = performance.now();
  #until = this.#begun + ANSWER_WITHIN_MS;
  #isTransaction = false;
  #isWaiting = true;
  #isLong = false;
  #wasMerged = false;

  constructor(resources: WriteResources, project: ProjectKey | null) {
    this.#resources = resources;
    this.#project = project;
  }

  /** Until then the operation waits for its connection, and may be run again: a time of `performance.now()`. */
  get until(): number {
    return this.#until;
  }

  /** One statement, committed when it resolves. @throws StoreUnavailableError, DatabaseError */
  async run(...call: Call): Promise<Row[]> {
    this.#isTransaction = false;
    const [rows] = await this.#runShared(call, [call]);
    return rows as Row[];
  }

  /**
   * The same for a statement that locks a row and then updates it, which `lock` locks alone. A statement that has waited
   * updates the version of the row that was there before, and so can wait for that one too while it has the newer one
   * locked: two of them and a transaction that shares the older version would deadlock. After `lock`, it finds the newest version.
   */
  async runOnRow(lock: Call, call: Call): Promise<Row[]> {
    this.#isTransaction = false;
    const answers = await this.#runShared(call, [lock, call]);
    return answers.at(-1) as Row[];
  }

  /**
   * A write that is one transaction with others of the project: the row that the first of the calls answers for it. Null where it is to
   * be made alone: {@link MergedWrites.run}, or the operation is run again. @throws StoreUnavailableError
   */
  async merge<Item>(callsOf: CallsOf<Item>, project: ProjectKey, item: Item): Promise<Row | null> {
    if (this.#wasMerged) return null;
    this.#wasMerged = true;
    return this.#resources.mergedBy(callsOf).run(project, item, this.until, this.#onConnection);
  }

  /** On a connection that others share. A statement that would wait for a lock is run as `alone` instead. */
  async #runShared(call: Call, alone: readonly Call[]): Promise<Row[][]> {
    try {
      return await this.#resources.pool.run(this.#project, [call], this.until, this.#onConnection);
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
    }
    // Now that it waits for a lock, it does so where no other statement waits behind it.
    return this.#runAlone((transaction) => transaction.commit(alone));
  }

  /** Runs `steps` in a transaction. What they do not commit themselves is rolled back. @throws StoreUnavailableError, DatabaseError */
  transaction<Result>(steps: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    this.#isTransaction = true;
    if (!this.#isLong) return this.#runAlone(steps);
    const until = this.until - SENT_BEFORE_MS;
    return this.#resources.long.run(this.#project, () => this.#runAlone(steps), until);
  }

  async #runAlone<Result>(steps: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    using lease = await this.#resources.pool.lease(this.#project, this.until);
    this.#onConnection();
    using transaction = new Transaction(lease.connection, this.#options());
    return await steps(transaction);
  }

  /** What is run again has waited before. */
  readonly #onConnection = (): void => {
    if (this.#isWaiting) this.#resources.waits.observeSince(this.#begun);
    this.#isWaiting = false;
  };

  /** After the server ended a statement that took too long: the transaction is run again, with time. @throws the error */
  allowLong(error: unknown): void {
    if (!this.#isTransaction || this.#isLong) throw error;
    this.#isLong = true;
    // What it did before may have taken minutes.
    this.#until = performance.now() + LONG_WAIT_MS;
  }

  #options(): TransactionOptions {
    const now = performance.now();
    const lockMs = Math.ceil(Math.max(LOCK_WAIT_LEAST_MS, this.#begun + this.#resources.lockWaitMs - now));
    const lockTimeout = ['lock_timeout', lockMs] as const;
    if (!this.#isLong) return { settings: [lockTimeout], beginUntil: this.until, until: now + LONG_MS };
    return {
      settings: [lockTimeout, ['statement_timeout', LONG_MS]],
      beginUntil: now + ANSWER_WITHIN_MS,
      until: now + LONG_MS,
      silenceMs: LONG_MS,
    };
  }
}
