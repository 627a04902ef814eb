import type { Semaphore } from '../../../concurrency/semaphore.ts';
import type { ProjectKey } from '../../../values/project-key.ts';
import type { Call, Row } from './postgres-connection.ts';
import { isLockTimeout } from './postgres-errors.ts';
import { type PostgresPool, SENT_BEFORE_MS } from './postgres-pool.ts';
import { ANSWER_WITHIN_MS, Transaction, type TransactionOptions } from './postgres-transaction.ts';

/** How long an operation waits for a lock that is late already, in milliseconds. */
const LOCK_WAIT_LEAST_MS = 500;
/** How long a transaction may take, and one of its statements where a shorter limit was not enough, in milliseconds. */
const LONG_MS = 10 * 60_000;
/** How long a transaction that runs long waits for others that do, in milliseconds. */
const LONG_WAIT_MS = 30_000;

/** The parts that the writes of a store share. */
export interface WriteResources {
  readonly pool: PostgresPool;
  /** Limits the transactions with statements that run long. */
  readonly long: Semaphore;
  /** How long an operation waits for locks, in milliseconds since its beginning. */
  readonly lockWaitMs: number;
}

/** One write of a store, run again when it lost a race. */
export class Attempt {
  readonly #resources: WriteResources;
  readonly #project: ProjectKey | null;
  readonly #begun = performance.now();
  #isTransaction = false;
  #isLong = false;

  constructor(resources: WriteResources, project: ProjectKey | null) {
    this.#resources = resources;
    this.#project = project;
  }

  /** Until then the operation waits for its connection, and may be run again: a time of `performance.now()`. */
  get until(): number {
    return this.#begun + (this.#isLong ? LONG_WAIT_MS : ANSWER_WITHIN_MS);
  }

  /** One statement, committed when it resolves. @throws StoreUnavailableError, DatabaseError */
  async run(...call: Call): Promise<Row[]> {
    this.#isTransaction = false;
    try {
      return await this.#resources.pool.run(this.#project, call, this.until);
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
    }
    // Now that it waits for a lock, it does so where no other statement waits behind it.
    const [rows] = await this.#runAlone((transaction) => transaction.commit([call]));
    return rows as Row[];
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
    using transaction = new Transaction(lease.connection, this.#options());
    return await steps(transaction);
  }

  /** After the server ended a statement that took too long: the transaction is run again, with time. @throws the error */
  allowLong(error: unknown): void {
    if (!this.#isTransaction || this.#isLong) throw error;
    this.#isLong = true;
  }

  #options(): TransactionOptions {
    const now = performance.now();
    const lockMs = Math.ceil(Math.max(LOCK_WAIT_LEAST_MS, this.#begun + this.#resources.lockWaitMs - now));
    const lockTimeout = `lock_timeout = ${lockMs}`;
    if (!this.#isLong) return { settings: [lockTimeout], beginUntil: this.until, until: now + LONG_MS };
    return {
      settings: [lockTimeout, `statement_timeout = ${LONG_MS}`],
      beginUntil: now + ANSWER_WITHIN_MS,
      until: now + LONG_MS,
      silenceMs: LONG_MS,
    };
  }
}
