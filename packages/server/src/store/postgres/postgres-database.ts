import { setTimeout as delay } from 'node:timers/promises';
import { StoreUnavailableError } from '../store.ts';
import type { Call, PostgresConnection, Row } from './postgres-connection.ts';
import { isLostRace, toStoreFailure } from './postgres-errors.ts';
import { PostgresPool } from './postgres-pool.ts';
import type { PostgresSettings } from './postgres-url.ts';

/** Within this every operation has answered or rejected, whatever the server does, in milliseconds. */
const ANSWER_WITHIN_MS = 4_500;
/** How long a large write may take, in milliseconds, as long as the server answers others meanwhile. */
const LARGE_WRITE_MS = 10 * 60_000;
/** How often, while a large write is under way, the server is asked whether it still answers; and how long it may take. */
const PULSE_EVERY_MS = 500;
const PULSE_WITHIN_MS = 2_500;
/** The share of the connections that is for reads. */
const READERS = 0.3;
/** Tries of one operation that loses races, and the longest first pause between two, in milliseconds. */
const MOST_TRIES = 12;
const PAUSE_MS = 4;

/** Whether a transaction is large: it may then take as long as the server works on it. */
export type Size = 'small' | 'large';

type Answers<Calls extends readonly Call[]> = { [Index in keyof Calls]: Row[] };

/** How the driver speaks to PostgreSQL. What its methods reject with is one of the port's errors, or a defect. */
export class PostgresDatabase {
  readonly #reads: PostgresPool;
  readonly #writes: PostgresPool;
  readonly #pulse: Pulse;
  #underWay = 0;
  #closing: Promise<void> | null = null;
  #onIdle: () => void = () => {};

