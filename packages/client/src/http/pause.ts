import type { RollcallError } from '../rollcall-error.ts';
import { Deadline, type MaybeSignal } from './deadline.ts';

/** Waits. @throws RollcallError `aborted` as soon as one of the signals aborts */
export async function pause(ms: number, ...signals: MaybeSignal[]): Promise<void> {
  const deadline = new Deadline(ms, signals);
  const error = await deadline.race(new Promise(() => {})).catch((reason: RollcallError) => reason);
  deadline.end();
  if ((error as RollcallError).code !== 'timeout') throw error;
}

/**
 * Exponential backoff with jitter: `firstMs` doubles with each failure in a row up to `maxMs`, and the delay is between
 * half of that and all of it, so that clients which failed together do not retry together.
 */
export function backoffMs(failures: number, firstMs: number, maxMs: number): number {
  const whole = Math.min(maxMs, firstMs * 2 ** Math.min(failures, 30));
  return whole * (0.5 + Math.random() / 2);
}
