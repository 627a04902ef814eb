import type { DurableBounds } from '../durable-bounds.ts';
import { StoreUnavailableError } from '../store.ts';
import { toThreadFailure } from '../thread-failure.ts';
import { damaged, filesChanged } from './sqlite-condition.ts';
import type { SqliteConnection } from './sqlite-connection.ts';
import { isDamage, isUnavailable } from './sqlite-errors.ts';
import { changedFiles, type FileIdentities } from './sqlite-files.ts';
import { RollBack, type WriteOperations, writeOperations } from './sqlite-operations.ts';
import type { WriteReply, WriteRequest } from './sqlite-writer-protocol.ts';

/**
 * Runs many operations in one transaction and one flush, each in a savepoint of its own. When the store turns out to be
 * lost (see StoreCondition), nothing is acknowledged any more, from the very transaction on that noticed it.
 */
export class GroupCommit {
  readonly #connection: SqliteConnection;
  readonly #operations: WriteOperations;
  readonly #begin;
  readonly #commit;
  readonly #savepoint;
  readonly #release;
  readonly #rollBackTo;
  readonly #files: FileIdentities;
  #lost: string | null = null;

  constructor(connection: SqliteConnection, durableBounds: DurableBounds, files: FileIdentities) {
    this.#connection = connection;
    this.#files = files;
    this.#operations = writeOperations(connection, durableBounds);
    this.#begin = connection.prepare('BEGIN IMMEDIATE');
    this.#commit = connection.prepare('COMMIT');
    this.#savepoint = connection.prepare('SAVEPOINT operation');
    this.#release = connection.prepare('RELEASE operation');
    this.#rollBackTo = connection.prepare('ROLLBACK TO operation');
  }

  /** Why nothing is written any more, or null. */
  get lost(): string | null {
    return this.#lost;
  }

  /** Runs the requests in order; when it returns, what is answered is on disk. Never throws. */
  run(requests: readonly WriteRequest[]): WriteReply[] {
    try {
      this.#requireStore();
      this.#begin.run();
      const replies = requests.map((request) => this.#runOne(request));
      // What is rejected leaves nothing behind that reads would still find in the open files.
      this.#checkFiles();
      this.#commit.run();
      // What was flushed to a file that is not there any more must not be acknowledged.
      this.#checkFiles();
      return replies;
    } catch (error) {
      if (isDamage(error)) this.#lost ??= damaged(error);
      // The transaction is lost, and with it what every one of them did.
      this.#rollBack();
      const failure = failureOf(error);
      return requests.map(([number]) => [number, failure]);
    }
  }

  #requireStore(): void {
    if (this.#lost !== null) throw new StoreUnavailableError(this.#lost);
  }

  #checkFiles(): void {
    const changed = changedFiles(this.#files);
    if (changed !== null) this.#lost ??= filesChanged(changed);
    this.#requireStore();
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
      if (!this.#connection.database.isTransaction || isDamage(error)) throw error;
      this.#rollBackTo.run();
      this.#release.run();
      return error instanceof RollBack ? [number, null, error.answer] : [number, failureOf(error)];
    }
  }
}

const failureOf = (error: unknown) =>
  toThreadFailure(error, error instanceof StoreUnavailableError || isUnavailable(error));
