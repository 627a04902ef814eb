import type { SQLInputValue } from 'node:sqlite';
import type { OperationTimings } from '../store-timings.ts';
import type { StoreCondition } from './files/sqlite-condition.ts';
import { type Row, SqliteConnection, type Statement } from './sqlite-connection.ts';

/** A statement that only reads. */
export type ReadStatement<Columns extends Row = Row> = Pick<Statement<Columns>, 'get' | 'all' | 'iterate'>;

/** How often the snapshot is renewed: bounds how late the commit of another process is seen. */
const RENEW_EVERY_MS = 250;

/**
 * Pages that are beyond the mapped part of a large file, or in the log, in KiB. SQLite's default of 2,000 KiB has no room for
 * the inner pages of the indexes of a large store: with it, reads beyond the mapped part took up to a fifth longer.
 */
const CACHE_KIB = 16_384;

/**
 * The main thread's read-only connection. Its snapshot is one read transaction that stays open across statements, which
 * spares each of them the file locks of a transaction of its own (half of a small read's cost). The snapshot is renewed when
 * the writer reports a commit, so what was acknowledged is always seen.
 */
export class SqliteReader {
  readonly connection: SqliteConnection;
  readonly #beginStatement: Statement;
  readonly #timer: NodeJS.Timeout;
  readonly #timings: OperationTimings;
  #hasSnapshot = false;
  #suspended = false;

  constructor(file: string, { readFailure }: StoreCondition, timings: OperationTimings) {
    this.#timings = timings;
    this.connection = new SqliteConnection(file, { readOnly: true, toFailure: readFailure });
    this.connection.database.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
    this.#beginStatement = this.connection.prepare('BEGIN');
    this.#timer = setInterval(() => this.renew(), RENEW_EVERY_MS);
    this.#timer.unref();
  }

  /** Prepares a read; its `get` and `all` see everything that was committed before the last {@link renew}. */
  readonly prepare = <Columns extends Row = Row>(sql: string): ReadStatement<Columns> => {
    const { get, all, iterate } = this.connection.prepare<Columns>(sql);
    return {
      get: this.#measured(get),
      all: this.#measured(all),
      // Not measured: the reader of the rows decides how long that takes.
      iterate: (...parameters) => {
        this.#requireSnapshot();
        return iterate(...parameters);
      },
    };
  };

  #measured<Answer>(
    read: (...parameters: SQLInputValue[]) => Answer,
  ): (...parameters: SQLInputValue[]) => Answer {
    return (...parameters) => {
      const begun = performance.now();
      let failure: unknown;
      try {
        this.#requireSnapshot();
        return read(...parameters);
      } catch (error) {
        failure = error;
        throw error;
      } finally {
        this.#timings.ended(begun, failure);
      }
    };
  }

  /** Ends the snapshot; the next read begins a new one. */
  renew(): void {
    if (!this.#hasSnapshot) return;
    this.#hasSnapshot = false;
    this.connection.endRead();
  }

  /**
   * Until {@link resume}, a snapshot ends with the task that began it, so that the log can be folded into the file. Reads go
   * on, and what one of them reads in several statements is one state.
   */
  suspend(): void {
    this.renew();
    this.#suspended = true;
  }

  resume(): void {
    this.#suspended = false;
  }

  close(): void {
    clearInterval(this.#timer);
    this.renew();
    this.connection.close();
  }

  #requireSnapshot(): void {
    if (this.#hasSnapshot) return;
    this.#beginStatement.run();
    this.#hasSnapshot = true;
    if (this.#suspended) queueMicrotask(() => this.renew());
  }
}
