import { setImmediate as nextIteration } from 'node:timers/promises';
import { Repeated } from '../concurrency/repeated.ts';
import type { Clock } from './clock.ts';

/** How often expired rows are removed, in milliseconds. */
const INTERVAL_MS = 10 * 60 * 1_000;

/**
 * Removes what has expired, now and every ten minutes, until the returned function is called. One small step after the other, so that
 * other writes hardly wait.
 * @param step removes some rows, and resolves to true when more may be left
 * @param onError called with the error of a step; the next one comes within ten minutes
 */
export function removeExpiredRows(
  clock: Clock,
  step: () => Promise<boolean>,
  onError: (error: unknown) => void = () => {},
): () => void {
  const removal = new Repeated(async () => {
    try {
      const hasMore = await step();
      if (!hasMore) return;
      await nextIteration();
      void removal.request();
    } catch (error) {
      onError(error);
    }
  });
  // A process may never run for longer.
  void removal.request();
  const stop = clock.every(INTERVAL_MS, () => void removal.request());
  return () => {
    stop();
    void removal.close();
  };
}
