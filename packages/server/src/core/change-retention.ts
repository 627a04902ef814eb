import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Repeated } from '../concurrency/repeated.ts';
import type { Store } from '../store/store.ts';
import { StoreUnavailableError } from '../values/engine-errors.ts';
import type { Clock } from './clock.ts';

/** How often expired records are removed, in milliseconds. */
const SWEEP_INTERVAL_MS = 60 * 60 * 1_000;

interface Parts {
  readonly store: Pick<Store, 'changes'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly changesSeconds: number;
}

/**
 * Removes the records of what writes changed when they are older than the setting, until the returned function is called. One
 * small step after the other, so that other writes hardly wait. The first sweep begins at once. A step that fails is repeated by
 * the next sweep.
 */
export function startChangeRetention({ store, clock, log, changesSeconds }: Parts): () => void {
  const removal = new Repeated(async () => {
    try {
      const hasMore = await store.changes.removeBefore(clock.now() - changesSeconds * 1_000);
      if (!hasMore) return;
      await nextIteration();
      void removal.request();
    } catch (err) {
      if (!(err instanceof StoreUnavailableError))
        log.error({ err }, 'old records of changes could not be removed; the next hour tries again');
    }
  });
  const stop = clock.every(SWEEP_INTERVAL_MS, () => void removal.request());
  // A process may never run for an hour.
  void removal.request();
  return () => {
    stop();
    void removal.close();
  };
}
