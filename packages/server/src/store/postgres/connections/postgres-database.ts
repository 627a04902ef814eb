import { setTimeout as delay } from 'node:timers/promises';
import { type ProjectKey, StoreUnavailableError } from '../../store.ts';
import { Attempt, type WriteMeans } from './postgres-attempt.ts';
import type { Call, Row } from './postgres-connection.ts';
import { isLockTimeout, isLostRace, isStatementTimeout, toStoreFailure } from './postgres-errors.ts';
import { Places } from './postgres-places.ts';
import { PostgresPool } from './postgres-pool.ts';
import { RowTurns } from './postgres-row-turns.ts';
import type { PostgresSettings } from './postgres-url.ts';
import { Watchdog } from './postgres-watchdog.ts';

export type { Attempt, Size } from './postgres-attempt.ts';
export type { Transaction } from './postgres-transaction.ts';

/** Within this every operation has answered or rejected, whatever the server does, in milliseconds; large writes apart. */
const ANSWER_WITHIN_MS = 4_500;
/** How long an operation waits for its turn at a row. After that too little time would be left for it. */
const TURN_WITHIN_MS = 3_500;
/** The share of the connections that is for reads. */
const READERS = 0.3;
/** The share of the connections for writes that large ones may have, and that those who wait for a lock may have. */
const LONG_WRITERS = 0.5;
/**
 * Statements under way on one connection: enough to hide the way to the server and back. More would be sent only to
 * wait there, where nobody can let others pass.
 */
const READ_DEPTH = 16;
const WRITE_DEPTH = 8;
/** How long a statement in company may wait for a lock: those behind it on its connection wait too. In milliseconds. */
const SHARED_LOCK_MS = 20;
/** Tries of one operation that loses races, and the longest first pause between two, in milliseconds. */
const MOST_TRIES = 12;
const PAUSE_MS = 4;

/** What a write is about. */
export interface WriteTarget {
  /** Projects take turns where there is more to do than can be done at once. */
  readonly project?: ProjectKey;
  /** The one thing in it that is changed, where it is one: its writes go one after the other. */
  readonly row?: string;
}

/** How the driver speaks to PostgreSQL. What its methods reject with is one of the port's errors, or a defect. */
export class PostgresDatabase {
  readonly #reads: PostgresPool;
  readonly #means: WriteMeans;
  readonly #rows = new RowTurns();
  #underWay = 0;
  #closing: Promise<void> | null = null;
  #onIdle: () => void = () => {};

  constructor(settings: PostgresSettings) {
    const readers = Math.max(1, Math.floor(settings.poolSize * READERS));
    const writers = settings.poolSize - readers;
    const longWriters = Math.max(1, Math.floor(writers * LONG_WRITERS));
    // Apart, so that no read waits behind a write that waits for another one's lock.
    this.#reads = new PostgresPool(settings, { size: readers, depth: READ_DEPTH });
    this.#means = {
      writes: new PostgresPool(settings, {
        size: writers,
        depth: WRITE_DEPTH,
        lockTimeoutMs: SHARED_LOCK_MS,
      }),
      patience: new Places(longWriters, 'others hold what is to be written'),
      large: new Places(longWriters, 'too many large writes are under way'),
      watchdog: new Watchdog(settings, (cause) => this.#endAll(cause)),
      statementTimeoutMs: settings.statementTimeoutMs,
    };
  }

  /**
   * A read of one statement: one round trip, one state. Its first parameter says whose it is: where there is more to
   * read than can be read at once, projects take turns.
   */
  async read(...call: Call): Promise<Row[]> {
    const until = performance.now() + ANSWER_WITHIN_MS;
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#reads.run(call[1], call, until);
      } catch (error) {
        if (!isLostRace(error)) throw toStoreFailure(error);
        await pauseAfterRace(tries, until, error);
      }
    }
  }

  /**
   * A write: `run` is called again, from its beginning, when it lost a race or waited for a lock.
   * @throws StoreUnavailableError also when it goes on losing
   */
  async operation<Answer>(
    run: (attempt: Attempt) => Promise<Answer>,
    { project, row }: WriteTarget = {},
  ): Promise<Answer> {
    if (this.#closing !== null) throw new StoreUnavailableError('the store is closed');
    this.#underWay += 1;
    const now = performance.now();
    const attempt = new Attempt(this.#means, project, now + ANSWER_WITHIN_MS);
    const tryIt = () => tryUntilWon(run, attempt);
    try {
      if (row === undefined) return await tryIt();
      return await this.#rows.during(`${project} ${row}`, now + TURN_WITHIN_MS, tryIt);
    } catch (error) {
      throw toStoreFailure(error);
    } finally {
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#onIdle();
    }
  }

  /** Lets the operations under way finish, but refuses large writes that have not begun. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#means.large.refuseAll(new StoreUnavailableError('the store is closed'));
    if (this.#underWay > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    const { writes, watchdog } = this.#means;
    await Promise.all([this.#reads.close(), writes.close(), watchdog.close()]);
  }

  /** Because the server does not answer. */
  #endAll(cause: Error): void {
    const { writes, large } = this.#means;
    large.refuseAll(cause);
    this.#reads.destroy(cause);
    writes.destroy(cause);
  }
}

async function tryUntilWon<Answer>(
  run: (attempt: Attempt) => Promise<Answer>,
  attempt: Attempt,
): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await run(attempt);
    } catch (error) {
      if (isLockTimeout(error)) await attempt.bear(error);
      else if (isStatementTimeout(error)) attempt.grow(error);
      else if (isLostRace(error)) await pauseAfterRace(tries, attempt.until, error);
      else throw error;
    }
  }
}

async function pauseAfterRace(tries: number, until: number, cause: unknown): Promise<void> {
  const pause = Math.random() * PAUSE_MS * 2 ** tries;
  if (tries >= MOST_TRIES || performance.now() + pause > until) {
    throw new StoreUnavailableError('others were faster, again and again', { cause });
  }
  await delay(pause);
}
