import process from 'node:process';

/** SIGHUP comes when the terminal is closed. */
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
export type StopSignal = (typeof STOP_SIGNALS)[number];

/**
 * Two signals within this time are one: on Ctrl-C the terminal signals every process, and npm and the launcher pass the
 * signal on.
 */
const SAME_SIGNAL_MS = 500;

/**
 * Ends this process as the signal does by itself; shells call that 129, 130 or 143. Unlike `process.exit` it does not wait for the
 * thread that reads a pipe.
 */
export function endBySignal(signal: StopSignal): void {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

/** Calls `onFirst` for the first signal to stop and `onSecond` for the next one. Returns what ends that. */
export function onStopSignals(
  onFirst: (signal: StopSignal) => void,
  onSecond: (signal: StopSignal) => void,
): () => void {
  let firstAt: number | null = null;
  const onSignal = (signal: StopSignal) => {
    const now = performance.now();
    if (firstAt === null) {
      firstAt = now;
      onFirst(signal);
    } else if (now - firstAt > SAME_SIGNAL_MS) onSecond(signal);
  };
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  return () => {
    for (const signal of STOP_SIGNALS) process.off(signal, onSignal);
  };
}
