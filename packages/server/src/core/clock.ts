/** Time as a dependency: everything that compares or schedules takes a clock, so that tests move one and wait for nothing. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `task` every `intervalMs` until the returned function is called. Does not keep the process alive. */
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
