import { ProjectGoneError, StoreUnavailableError } from '../../../values/engine-errors.ts';
import type { ProjectKey } from '../../../values/project-key.ts';
import type { Change } from '../../changes/changes.ts';
import type { DurableBounds } from '../../durable-bounds.ts';
import { toThreadFailure } from '../../worker-threads/thread-failure.ts';
import type { WriteContext } from '../../write-context.ts';
import type { StoreCondition } from '../files/sqlite-condition.ts';
import type { SqliteConnection } from '../sqlite-connection.ts';
import { isDamage, isUnavailable } from '../sqlite-errors.ts';
import { namesProject, type SqliteWrites, sqliteWrites } from '../sqlite-ports.ts';
import { RollBack } from '../sqlite-roll-back.ts';
import type { WriteReply, WriteRequest } from './sqlite-writer-protocol.ts';

/**
 * Runs many operations in one transaction and one flush, each in a savepoint of its own. When the store turns out to be
 * lost (see StoreCondition), nothing is acknowledged any more, from the very transaction on that noticed it.
 */
export class GroupCommit {
  readonly #connection: SqliteConnection;
  readonly #writes: SqliteWrites;
  readonly #statements;
  readonly #condition: StoreCondition;

  constructor(connection: SqliteConnection, durableBounds: DurableBounds, condition: StoreCondition) {
    this.#connection = connection;
    this.#condition = condition;
    this.#writes = sqliteWrites(connection, durableBounds);
    this.#statements = {
      isAlive: connection.prepare('SELECT 1 FROM projects WHERE project_no = ?'),
      begin: connection.prepare('BEGIN IMMEDIATE'),
      commit: connection.prepare('COMMIT'),
      savepoint: connection.prepare('SAVEPOINT operation'),
      release: connection.prepare('RELEASE operation'),
      rollBackTo: connection.prepare('ROLLBACK TO operation'),
    };
  }

  /** Runs the requests in order; when it returns, what is answered is on disk. Never throws. */
  run(requests: readonly WriteRequest[]): WriteReply[] {
    try {
      this.#condition.require();
      this.#statements.begin.run();
      const replies = requests.map((request) => this.#runOne(request));
      // A rejected commit leaves no row that reads could find in the open files.
      this.#condition.checkFiles();
      this.#statements.commit.run();
      this.#checkCommitted();
      return replies;
    } catch (error) {
      this.#condition.checkError(error);
      // The transaction is lost, and with it what every one of them did.
      this.#rollBack();
      const failure = failureOf(error);
      return requests.map(([number]) => [number, failure]);
    }
  }

  /**
   * A write that was flushed to a removed or replaced file must not be acknowledged. A check that fails proves nothing:
   * the data is committed, and the next check finds out.
   */
  #checkCommitted(): void {
    try {
      this.#condition.checkFiles();
    } catch (error) {
      if (this.#condition.isLost) throw error;
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
    const [reply] = this.run([[0, 'purge', 'run', []]]);
    return reply !== undefined && reply[1] === null && reply[2] === true;
  }

  /** A write that has changes names the project first, and its context last. */
  #recordChanges(outcome: unknown, parameters: readonly unknown[]): void {
    if (!hasChanges(outcome)) return;
    const [project, context] = [parameters[0] as ProjectKey, parameters.at(-1) as WriteContext];
    this.#writes.changes.record(project, outcome.changes, context);
  }

  /** @throws ProjectGoneError */
  #requireProject(project: ProjectKey): void {
    if (this.#statements.isAlive.get(project) === undefined) throw new ProjectGoneError();
  }

  /** @throws what SQLite threw when the whole transaction is gone with it. */
  #runOne([number, port, method, parameters]: WriteRequest): WriteReply {
    this.#statements.savepoint.run();
    try {
      if (namesProject(port)) this.#requireProject(parameters[0] as ProjectKey);
      const writes = this.#writes[port] as unknown as Record<string, (...parameters: unknown[]) => unknown>;
      const answer = writes[method]?.(...parameters);
      this.#recordChanges(answer, parameters);
      this.#statements.release.run();
      return [number, null, answer];
    } catch (error) {
      if (!this.#connection.database.isTransaction || isDamage(error)) throw error;
      this.#statements.rollBackTo.run();
      this.#statements.release.run();
      return error instanceof RollBack ? [number, null, error.outcome] : [number, failureOf(error)];
    }
  }
}

const failureOf = (error: unknown) =>
  toThreadFailure(error, error instanceof StoreUnavailableError || isUnavailable(error));

const hasChanges = (outcome: unknown): outcome is { readonly changes: readonly Change[] } =>
  typeof outcome === 'object' && outcome !== null && 'changes' in outcome;
