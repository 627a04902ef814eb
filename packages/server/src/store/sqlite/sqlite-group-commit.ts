import type { DurableBounds } from '../durable-bounds.ts';
import { toThreadFailure } from '../thread-failure.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import { isUnavailable } from './sqlite-errors.ts';
import { RollBack, type WriteOperations, writeOperations } from './sqlite-operations.ts';
import type { WriteReply, WriteRequest } from './sqlite-writer-protocol.ts';

/** Runs many operations in one transaction and one flush, each in a savepoint of its own. */
export class GroupCommit {
  readonly #connection: SqliteConnection;
  readonly #operations: WriteOperations;
  readonly #begin;
  readonly #commit;
  readonly #savepoint;
  readonly #release;
  readonly #rollBackTo;

  constructor(connection: SqliteConnection, durableBounds: DurableBounds) {
    this.#connection = connection;
    this.#operations = writeOperations(connection, durableBounds);
    this.#begin = connection.prepare('BEGIN IMMEDIATE');
    this.#commit = connection.prepare('COMMIT');
    this.#savepoint = connection.prepare('SAVEPOINT operation');
    this.#release = connection.prepare('RELEASE operation');
    this.#rollBackTo = connection.prepare('ROLLBACK TO operation');
  }

  /** Runs the requests in order; when it returns, what is answered is on disk. Never throws. */
  run(requests: readonly WriteRequest[]): WriteReply[] {
    try {
      this.#begin.run();
      const replies = requests.map((request) => this.#runOne(request));
      this.#commit.run();
      return replies;
    } catch (error) {
      // The transaction is lost, and with it what every one of them did.
      this.#rollBack();
      const failure = toThreadFailure(error, isUnavailable(error));
      return requests.map(([number]) => [number, failure]);
    }
  }

  #rollBack(): void {
    try {
      if (this.#connection.database.isTransaction) this.#connection.database.exec('ROLLBACK');
    } catch {
      // SQLite has rolled back by itself, or does so when the next transaction begins.
    }
  }

  /** Removes a slice of what deleted projects left behind. False when there was nothing, or it could not be done now. */
  purge(): boolean {
    const [reply] = this.run([[0, 'purge', []]]);
    return reply !== undefined && reply[1] === null && reply[2] === true;
  }

  /** @throws what SQLite threw when the whole transaction is gone with it. */
  #runOne([number, name, parameters]: WriteRequest): WriteReply {
    this.#savepoint.run();
    try {
      const operation = this.#operations[name] as (...parameters: unknown[]) => unknown;
      const answer = operation(...parameters);
      this.#release.run();
      return [number, null, answer];
    } catch (error) {
      if (!this.#connection.database.isTransaction) throw error;
      this.#rollBackTo.run();
      this.#release.run();
      return error instanceof RollBack
        ? [number, null, error.answer]
        : [number, toThreadFailure(error, isUnavailable(error))];
    }
  }
}
