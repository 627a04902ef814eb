import { escapeLiteral } from 'pg';
import { type ProjectKey, StoreUnavailableError } from '../../store.ts';
import type { Call, Row } from './postgres-connection.ts';
import type { Places } from './postgres-places.ts';
import type { PostgresPool } from './postgres-pool.ts';
import { Transaction, type TransactionTerms } from './postgres-transaction.ts';
import type { Watchdog } from './postgres-watchdog.ts';

/** How long a large write may take once it has a connection, in milliseconds, as long as the server answers others meanwhile. */
const LARGE_WRITE_MS = 10 * 60_000;
/** So much later its connection ends, when the server has not ended a statement that took all of that time. */
const LARGE_MARGIN_MS = 5_000;
/** How long one waits for other large writes before its last try, in milliseconds. */
const LARGE_WAIT_MS = 30_000;
/** How long one waits for a lock before it is asked whether another large write holds it; at least, where it is late already. */
const LARGE_LOCK_MS = 2_000;
const LEAST_LOCK_MS = 500;
/** How long a write with a connection to itself waits for one lock before others have their turn, in milliseconds. */
const PATIENT_LOCK_MS = 1_000;
/** How long a statement of unknown size may work, in milliseconds: all of them take no longer than a small write may. */
const MOMENT_MS = 500;
/** So often PostgreSQL may wait for one row: for those who came before, and for who has it. */
const LOCK_WAITS = 2;
/** So much before its time is up a write waits for no lock any more, so that the server and not we end it. */
const LOCK_MARGIN_MS = 300;
/** How long a large write of a living process leaves its connection alone, to work out what to write, in seconds. */
const THINKING_S = 2;

/** What large writes of a project, or of all projects, are called while they are under way, for every process to see. */
const LARGE = 'rollcall large write ';
const largeName = (project: ProjectKey | undefined) => LARGE + (project ?? '');

/**
 * Whether another large write whose name begins so, or one of all projects, is at work: it began so many milliseconds ago
 * at least, and is neither frozen nor waiting for locks itself.
 */
const OTHER_AT_WORK = `
  SELECT 1 FROM pg_stat_activity
  WHERE (starts_with(application_name, $1) OR application_name = '${LARGE}')
    AND datname = current_database() AND wait_event_type IS DISTINCT FROM 'Lock'
    AND xact_start < clock_timestamp() - $2 * interval '1 ms'
    AND (state = 'active'
      OR state = 'idle in transaction' AND state_change > clock_timestamp() - interval '${THINKING_S} s')
  LIMIT 1`;

/**
 * Whether a transaction is large: it may then take as long as the server works on it, but only few go on at once. One of
 * unknown size is run as a small one whose statements have a moment each, and again as a large one when that will not do.
 */
export type Size = 'small' | 'large' | 'unknown';

/** What writes share. */
export interface WriteMeans {
  readonly writes: PostgresPool;
  /** For writes that wait for a lock. */
  readonly patience: Places;
  readonly large: Places;
  readonly watchdog: Watchdog;
  /** How long a statement of a write that cannot become large may take, in milliseconds. */
  readonly statementTimeoutMs: number;
}

/** One operation, attempted until it is done or its time is up. */
export class Attempt {
  readonly #means: WriteMeans;
  readonly #project: ProjectKey | undefined;
  readonly #begun = performance.now();
  readonly #until: number;
  #isPatient = false;
  #mayGrow = false;
  #isLarge = false;
  /** How long the large write waits for a lock. */
  #lockMs = LARGE_LOCK_MS;

  /** Writes that are not large have been answered by `until`. */
  constructor(means: WriteMeans, project: ProjectKey | undefined, until: number) {
    this.#means = means;
    this.#project = project;
    this.#until = until;
  }

  /** Until then it may be tried again. */
  get until(): number {
    return this.#isLarge ? this.#begun + LARGE_WAIT_MS : this.#until;
  }

