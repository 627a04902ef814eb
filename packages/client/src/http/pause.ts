import { Deadline, type MaybeSignal } from './deadline.ts';

/** Waits; ends early, with an error `aborted`, when one of the signals does. */
export async function pause(ms: number, ...signals: MaybeSignal[]): Promise<void> {
  const deadline = new Deadline(Number.POSITIVE_INFINITY, signals);
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    await deadline.race(
      new Promise<void>((resolve) => {
        timer = setTimeout(resolve, ms);
      }),
    );
  } finally {
    clearTimeout(timer);
    deadline.end();
  }
}

/**
 * How long to wait after so many failures in a row: twice as long each time up to `mostMs`, and anywhere between half
 * of that and all of it, so that those who failed together do not come back together.
 */
export function backoffMs(failures: number, firstMs: number, mostMs: number): number {
  const whole = Math.min(mostMs, firstMs * 2 ** Math.min(failures, 30));
  return whole * (0.5 + Math.random() / 2);
}
