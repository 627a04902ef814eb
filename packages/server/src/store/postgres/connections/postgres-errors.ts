import { DatabaseError } from 'pg';
import { StoreUnavailableError } from '../../../values/engine-errors.ts';

/**
 * SQLSTATEs that mean "not now", whole or by their class: connection (08), resources (53), operator (57: among them the
 * statement timeout and a shutdown), system (58), a server that only reads (25006), a transaction whose time is over (25P03,
 * 25P04), a right that was taken away (42501), locks (55P03).
 */
const UNAVAILABLE = /^(08|53|57|58|25006|25P03|25P04|42501|55P03)/;
/** The statement lost against another one and succeeds when it is run again. */
const LOST_RACE = new Set([
  '40001', // serialization failure
  '40P01', // deadlock
  '23505', // another statement inserted the same key
  '26000', // the statement that another call of the same pipeline was to prepare
  '42P05', // the statement that another call of the same pipeline has prepared, after such a failure
]);

/** The statement waited for a lock for longer than its limit. */
const LOCK_TIMEOUT = '55P03';
/** The transaction only reads, and the statement writes. */
const READ_ONLY = '25006';
/** The server ended a statement that took too long, or that an operator has canceled. */
const CANCELED = '57014';

const LOCKED_TOO_LONG =
  'a write waited too long for rows that another transaction has locked: a large write of the same users or groups, or a session of the database that is idle in a transaction (see pg_stat_activity)';

/**
 * Errors after which it is not known whether a transaction was committed: the connection is lost (08; PgBouncer reports so that of the
 * server), the completion is not known (40003), the session ends (57P), the server fails (58, XX).
 */
const UNKNOWN_END = /^(08|40003|57P|58|XX)/;

/** Thrown within an operation to have it run again: what it read has changed since. */
export class LostRaceError extends Error {}

/** Whether the same operation, run again from its beginning, may succeed at once. Nothing of it was applied. */
export function isLostRace(error: unknown): boolean {
  return (
    error instanceof LostRaceError || (error instanceof DatabaseError && LOST_RACE.has(error.code ?? ''))
  );
}

/** Whether nothing was applied because another transaction has the lock. */
export const isLockTimeout = (error: unknown): boolean =>
  error instanceof DatabaseError && error.code === LOCK_TIMEOUT;

/** Whether the server has canceled the statement, because it took too long or an operator wanted it. Nothing of it was applied. */
export const isCanceled = (error: unknown): boolean =>
  error instanceof DatabaseError && error.code === CANCELED;

/** Whether what ended with the error may have been committed. Otherwise the server has rolled it back. */
export const mayBeApplied = (error: unknown): boolean =>
  !(error instanceof DatabaseError) || UNKNOWN_END.test(error.code ?? 'XX');

/** Whether the transaction is one that only reads: of a standby, or of a session that is set so. */
export const isReadOnly = (error: unknown): boolean =>
  error instanceof DatabaseError && error.code === READ_ONLY;

/** A right is missing (insufficient privilege), or there is no schema to create tables in (invalid schema name). */
const WITHOUT_RIGHT = new Set(['42501', '3F000']);

/** Whether the role of the connection may not do it. */
export const isWithoutRight = (error: unknown): boolean =>
  error instanceof DatabaseError && WITHOUT_RIGHT.has(error.code ?? '');

/**
 * The error of the server, for the log: without the texts that can have the values of a row or of the statement's parameters, such as
 * the secret of a project.
 */
export const withoutValues = (error: Error): Error =>
  error instanceof DatabaseError ? Object.assign(error, { detail: undefined, where: undefined }) : error;

/** The error that an operation rejects with: StoreUnavailableError where the server is unavailable, else the error itself. */
export function toStoreFailure(error: unknown): unknown {
  if (!(error instanceof DatabaseError) || !UNAVAILABLE.test(error.code ?? '')) return error;
  if (isLockTimeout(error)) return new StoreUnavailableError(LOCKED_TOO_LONG, { cause: error });
  return new StoreUnavailableError(`PostgreSQL cannot do it now: ${error.message}`, { cause: error });
}
