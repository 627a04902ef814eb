import { StoreUnavailableError } from '../../store.ts';
import { type Call, PostgresConnection, type Row } from './postgres-connection.ts';
import { FairQueue, type Whose } from './postgres-queue.ts';
import type { PostgresSettings } from './postgres-url.ts';

/** How often it is looked for what has not been answered in time, in milliseconds. */
const SWEEP_MS = 200;
/**
 * So much of its time a statement still has when it is sent, in milliseconds. Who gets no connection until then is
 * refused: the connection of a statement that is not answered in time ends, with all others on it.
 */
export const SENT_BEFORE_MS = 1_000;

export interface PoolSize {
  /** Most connections. */
  readonly size: number;
  /** Most statements under way on one. What is not sent yet can still be refused without having been applied. */
  readonly depth: number;
  /** How long a statement waits for a lock, unless its transaction says otherwise. Default: as long as it may take. */
  readonly lockTimeoutMs?: number;
}

/**
 * Some connections, made when they are needed. Statements share them: each goes to the one with the fewest under way.
 * A transaction takes one for itself. When all have enough to do, projects take turns.
 */
export class PostgresPool {
  readonly #settings: PostgresSettings;
  readonly #size: PoolSize;
  readonly #open = new Set<PostgresConnection>();
  readonly #taken = new Set<PostgresConnection>();
  readonly #queue = new FairQueue<PostgresConnection>('no connection to PostgreSQL became free in time');
  readonly #sweep: NodeJS.Timeout;
  #connecting = 0;
  #closed = false;

  constructor(settings: PostgresSettings, size: PoolSize) {
    this.#settings = settings;
    this.#size = size;
    // After a turn that took long, the answers that came meanwhile are read first.
    this.#sweep = setInterval(() => setImmediate(() => this.#endLate(performance.now())), SWEEP_MS).unref();
  }

  /** Runs one statement, in company. @throws StoreUnavailableError, DatabaseError */
  run(whose: Whose, call: Call, until: number): Promise<Row[]> {
    return this.#give(whose, until, (connection) => connection.run(call, until));
  }

  /** A connection for a transaction; give it back with {@link release}. @throws StoreUnavailableError */
  alone(whose: Whose, until: number): Promise<PostgresConnection> {
    return this.#give(whose, until, (connection) => {
      this.#taken.add(connection);
      return connection;
    });
  }

  release(connection: PostgresConnection): void {
    this.#taken.delete(connection);
    this.#serve();
  }

  /** Whether there is a connection. */
  get isConnected(): boolean {
    return this.#open.size > 0;
  }

  /** Whether somebody waits for a connection. */
  get isAwaited(): boolean {
    return !this.#queue.isEmpty;
  }

  /** Ends every connection at once, because the server does not answer. */
  destroy(cause: Error): void {
    for (const connection of this.#open) connection.destroy(cause);
  }

  /** Lets what is under way finish. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#queue.refuseAll(new StoreUnavailableError('the store is closed'));
    await Promise.all([...this.#open].map((connection) => connection.close()));
    clearInterval(this.#sweep);
  }

  get #hasRoom(): boolean {
    return !this.#closed && this.#open.size + this.#connecting < this.#size.size;
  }

  /** At once where there is one, which is then used at once. */
  async #give<Answer>(
    whose: Whose,
    until: number,
    use: (connection: PostgresConnection) => Answer | Promise<Answer>,
  ): Promise<Answer> {
    if (this.#closed) throw new StoreUnavailableError('the store is closed');
    const found = this.#leastLoaded();
    if (found === null || found.load > 0) this.#connect();
    return found === null ? this.#queue.wait(whose, until - SENT_BEFORE_MS, use) : use(found);
  }

  #leastLoaded(): PostgresConnection | null {
    let least: PostgresConnection | null = null;
    for (const connection of this.#open) {
      if (this.#taken.has(connection)) continue;
      if (connection.load === 0) return connection;
      if (connection.load >= (least?.load ?? this.#size.depth) || connection.isHeldUp) continue;
      least = connection;
    }
    return least;
  }

  #connect(): void {
    if (!this.#hasRoom) return;
    this.#connecting += 1;
    PostgresConnection.open(this.#settings, this.#size.lockTimeoutMs)
      .finally(() => {
        this.#connecting -= 1;
      })
      .then((connection) => this.#add(connection))
      .catch((error) => {
        // Whoever waits for one of the others goes on waiting.
        if (this.#open.size === 0) this.#queue.refuseAll(error);
      });
  }

  #add(connection: PostgresConnection): void {
    if (this.#closed) connection.destroy(new Error('the store is closed'));
    const replace = () => {
      if (this.isAwaited) this.#connect();
    };
    // It may have ended before anybody could use it.
    if (!connection.isOpen) {
      replace();
      return;
    }
    this.#open.add(connection);
    connection.onAnswer = () => this.#serve();
    connection.onEnd = () => {
      this.#open.delete(connection);
      this.#taken.delete(connection);
      replace();
    };
    this.#serve();
  }

  /** Gives those who wait what there is. */
  #serve(): void {
    while (this.isAwaited) {
      const connection = this.#leastLoaded();
      if (connection === null) return;
      this.#queue.give(connection);
    }
  }

  #endLate(now: number): void {
    for (const connection of this.#open) connection.endLate(now);
  }
}
