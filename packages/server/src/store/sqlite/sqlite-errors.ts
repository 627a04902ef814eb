import { StoreUnavailableError } from '../store.ts';

/** SQLite's codes for "not now": busy, locked, read-only, I/O error, full, cannot open. The low byte is the primary code. */
const UNAVAILABLE_CODES = new Set([5, 6, 8, 10, 13, 14]);

/** Whether the same call may succeed later. */
export function isUnavailable(error: unknown): boolean {
  const { errcode } = error as { errcode?: number };
  return errcode !== undefined && UNAVAILABLE_CODES.has(errcode & 0xff);
}

/** What a failed read rejects with. */
export const readFailure = (error: unknown): unknown =>
  isUnavailable(error) ? new StoreUnavailableError('the store cannot be read', { cause: error }) : error;
