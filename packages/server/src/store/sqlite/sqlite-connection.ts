import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';

/** How long a statement waits for another process (the command line) to finish its write, in milliseconds. */
export const BUSY_TIMEOUT_MS = 5_000;
/** The part of the file that is read without copying pages; the kernel caches what is used. Node's SQLite maps no more. */
const MMAP_BYTES = 2 * 1_024 ** 3;

export type Row = SQLInputValue[];

/** A statement whose rows come as arrays of columns, the cheapest form. `Columns` are those of its rows. */
export interface Statement<Columns extends Row = Row> {
  get(...parameters: SQLInputValue[]): Columns | undefined;
  all(...parameters: SQLInputValue[]): Columns[];
  iterate(...parameters: SQLInputValue[]): Iterable<Columns>;
  /** The number of rows changed. */
  run(...parameters: SQLInputValue[]): number;
  /** Runs an INSERT and gives the number of its row. */
  insert(...parameters: SQLInputValue[]): number;
}

interface ConnectionOptions {
  readonly readOnly: boolean;
  /** The database ends with the connection: nothing is made durable, or rolled back. */
  readonly isTemporary?: boolean;
  /** Maps SQLite's error to the one that a statement throws. Default: SQLite's error. */
  readonly toFailure?: (error: unknown) => unknown;
}

/** One connection to the store's file, with the pragmas that every connection needs and its prepared statements. */
export class SqliteConnection {
  readonly database: DatabaseSync;
  readonly #toFailure: (error: unknown) => unknown;

  constructor(
    file: string,
    { readOnly, isTemporary = false, toFailure = (error) => error }: ConnectionOptions,
  ) {
    this.#toFailure = toFailure;
    this.database = new DatabaseSync(file, { readOnly, timeout: BUSY_TIMEOUT_MS });
    this.database.exec(`PRAGMA mmap_size = ${MMAP_BYTES}; PRAGMA temp_store = MEMORY`);
    if (isTemporary) this.database.exec('PRAGMA journal_mode = OFF');
    else if (!readOnly) this.#makeDurable(file);
  }

  #makeDurable(file: string): void {
    // A new file can give pages back (see `Purge`). One that has content keeps its mode until a VACUUM.
    this.database.exec('PRAGMA synchronous = FULL; PRAGMA auto_vacuum = INCREMENTAL');
    const mode = Object.values(this.database.prepare('PRAGMA journal_mode = WAL').get() ?? {})[0];
    // Where memory cannot be shared (some network file systems), SQLite stays in another mode and reports it only here.
    if (mode !== 'wal') throw new Error(`${file} is on a file system that cannot hold it: no shared memory`);
  }

  /** Prepares a statement, once, for the life of the connection. */
  readonly prepare = <Columns extends Row = Row>(sql: string): Statement<Columns> => {
    const safely = this.#safely;
    const statement: StatementSync = safely(() => this.database.prepare(sql));
    statement.setReturnArrays(true);
    return {
      get: (...parameters) => safely(() => statement.get(...parameters) as unknown as Columns | undefined),
      all: (...parameters) => safely(() => statement.all(...parameters) as unknown as Columns[]),
      iterate: (...parameters) => this.#iterate<Columns>(statement, parameters),
      run: (...parameters) => safely(() => Number(statement.run(...parameters).changes)),
      insert: (...parameters) => safely(() => Number(statement.run(...parameters).lastInsertRowid)),
    };
  };

  readonly #safely = <Answer>(use: () => Answer): Answer => {
    try {
      return use();
    } catch (error) {
      throw this.#toFailure(error);
    }
  };

  *#iterate<Columns>(statement: StatementSync, parameters: SQLInputValue[]): Iterable<Columns> {
    try {
      yield* statement.iterate(...parameters) as unknown as Iterable<Columns>;
    } catch (error) {
      throw this.#toFailure(error);
    }
  }

  /** Ends a transaction that only read; where that fails there is nothing to lose. Never throws. */
  endRead(): void {
    for (const statement of ['COMMIT', 'ROLLBACK']) {
      // After an I/O error there is no transaction: SQLite has ended it by itself.
      if (!this.database.isTransaction) return;
      try {
        this.database.exec(statement);
      } catch (error) {
        this.#toFailure(error);
      }
    }
  }

  close(): void {
    if (this.database.isOpen) this.database.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
