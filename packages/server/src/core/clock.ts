import { limits } from '@rollcall/protocol';

/** How far the clock of a caller that signs tokens may differ from ours, in milliseconds. */
export const CLOCK_TOLERANCE_MS = limits.CLOCK_TOLERANCE_SECONDS * 1_000;

/** Time as a dependency: everything that compares or schedules takes a clock, so that tests move one and wait for nothing. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `task` every `intervalMs` until the returned function is called. The process may end meanwhile. */
  every(intervalMs: number, task: () => void): () => void;
}

export const systemClock: Clock = {
  now: Date.now,
  every(intervalMs, task) {
    const timer = setInterval(task, intervalMs);
    timer.unref();
    return () => clearInterval(timer);
  },
};
