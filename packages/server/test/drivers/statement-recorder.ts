/** Records what the PostgreSQL clients of this process send. */
import pg from 'pg';

export interface Sent {
  readonly text: string;
  /** The name of the prepared statement; undefined where it is planned each time. */
  readonly name?: string;
  readonly values: readonly unknown[];
}

type Send = (config: Sent, callback: (error: unknown, result: unknown) => void) => unknown;

/**
 * The statements that clients of this process send, and their round trips: statements that are sent while an answer is
 * awaited count as one round trip.
 */
export class Recorder {
  readonly sent: Sent[] = [];
  roundTrips = 0;
  readonly #query = pg.Client.prototype.query;

  start(): void {
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
      recorder.sent.push(config);
      return query.call(this, config, (error, result) => {
        awaited.set(this, (awaited.get(this) ?? 1) - 1);
        callback(error, result);
      });
    }
    pg.Client.prototype.query = record as unknown as typeof pg.Client.prototype.query;
  }

  stop(): void {
    pg.Client.prototype.query = this.#query;
  }

  /** The statements of `run`, except those that control transactions. */
  async during(run: () => Promise<unknown>): Promise<{ statements: number; roundTrips: number }> {
    const [sent, roundTrips] = [this.sent.length, this.roundTrips];
    await run();
    const statements = this.sent.slice(sent).filter(({ text }) => !/^(BEGIN|COMMIT)/.test(text)).length;
    return { statements, roundTrips: this.roundTrips - roundTrips };
  }
}
