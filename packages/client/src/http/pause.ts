import type { RollcallError } from '../rollcall-error.ts';
import { type MaybeSignal, within } from './deadline.ts';

/**
 * A connection that was open for less counts as an attempt that failed, in milliseconds: whatever closed it may do so again.
 */
export const SETTLED_MS = 2_000;

/** A longer `Retry-After` is not waited for: the call rejects, and the error names the delay. */
export const RETRY_AFTER_MAX_MS = 30_000;

/** Waits. @throws RollcallError `aborted` as soon as one of the signals aborts */
export const pause = (ms: number, ...signals: MaybeSignal[]): Promise<void> =>
  within<void>(ms, signals, new Promise(() => {})).catch((error: RollcallError) => {
    if (error.code !== 'timeout') throw error;
  });

/**
 * Exponential backoff with jitter: `firstMs` doubles with each failure in a row up to `maxMs`, and the delay is between
 * half of that and all of it, so that clients which failed together do not retry together.
 */
export function backoffMs(failures: number, firstMs: number, maxMs: number): number {
  const whole = Math.min(maxMs, firstMs * 2 ** failures);
  return whole * (0.5 + Math.random() / 2);
}
