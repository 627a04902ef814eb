import type { Logger } from 'pino';
import type { Store } from '../../store/store.ts';
import { StoreUnavailableError } from '../../values/engine-errors.ts';
import type { Clock } from '../clock.ts';
import { removeExpiredRows } from '../expired-rows.ts';

interface Parts {
  readonly store: Pick<Store, 'changes'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly changesSeconds: number;
}

/** Removes the records of what writes changed when they are older than the setting, until the returned function is called. */
export const startChangeRetention = ({ store, clock, log, changesSeconds }: Parts): (() => void) =>
  removeExpiredRows(
    clock,
    () => store.changes.removeBefore(clock.now() - changesSeconds * 1_000),
    (err) => {
      if (!(err instanceof StoreUnavailableError))
        log.error(
          { err },
          'old records of changes could not be removed; the next attempt comes within ten minutes',
        );
    },
  );
