import { StoreUnavailableError } from '../store.ts';
import { PostgresConnection } from './postgres-connection.ts';
import type { PostgresSettings } from './postgres-url.ts';

/** How often it is looked for what has not been answered in time, in milliseconds. */
const SWEEP_MS = 200;

interface Waiting {
  readonly until: number;
  readonly alone: boolean;
  resolve(connection: PostgresConnection): void;
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
    this.#sweep = setInterval(() => this.#endLate(performance.now()), SWEEP_MS).unref();
  }

  /** A connection to send one statement on, in company. @throws StoreUnavailableError */
  shared(until: number): PostgresConnection | Promise<PostgresConnection> {
    const found = this.#leastLoaded();
    if (found === null || (found.load > 0 && this.#hasRoom)) this.#connect();
    return found ?? this.#turn(until, false);
  }

  /** A connection for a transaction; give it back with {@link release}. @throws StoreUnavailableError */
  async alone(until: number): Promise<PostgresConnection> {
    const found = this.#mayTake ? this.#leastLoaded() : null;
    if (found === null || found.load > 0) this.#connect();
    if (found === null) return this.#turn(until, true);
    this.#taken.add(found);
    return found;
  }

  release(connection: PostgresConnection): void {
    this.#taken.delete(connection);
    this.#serve();
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
    return least;
  }

  #turn(until: number, alone: boolean): Promise<PostgresConnection> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new StoreUnavailableError('the store is closed'));
      this.#waiting.push({ until, alone, resolve, reject });
    });
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
    connection.onEnd = () => {
      this.#open.delete(connection);
      if (this.#waiting.length > 0) this.#connect();
    };
    this.#serve();
  }

  /** Gives those who wait what there is, in order; who needs a connection alone lets the others pass. */
  #serve(): void {
    for (let index = 0; index < this.#waiting.length; ) {
      const { alone, resolve } = this.#waiting[index] as Waiting;
      const connection = alone && !this.#mayTake ? null : this.#leastLoaded();
      if (connection === null) {
        index += 1;
        continue;
      }
      this.#waiting.splice(index, 1);
      if (alone) this.#taken.add(connection);
      resolve(connection);
    }
  }

  #refuseAll(error: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  #endLate(now: number): void {
    for (const connection of this.#open) connection.endLate(now);
    const late = this.#waiting.filter(({ until }) => until < now);
    for (const waiting of late) {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      waiting.reject(new StoreUnavailableError('no connection to PostgreSQL became free in time'));
    }
  }
}
