import { DatabaseError } from 'pg';
import { StoreUnavailableError } from '../../store.ts';
import { type Call, CONNECT_LIMIT_MS, type Row } from './postgres-connection.ts';
import { PostgresPool, SENT_BEFORE_MS } from './postgres-pool.ts';
import type { PostgresSettings } from './postgres-url.ts';

/** How often the server is checked, in milliseconds. */
const EVERY_MS = 250;
/**
 * A server is dead that has answered nothing at so many checks after the one that asked it: for 3 seconds, so that a
 * caller has an answer within 5. These are checks and not a time: while this thread is busy it reads no answers.
 */
const MOST_SILENT_CHECKS = 12;
/** Nothing else ends a check: when this is over the server has been called dead for long. */
const CHECK_LIMIT_MS = 60_000;
/** How long a question beside large writes may take, the connection included, in milliseconds. */
const QUESTION_LIMIT_MS = CONNECT_LIMIT_MS + SENT_BEFORE_MS;

/**
 * Tells a server that works for long from a dead one. Large writes wait for their answers without a limit of their own; while
 * there are some, the server is asked again and again whether it answers at all. One check decides for all connections of
 * a pool. It has a connection to itself, since on a shared one it would wait behind the work of others.
 */
export class Watchdog {
  readonly #pool: PostgresPool;
  readonly #onDead: (cause: Error) => void;
  #watching = 0;
  #timer: NodeJS.Timeout | null = null;
  #isAsked = false;
  #silentChecks = 0;

  constructor(settings: PostgresSettings, onDead: (cause: Error) => void) {
    this.#pool = new PostgresPool(settings, { size: 1, depth: 1 });
    this.#onDead = onDead;
  }

  /** Checks until the function that it returns is called. */
  start(): () => void {
    this.#watching += 1;
    if (this.#timer === null) {
      this.#silentChecks = 0;
      this.#schedule();
    }
    return () => {
      this.#watching -= 1;
    };
  }

  /** A question beside large writes. @throws StoreUnavailableError, DatabaseError */
  ask(...call: Call): Promise<Row[]> {
    return this.#pool.run(null, call, performance.now() + QUESTION_LIMIT_MS);
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  #schedule(): void {
    // Answers that came while this thread was busy are read before the check, which is after them in the event loop.
    this.#timer = setTimeout(() => setImmediate(() => this.#check()), EVERY_MS);
  }

  #check(): void {
    this.#timer = null;
    if (this.#watching === 0) return;
    this.#schedule();
    this.#silentChecks += 1;
    if (this.#silentChecks > MOST_SILENT_CHECKS) {
      this.#silentChecks = 0;
      const cause = new StoreUnavailableError(
        `PostgreSQL has not answered for ${(MOST_SILENT_CHECKS * EVERY_MS) / 1_000} s`,
      );
      this.#pool.destroy(cause);
      this.#onDead(cause);
    } else if (!this.#isAsked) {
      void this.#askForLife();
    }
  }

  /** A failure to connect is no answer: the next check asks again. */
  async #askForLife(): Promise<void> {
    this.#isAsked = true;
    try {
      await this.#pool.run(null, ['SELECT 1 AS alive'], performance.now() + CHECK_LIMIT_MS);
      this.#silentChecks = 0;
    } catch (error) {
      if (isAnswer(error)) this.#silentChecks = 0;
    } finally {
      this.#isAsked = false;
    }
  }
}

/** Whether it is the server that rejects, one connection more, say: then it lives. */
const isAnswer = (error: unknown): boolean =>
  error instanceof DatabaseError || (error as Error).cause instanceof DatabaseError;
