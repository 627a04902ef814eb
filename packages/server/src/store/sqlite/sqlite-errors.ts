import { StoreUnavailableError } from '../../values/engine-errors.ts';

/** SQLite's codes for "not now": busy, locked, read-only, I/O error, full, cannot open. The low byte is the primary code. */
const UNAVAILABLE_CODES = new Set([5, 6, 8, 10, 13, 14]);
/** A malformed page, and a file that is no database. */
const DAMAGE_CODES = new Set([11, 26]);

/** Whether the file holds what SQLite never writes. */
export const isDamage = (error: unknown): boolean => DAMAGE_CODES.has(primaryCode(error));

/** Whether the same call may succeed later: by itself, or when an operator has repaired the store. */
export const isUnavailable = (error: unknown): boolean =>
  UNAVAILABLE_CODES.has(primaryCode(error)) || isDamage(error);

/** 0 where SQLite did not throw it. */
const primaryCode = (error: unknown): number => ((error as { errcode?: number }).errcode ?? 0) & 0xff;

export const readFailure = (error: unknown): unknown =>
  isUnavailable(error) ? new StoreUnavailableError('the store cannot be read', { cause: error }) : error;