  /** One statement, committed when it resolves. */
  async run(...call: Call): Promise<Row[]> {
    if (!this.#isPatient) return this.#means.writes.run(this.#project, call, this.#until);
    const [rows] = await this.#patiently((transaction) => transaction.commit(call));
    return rows;
  }

  /** Runs `steps` in a transaction. What they do not commit themselves is rolled back. */
  transaction<Answer>(size: Size, steps: (transaction: Transaction) => Promise<Answer>): Promise<Answer> {
    if (size === 'large' || this.#isLarge) return this.#atLength(steps);
    this.#mayGrow = size === 'unknown';
    return this.#isPatient
      ? this.#patiently(steps)
      : this.#inTime(steps, () => (this.#mayGrow ? [`statement_timeout = ${MOMENT_MS}`] : []));
  }

  /**
   * After somebody else held a lock for too long: whoever waits for it from now on does so where it is in nobody's way.
   * @throws the error when waiting longer leads nowhere
   */
  async bear(error: unknown): Promise<void> {
    this.#isPatient = true;
    const isInTime = performance.now() < this.#until - LOCK_WAITS * LOCK_MARGIN_MS;
    if (!this.#isLarge && isInTime) return;
    const mayWait = (this.#isLarge || this.#mayGrow) && performance.now() < this.#begun + LARGE_WAIT_MS;
    if (!mayWait || !(await this.#isBehindLargeWrite())) throw error;
    this.#isLarge = true;
  }

  /** After a statement took too long. @throws the error when it may not take longer */
  grow(error: unknown): void {
    if (!this.#mayGrow) throw error;
    this.#isLarge = true;
  }

  #patiently<Answer>(steps: (transaction: Transaction) => Promise<Answer>): Promise<Answer> {
    const { patience } = this.#means;
    return patience.during(this.#project, this.#until - LOCK_MARGIN_MS, () =>
      this.#inTime(steps, () => this.#patientSettings()),
    );
  }

  #patientSettings(): string[] {
    const left = this.#until - LOCK_MARGIN_MS - performance.now();
    if (left <= 0) throw new StoreUnavailableError('others hold what is to be written');
    const lockMs = Math.ceil(Math.min(PATIENT_LOCK_MS, left / LOCK_WAITS));
    // Waiting for locks is not to look as if it took long.
    const most = this.#mayGrow ? LOCK_WAITS * lockMs + MOMENT_MS : this.#means.statementTimeoutMs;
    return [`lock_timeout = ${lockMs}`, `statement_timeout = ${Math.ceil(Math.min(left, most))}`];
  }

  #inTime<Answer>(
    steps: (transaction: Transaction) => Promise<Answer>,
    settings: () => readonly string[],
  ): Promise<Answer> {
    const until = () => this.#until;
    return this.#during(() => ({ until, settings: settings() }), this.#until, steps);
  }

  async #atLength<Answer>(steps: (transaction: Transaction) => Promise<Answer>): Promise<Answer> {
    this.#isLarge = true;
    const { large, watchdog } = this.#means;
    const stopWatching = watchdog.start();
    try {
      return await large.during(this.#project, this.until, () => {
        const end = performance.now() + LARGE_WRITE_MS + LARGE_MARGIN_MS;
        const until = () => end;
        const terms = () => ({ until, settings: this.#largeSettings() });
        return this.#during(terms, this.until, steps);
      });
    } finally {
      stopWatching();
    }
  }

  #largeSettings(): string[] {
    const left = Math.ceil(this.#until - LOCK_MARGIN_MS - performance.now());
    const isLate = left < LARGE_LOCK_MS && !this.#isPatient;
    this.#lockMs = isLate ? Math.max(LEAST_LOCK_MS, left) : LARGE_LOCK_MS;
    return [
      `statement_timeout = ${LARGE_WRITE_MS}`,
      `lock_timeout = ${this.#lockMs}`,
      `application_name = ${escapeLiteral(largeName(this.#project))}`,
    ];
  }

  /** `terms` are asked for when there is a connection, which has to be waited for until then at most. */
  async #during<Answer>(
    terms: () => TransactionTerms,
    until: number,
    steps: (transaction: Transaction) => Promise<Answer>,
  ): Promise<Answer> {
    const { writes } = this.#means;
    const connection = await writes.alone(this.#project, until);
    try {
      const transaction = new Transaction(connection, terms());
      try {
        return await steps(transaction);
      } finally {
        transaction.end();
      }
    } finally {
      writes.release(connection);
    }
  }

  async #isBehindLargeWrite(): Promise<boolean> {
    return (await this.#means.watchdog.ask(OTHER_AT_WORK, largeName(this.#project), this.#lockMs)).length > 0;
  }
}
