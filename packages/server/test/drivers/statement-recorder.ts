/** Records what the PostgreSQL clients of this process send. */
import { mock } from 'node:test';
import pg from 'pg';
import { Purge } from '../../src/store/postgres/postgres-purge.ts';

export interface Sent {
  readonly text: string;
  /** The name of the prepared statement; undefined where it is planned each time. */
  readonly name?: string;
  readonly values: readonly unknown[];
}

type Send = (config: Sent, callback: (error: unknown, result: unknown) => void) => unknown;

/** Statements that read or write tables: not those that control transactions, which have no parameters. */
const OF_TABLES = /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/;

/**
 * The statements of tables that clients of this process send, and all round trips: statements that are sent while an answer
 * is awaited count as one round trip. While it records, no deletion starts a purge, whose statements would count too.
 */
export class Recorder {
  readonly sent: Sent[] = [];
  roundTrips = 0;
  readonly #query = pg.Client.prototype.query;
  #purgeStart: { readonly mock: { restore(): void } } | null = null;

  start(): void {
    this.#purgeStart = mock.method(Purge.prototype, 'start', () => {});
    const recorder = this;
    const query = this.#query as unknown as Send;
    const awaited = new WeakMap<object, number>();
    function record(this: object, config: Sent, callback: Parameters<Send>[1]): unknown {
      // No caller waits for a rollback, or for the settings of a new connection.
      if (typeof callback !== 'function' || /^ROLLBACK/.test(config.text))
        return query.call(this, config, callback);
      const before = awaited.get(this) ?? 0;
      if (before === 0) recorder.roundTrips += 1;
      awaited.set(this, before + 1);
      if (OF_TABLES.test(config.text)) recorder.sent.push(config);
      return query.call(this, config, (error, result) => {
        awaited.set(this, (awaited.get(this) ?? 1) - 1);
        callback(error, result);
      });
    }
    pg.Client.prototype.query = record as unknown as typeof pg.Client.prototype.query;
  }

  stop(): void {
    pg.Client.prototype.query = this.#query;
    this.#purgeStart?.mock.restore();
  }

  /** How many statements and round trips `run` sends. */
  async during(run: () => Promise<unknown>): Promise<{ statements: number; roundTrips: number }> {
    const [sent, roundTrips] = [this.sent.length, this.roundTrips];
    await run();
    return { statements: this.sent.length - sent, roundTrips: this.roundTrips - roundTrips };
  }
}
