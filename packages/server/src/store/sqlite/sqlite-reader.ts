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
  readonly #commit: Statement;
  readonly #timer: NodeJS.Timeout;
  #holding = false;
  #suspended = false;

  constructor(file: string) {
    this.connection = new SqliteConnection(file, { readOnly: true });
    this.#begin = this.connection.prepare('BEGIN');
    this.#commit = this.connection.prepare('COMMIT');
    this.#timer = setInterval(() => this.renew(), RENEW_EVERY_MS);
    this.#timer.unref();
  }

  /** Prepares a read; its `get` and `all` see everything that was committed before the last {@link renew}. */
  prepare(sql: string): ReadStatement {
    const { get, all, iterate } = this.connection.prepare(sql);
    return {
      get: (...parameters) => {
        this.#hold();
        return get(...parameters);
      },
      all: (...parameters) => {
        this.#hold();
        return all(...parameters);
      },
      iterate: (...parameters) => {
        this.#hold();
        return iterate(...parameters);
      },
    };
  }

  /** Lets the snapshot go; the next read takes a new one. */
  renew(): void {
    if (!this.#holding) return;
    this.#commit.run();
    this.#holding = false;
  }

  /** Holds no snapshot until {@link resume}: reads go on, each by itself, while the log is folded into the file. */
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
    if (this.#holding || this.#suspended) return;
    this.#begin.run();
    this.#holding = true;
  }
}
