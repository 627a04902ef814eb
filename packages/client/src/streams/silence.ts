import { listen } from '../listen.ts';
import { RollcallError } from '../rollcall-error.ts';

const DEAD_AFTER_MS = 45_000;
const CHECK_MAX_MS = 5_000;

/**
 * Calls `onDead` after a silence, at each check, until the signal aborts. Silence is measured by the time of day, which continues
 * while a machine sleeps: after sleep, a dead connection is noticed at the next check.
 * @param since when the silence began, in milliseconds; null while it does not count
 */
export function onSilence(
  signal: AbortSignal,
  deadAfterMs: number = DEAD_AFTER_MS,
  since: () => number | null,
  onDead: (error: RollcallError) => void,
): void {
  if (signal.aborted) return;
  const check = setInterval(
    () => {
      const at = since();
      // The absolute value, because the time of day can also be set back.
      if (at === null || Math.abs(Date.now() - at) <= deadAfterMs) return;
      onDead(new RollcallError('timeout', `nothing was received for ${deadAfterMs} ms`));
    },
    Math.min(CHECK_MAX_MS, deadAfterMs / 4),
  );
  listen(signal, 'abort', () => clearInterval(check));
}