  constructor(settings: PostgresSettings) {
    const reads = Math.max(1, Math.floor(settings.poolSize * READERS));
    // Apart, so that no read waits behind a write that waits for another one's lock.
    this.#reads = new PostgresPool(settings, reads);
    this.#writes = new PostgresPool(settings, settings.poolSize - reads);
    this.#pulse = new Pulse(this.#reads, (cause) => {
      this.#reads.destroy(cause);
      this.#writes.destroy(cause);
    });
  }

  /** A read of one statement: one round trip, one state. */
  async read(...call: Call): Promise<Row[]> {
    try {
      return await this.#reads.run(call, performance.now() + ANSWER_WITHIN_MS);
    } catch (error) {
      throw toStoreFailure(error);
    }
  }

  /**
   * A write: `run` is called again, from its beginning, when it lost a race.
   * @throws StoreUnavailableError also when it goes on losing
   */
  async operation<Answer>(run: (attempt: Attempt) => Promise<Answer>): Promise<Answer> {
    if (this.#closing !== null) throw new StoreUnavailableError('the store is closed');
    this.#underWay += 1;
    try {
      return await this.#tryUntilWon(run);
    } catch (error) {
      throw toStoreFailure(error);
    } finally {
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#onIdle();
    }
  }

  async #tryUntilWon<Answer>(run: (attempt: Attempt) => Promise<Answer>): Promise<Answer> {
    const until = performance.now() + ANSWER_WITHIN_MS;
    const attempt = new Attempt(this.#writes, this.#pulse, until);
    for (let tries = 1; ; tries += 1) {
      try {
        return await run(attempt);
      } catch (error) {
        if (!isLostRace(error)) throw error;
        const pause = Math.random() * PAUSE_MS * 2 ** tries;
        if (tries === MOST_TRIES || performance.now() + pause > until) {
          throw new StoreUnavailableError('too many writes of the same at once', { cause: error });
        }
        await delay(pause);
      }
    }
  }

  /** Lets the operations under way finish. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#underWay > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    await Promise.all([this.#reads.close(), this.#writes.close()]);
  }
}

/** One attempt at an operation. */
export class Attempt {
  readonly #pool: PostgresPool;
  readonly #pulse: Pulse;
  readonly #until: number;

  constructor(pool: PostgresPool, pulse: Pulse, until: number) {
    this.#pool = pool;
    this.#pulse = pulse;
    this.#until = until;
  }

  /** One statement, committed when it resolves. */
  run(...call: Call): Promise<Row[]> {
    return this.#pool.run(call, this.#until);
  }

  /** Runs `steps` in a transaction. What they do not commit themselves is rolled back. */
  async transaction<Answer>(
    size: Size,
    steps: (transaction: Transaction) => Promise<Answer>,
  ): Promise<Answer> {
    const connection = await this.#pool.alone(this.#until);
    const transaction = new Transaction(
      connection,
      size === 'large' ? Number.POSITIVE_INFINITY : this.#until,
    );
    const stopPulse = size === 'large' ? this.#pulse.start() : () => {};
    try {
      return await steps(transaction);
    } finally {
      stopPulse();
      transaction.end();
      this.#pool.release(connection);
    }
  }
}

/** A transaction: statements that are sent together are one round trip. It begins with the first of them. */
export class Transaction {
  readonly #connection: PostgresConnection;
  readonly #until: number;
  #state: 'new' | 'begun' | 'ended' = 'new';

  constructor(connection: PostgresConnection, until: number) {
    this.#connection = connection;
    this.#until = until;
  }

  /** Sends all of them and waits for all answers. @throws the first failure */
  async run<const Calls extends readonly Call[]>(...calls: Calls): Promise<Answers<Calls>> {
    const begun = this.#begin();
    const [, ...answers] = await together([begun, ...this.#send(calls)]);
    return answers as Answers<Calls>;
  }

  /** The same, and commits in the same round trip. */
  async commit<const Calls extends readonly Call[]>(...calls: Calls): Promise<Answers<Calls>> {
    const sent = [this.#begin(), ...this.#send(calls)];
    this.#state = 'ended';
    const answers = await together([...sent, this.#connection.control('COMMIT', this.#until)]);
    return answers.slice(1, -1) as Answers<Calls>;
  }

  /** Rolls back what was not committed. Nobody waits for it: the connection answers in order. */
  end(): void {
    if (this.#state === 'begun') this.#connection.control('ROLLBACK', this.#until).catch(() => {});
    this.#state = 'ended';
  }

  async #begin(): Promise<Row[]> {
    if (this.#state !== 'new') return [];
    this.#state = 'begun';
    const patience =
      this.#until === Number.POSITIVE_INFINITY ? `; SET LOCAL statement_timeout = ${LARGE_WRITE_MS}` : '';
    return this.#connection.control(`BEGIN ISOLATION LEVEL READ COMMITTED${patience}`, this.#until);
  }

  #send(calls: readonly Call[]): Promise<Row[]>[] {
    const isLarge = this.#until === Number.POSITIVE_INFINITY;
    return calls.map((call) =>
      isLarge ? this.#connection.runOnce(call, this.#until) : this.#connection.run(call, this.#until),
    );
  }
}

/** Waits for all, so that none is left behind. @throws the first failure: those after it only follow from it */
async function together(sent: readonly Promise<Row[]>[]): Promise<Row[][]> {
  const settled = await Promise.allSettled(sent);
  const failed = settled.find((each) => each.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return settled.map((each) => (each as PromiseFulfilledResult<Row[]>).value);
}

/** While large writes wait without a limit: asks the server again and again whether it still answers at all. */
class Pulse {
  readonly #pool: PostgresPool;
  readonly #onSilence: (cause: Error) => void;
  #waiting = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(pool: PostgresPool, onSilence: (cause: Error) => void) {
    this.#pool = pool;
    this.#onSilence = onSilence;
  }

  /** Until the function that it returns is called. */
  start(): () => void {
    this.#waiting += 1;
    this.#timer ??= setTimeout(() => this.#ask(), PULSE_EVERY_MS);
    return () => {
      this.#waiting -= 1;
    };
  }

  async #ask(): Promise<void> {
    try {
      await this.#pool.run(['SELECT 1 AS pulse'], performance.now() + PULSE_WITHIN_MS);
    } catch (error) {
      this.#onSilence(error as Error);
    }
    this.#timer = this.#waiting > 0 ? setTimeout(() => this.#ask(), PULSE_EVERY_MS) : null;
  }
}
