import type { RollcallError } from '@rollcall/client';

const FIRST_RETRY_MS = 1_000;
const RETRY_DELAY_MAX_MS = 30_000;

/** How long to wait before the next attempt, in milliseconds: longer after each failure in a row, with jitter. */
export function retryDelayMs(failures: number, { retryAfterMs = 0 }: RollcallError): number {
  const wholeMs = Math.min(RETRY_DELAY_MAX_MS, FIRST_RETRY_MS * 2 ** failures);
  return Math.max(retryAfterMs, wholeMs * (0.5 + Math.random() / 2));
}
