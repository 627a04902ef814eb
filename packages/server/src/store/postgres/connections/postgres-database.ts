import { setTimeout as delay } from 'node:timers/promises';
import { KeyedMutex } from '../../../concurrency/keyed-mutex.ts';
import { Semaphore } from '../../../concurrency/semaphore.ts';
import { StoreUnavailableError } from '../../../values/engine-errors.ts';
import type { ProjectKey } from '../../../values/project-key.ts';
import { type PoolUse, StoreTimings } from '../../store-timings.ts';
import { Attempt, type WriteResources } from './postgres-attempt.ts';
import type { Call, Row } from './postgres-connection.ts';
import { isCanceled, isLostRace, toStoreFailure } from './postgres-errors.ts';
import { type CallsOf, MergedWrites } from './postgres-merged-writes.ts';
import { PostgresPool, SENT_BEFORE_MS, storeClosed } from './postgres-pool.ts';
import { ANSWER_WITHIN_MS, type Transaction } from './postgres-transaction.ts';
import type { PostgresSettings } from './postgres-url.ts';

export type { Attempt } from './postgres-attempt.ts';
export type { Transaction } from './postgres-transaction.ts';

/** The share of the connections that is for reads: no read waits behind a write that waits for a lock. */
const READERS = 0.3;
/** The share of the connections for writes that one project may have to itself, for transactions and waits for locks. */
const LEASES_PER_PROJECT = 0.75;
/** The share of the connections for writes that transactions may have which run long. */
const LONG_WRITERS = 0.5;
/** Statements under way on one connection. */
const READ_DEPTH = 16;
const WRITE_DEPTH = 8;
/** How long a write waits for locks, in milliseconds since its beginning. */
const LOCK_WAIT_MS = 3_000;
/** How long a pipelined write waits for a lock, in milliseconds: those behind it on its connection wait too. */
const PIPELINED_LOCK_WAIT_MS = 20;
/** How often an operation is run that loses races, and the longest first pause between two runs, in milliseconds. */
const MOST_RUNS = 12;
const PAUSE_MS = 4;

export interface WriteTarget {
  /** Projects are served round robin where there is more to do than can be done at once. */
  readonly project?: ProjectKey;
  /** The one row in it that is changed, where it is one: its writes wait for each other here, each without a connection. */
  readonly row?: string;
}

