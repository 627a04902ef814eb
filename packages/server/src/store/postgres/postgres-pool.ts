import { StoreUnavailableError } from '../store.ts';
import { type Call, PostgresConnection, type Row } from './postgres-connection.ts';
import type { PostgresSettings } from './postgres-url.ts';

/** How often it is looked for what has not been answered in time, in milliseconds. */
const SWEEP_MS = 200;
/** Most statements under way on one connection. What is not sent yet can still be refused without having been applied. */
const MOST_LOAD = 32;

interface Waiting {
  readonly until: number;
  /** Whether the connection is to be for nobody else. */
  readonly alone: boolean;
  /** Given a connection, it sends at once what it has to send. */
  take(connection: PostgresConnection): void;
  reject(error: unknown): void;
}

/**
 * Some connections, made when they are needed. Statements share them: each goes to the one with the fewest under way.
 * A transaction takes one for itself.
 */
export class PostgresPool {
  readonly #settings: PostgresSettings;
  readonly #size: number;
  readonly #mostTaken: number;
  readonly #open = new Set<PostgresConnection>();
  readonly #taken = new Set<PostgresConnection>();
  readonly #waiting: Waiting[] = [];
  readonly #sweep: NodeJS.Timeout;
  #connecting = 0;
  #closed = false;

  /** At most `mostTaken` of the connections are taken by transactions. */
  constructor(settings: PostgresSettings, size: number, mostTaken = Math.max(1, size - 1)) {
    this.#settings = settings;
    this.#size = size;
    this.#mostTaken = mostTaken;
    // After a turn that took long, the answers that came meanwhile are read first.
    this.#sweep = setInterval(() => setImmediate(() => this.#endLate(performance.now())), SWEEP_MS).unref();
  }

  /** Runs one statement, in company. @throws StoreUnavailableError, DatabaseError */
  run(call: Call, until: number): Promise<Row[]> {
    const found = this.#leastLoaded();
    if (found === null || found.load > 0) this.#connect();
    if (found !== null) return found.run(call, until);
    return new Promise((resolve, reject) => {
      this.#wait({ until, alone: false, take: (connection) => resolve(connection.run(call, until)), reject });
    });
  }

  /** A connection for a transaction; give it back with {@link release}. @throws StoreUnavailableError */
  async alone(until: number): Promise<PostgresConnection> {
    const found = this.#mayTake ? this.#leastLoaded() : null;
    if (found === null || found.load > 0) this.#connect();
    if (found === null) {
      return new Promise((resolve, reject) => this.#wait({ until, alone: true, take: resolve, reject }));
    }
    this.#taken.add(found);
    return found;
  }

  release(connection: PostgresConnection): void {
    this.#taken.delete(connection);
    if (this.#waiting.length > 0) this.#serve();
  }

  /** Ends every connection at once, because the server does not answer. */
  destroy(cause: Error): void {
    for (const connection of this.#open) connection.destroy(cause);
  }

  /** Lets what is under way finish. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#refuseAll(new StoreUnavailableError('the store is closed'));
    await Promise.all([...this.#open].map((connection) => connection.close()));
    clearInterval(this.#sweep);
  }

  get #hasRoom(): boolean {
    return !this.#closed && this.#open.size + this.#connecting < this.#size;
  }

  get #mayTake(): boolean {
    return this.#taken.size < this.#mostTaken;
  }

  #leastLoaded(): PostgresConnection | null {
    let least: PostgresConnection | null = null;
    for (const connection of this.#open) {
      if (this.#taken.has(connection)) continue;
      if (connection.load === 0) return connection;
      if (least === null || connection.load < least.load) least = connection;
    }
    return least === null || least.load >= MOST_LOAD ? null : least;
  }

  #wait(waiting: Waiting): void {
    if (this.#closed) waiting.reject(new StoreUnavailableError('the store is closed'));
    else this.#waiting.push(waiting);
  }

  #connect(): void {
    if (!this.#hasRoom) return;
    this.#connecting += 1;
    PostgresConnection.open(this.#settings)
      .then((connection) => this.#add(connection))
      .catch((error) => {
        // Whoever waits for one of the others goes on waiting.
        if (this.#open.size === 0) this.#refuseAll(error);
      })
      .finally(() => {
        this.#connecting -= 1;
      });
  }

  #add(connection: PostgresConnection): void {
    if (this.#closed) connection.destroy(new Error('the store is closed'));
    if (!connection.isOpen) return;
    this.#open.add(connection);
    connection.onAnswer = () => {
      if (this.#waiting.length > 0) this.#serve();
    };
    connection.onEnd = () => {
      this.#open.delete(connection);
      this.#taken.delete(connection);
      if (this.#waiting.length > 0) this.#connect();
    };
    this.#serve();
  }

  /** Gives those who wait what there is, in order; who needs a connection alone lets the others pass. */
  #serve(): void {
    for (let index = 0; index < this.#waiting.length; ) {
      const connection = this.#leastLoaded();
      if (connection === null) return;
      const { alone, take } = this.#waiting[index] as Waiting;
      if (alone && !this.#mayTake) {
        index += 1;
        continue;
      }
      this.#waiting.splice(index, 1);
      if (alone) this.#taken.add(connection);
      take(connection);
    }
  }

  #refuseAll(error: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  #endLate(now: number): void {
    for (const connection of this.#open) connection.endLate(now);
    if (this.#waiting.length === 0) return;
    const late = this.#waiting.filter(({ until }) => until < now);
    for (const waiting of late) {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      waiting.reject(new StoreUnavailableError('no connection to PostgreSQL became free in time'));
    }
  }
}
