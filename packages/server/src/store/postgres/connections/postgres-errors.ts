import { DatabaseError } from 'pg';
import { StoreUnavailableError } from '../../store.ts';

/**
 * SQLSTATEs that mean "not now", whole or by their class: connection (08), resources (53), operator (57: among them the
 * statement timeout and a shutdown), system (58), a server that only reads (25006), locks (55P03).
 */
const UNAVAILABLE = /^(08|53|57|58|25006|55P03)/;
/** The statement lost against another one and succeeds when it is run again. */
const LOST_RACE = new Set([
  '40001', // serialization failure
  '40P01', // deadlock
  '23505', // somebody inserted the same key
  '26000', // the statement that another call of the same pipeline was to prepare
]);

/** Others held a lock for longer than the statement was to wait for it. */
const LOCK_TIMEOUT = '55P03';
/** The statement took longer than it was to take. */
const STATEMENT_TIMEOUT = '57014';

/** Thrown within an operation to have it run again: what it looked at has changed since. */
export class LostRaceError extends Error {}

/** Whether the same operation, run again from its beginning, may succeed at once. Nothing of it was applied. */
export function isLostRace(error: unknown): boolean {
  return (
    error instanceof LostRaceError || (error instanceof DatabaseError && LOST_RACE.has(error.code ?? ''))
  );
}

/** Whether nothing was applied because others hold a lock. */
export const isLockTimeout = (error: unknown): boolean =>
  error instanceof DatabaseError && error.code === LOCK_TIMEOUT;

/** Whether nothing was applied because it takes long, without waiting for anybody. */
export const isStatementTimeout = (error: unknown): boolean =>
  error instanceof DatabaseError && error.code === STATEMENT_TIMEOUT;

/** What an operation rejects with: the server's "not now" as the port's error, anything else as it is. */
export function toStoreFailure(error: unknown): unknown {
  if (!(error instanceof DatabaseError) || !UNAVAILABLE.test(error.code ?? '')) return error;
  return new StoreUnavailableError(`PostgreSQL cannot do it now: ${error.message}`, { cause: error });
}