/** How the driver speaks to PostgreSQL. What its methods reject with is one of the port's errors, or a defect. */
export class PostgresDatabase {
  readonly #reads: PostgresPool;
  readonly #writes: PostgresPool;
  readonly #long: Semaphore;
  readonly #resources: WriteResources;
  readonly #timings: StoreTimings;
  readonly #rows = new KeyedMutex(
    () => new StoreUnavailableError('too many writes of one row wait for each other'),
  );
  /** Writes by the calls that make them. */
  readonly #merged = new Map<CallsOf<never>, unknown>();
  #underWay = 0;
  #closing: Promise<void> | null = null;
  #onIdle: () => void = () => {};

  constructor(
    settings: PostgresSettings,
    lockWaitMs = LOCK_WAIT_MS,
    timings = new StoreTimings('postgresql'),
  ) {
    this.#timings = timings;
    const readers = Math.max(1, Math.floor(settings.poolSize * READERS));
    const writers = settings.poolSize - readers;
    const longWriters = Math.max(1, Math.floor(writers * LONG_WRITERS));
    this.#reads = new PostgresPool(settings, {
      size: readers,
      depth: READ_DEPTH,
      leases: 0,
      leasesPerProject: 0,
    });
    this.#writes = new PostgresPool(settings, {
      size: writers,
      depth: WRITE_DEPTH,
      leases: Math.max(1, writers - 1),
      leasesPerProject: Math.max(1, Math.floor(writers * LEASES_PER_PROJECT)),
      lockTimeoutMs: PIPELINED_LOCK_WAIT_MS,
    });
    this.#long = new Semaphore({
      permits: longWriters,
      permitsPerKey: Math.max(1, longWriters - 1),
      unavailable: () => new StoreUnavailableError('too many large writes are under way'),
    });
    const { writeWaits: waits } = timings;
    this.#resources = { pool: this.#writes, mergedBy: this.#mergedBy, long: this.#long, lockWaitMs, waits };
  }

  get pending(): number {
    return this.#underWay;
  }

  get pools(): Readonly<Record<'reads' | 'writes', PoolUse>> {
    return { reads: this.#reads.use, writes: this.#writes.use };
  }

  /** A read of one statement: one round trip, one state. Its first parameter is the project, if it is of one. */
  read(...call: Call): Promise<Row[]> {
    return this.#timings.reads.measure(() => this.#read(call));
  }

  async #read(call: Call): Promise<Row[]> {
    const until = performance.now() + ANSWER_WITHIN_MS;
    for (let runs = 1; ; runs += 1) {
      try {
        const [rows] = await this.#reads.run(call[1] as ProjectKey, [call], until);
        return rows as Row[];
      } catch (error) {
        if (!isLostRace(error)) throw toStoreFailure(error);
        await pauseAfterRace(runs, until, error);
      }
    }
  }

  async readOne<Found>(toFound: (row: Row) => Found, ...call: Call): Promise<Found | null> {
    const [row] = await this.read(...call);
    return row === undefined ? null : toFound(row);
  }

  /**
   * A write. `run` is called again, from its beginning, when it lost a race or needs more time.
   * @throws StoreUnavailableError also when it goes on losing
   */
  async operation<Result>(
    { project, row }: WriteTarget,
    run: (attempt: Attempt) => Promise<Result>,
  ): Promise<Result> {
    if (this.#closing !== null) throw storeClosed();
    this.#underWay += 1;
    const begun = performance.now();
    const attempt = new Attempt(this.#resources, project ?? null);
    const tryIt = () => runUntilWon(run, attempt);
    let failure: unknown;
    try {
      if (row === undefined) return await tryIt();
      return await this.#rows.run(`${project} ${row}`, tryIt, attempt.until - SENT_BEFORE_MS);
    } catch (error) {
      failure = error;
      throw toStoreFailure(error);
    } finally {
      this.#timings.writes.ended(begun, failure);
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#onIdle();
    }
  }

  /** A write of several steps: what they do not commit themselves is rolled back. */
  transaction<Result>(
    target: WriteTarget,
    steps: (transaction: Transaction) => Promise<Result>,
  ): Promise<Result> {
    return this.operation(target, (attempt) => attempt.transaction(steps));
  }

  /** A write of one statement. */
  write(...call: Call): Promise<Row[]> {
    return this.operation({}, (attempt) => attempt.run(...call));
  }

  /** The same of a statement that answers a row where it changes something: whether it does. */
  async changesRows(...call: Call): Promise<boolean> {
    return (await this.write(...call)).length > 0;
  }

  readonly #mergedBy = <Item>(callsOf: CallsOf<Item>): MergedWrites<Item> => {
    const writes = this.#merged.get(callsOf) ?? new MergedWrites<Item>(this.#writes, callsOf);
    this.#merged.set(callsOf, writes);
    return writes as MergedWrites<Item>;
  };

  /** Lets the operations under way finish, but rejects those that wait to run long. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#long.rejectWaiting(storeClosed());
    if (this.#underWay > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    await Promise.all([this.#reads.close(), this.#writes.close()]);
  }
}

async function runUntilWon<Result>(
  run: (attempt: Attempt) => Promise<Result>,
  attempt: Attempt,
): Promise<Result> {
  for (let runs = 1; ; runs += 1) {
    try {
      return await run(attempt);
    } catch (error) {
      if (isCanceled(error)) attempt.allowLong(error);
      else if (isLostRace(error)) await pauseAfterRace(runs, attempt.until, error);
      else throw error;
    }
  }
}

async function pauseAfterRace(runs: number, until: number, cause: unknown): Promise<void> {
  const pause = Math.random() * PAUSE_MS * 2 ** runs;
  if (runs >= MOST_RUNS || performance.now() + pause > until) {
    throw new StoreUnavailableError('others were faster, again and again', { cause });
  }
  await delay(pause);
}

/** A method of a port, by itself. */
export type OnDatabase<Method extends (...parameters: never[]) => unknown> = (
  database: PostgresDatabase,
  ...parameters: Parameters<Method>
) => ReturnType<Method>;
