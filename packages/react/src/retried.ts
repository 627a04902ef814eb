import type { RollcallError } from '@rollcall/client';

const FIRST_RETRY_MS = 1_000;
const RETRY_DELAY_MAX_MS = 30_000;

/** Waits before the next attempt: longer after each failure in a row, with jitter. Ends early when the signal aborts. */
export const retryDelay = (failures: number, { retryAfterMs = 0 }: RollcallError, signal?: AbortSignal) =>
  new Promise<void>((resolve) => {
    const wholeMs = Math.min(RETRY_DELAY_MAX_MS, FIRST_RETRY_MS * 2 ** failures);
    const timer = setTimeout(resolve, Math.max(retryAfterMs, wholeMs * (0.5 + Math.random() / 2)));
    signal?.addEventListener('abort', () => resolve(clearTimeout(timer)), { once: true });
  });

/**
 * What is read, as soon as it can be: an error that can pass is reported, and then it is read again. Null after an error that
 * cannot, and when the signal aborts.
 */
export async function retried<Result>(
  read: () => Promise<Result>,
  onError: (error: RollcallError) => void,
  signal: AbortSignal,
): Promise<Result | null> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await read();
    } catch (reason) {
      const error = reason as RollcallError;
      onError(error);
      if (!error.retryable || signal.aborted) return null;
      await retryDelay(failures, error, signal);
    }
  }
}
