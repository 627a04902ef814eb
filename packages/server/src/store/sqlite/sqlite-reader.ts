import type { SQLInputValue } from 'node:sqlite';
import type { StoreCondition } from './sqlite-condition.ts';
import { SqliteConnection, type Statement } from './sqlite-connection.ts';

/** A statement that only reads. */
export type ReadStatement = Pick<Statement, 'get' | 'all' | 'iterate'>;

/** How long a held snapshot may go unrenewed: bounds how late the commit of another process is seen. */
const RENEW_EVERY_MS = 250;

/**
 * The main thread's read-only connection. It holds one read transaction open across statements, which spares each of
 * them the file locks of a transaction of its own (half of a small read's cost), and renews it when the writer reports
 * a commit, so that what was acknowledged is always seen.
 */
export class SqliteReader {
  readonly connection: SqliteConnection;
  readonly #begin: Statement;
  readonly #timer: NodeJS.Timeout;
  #holding = false;
  #suspended = false;

  constructor(file: string, { readFailure }: StoreCondition) {
    this.connection = new SqliteConnection(file, { readOnly: true, toFailure: readFailure });
    this.#begin = this.connection.prepare('BEGIN');
    this.#timer = setInterval(() => this.renew(), RENEW_EVERY_MS);
    this.#timer.unref();
  }

  /** Prepares a read; its `get` and `all` see everything that was committed before the last {@link renew}. */
  prepare(sql: string): ReadStatement {
    const { get, all, iterate } = this.connection.prepare(sql);
    return { get: this.#reading(get), all: this.#reading(all), iterate: this.#reading(iterate) };
  }

  #reading<Answer>(
    read: (...parameters: SQLInputValue[]) => Answer,
  ): (...parameters: SQLInputValue[]) => Answer {
    return (...parameters) => {
      if (!this.#holding) this.#hold();
      return read(...parameters);
    };
  }

  /** Lets the snapshot go; the next read takes a new one. */
  renew(): void {
    if (!this.#holding) return;
    this.#holding = false;
    this.connection.endRead();
  }

  /**
   * Holds a snapshot no longer than the task that takes it, until {@link resume}: reads go on, and what one of them reads
   * in several statements is one state, while the log is folded into the file.
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

  #hold(): void {
    this.#begin.run();
    this.#holding = true;
    if (this.#suspended) queueMicrotask(() => this.renew());
  }
}
