import { type Clock, systemClock } from './clock.ts';

interface Timer {
  readonly intervalMs: number;
  readonly task: () => void;
  /** By this clock. */
  dueAt: number;
}

/** The clock of the system, which can be moved ahead. */
export class AdvancedClock implements Clock {
  #aheadMs = 0;
  readonly #timers = new Set<Timer>();

  now(): number {
    return systemClock.now() + this.#aheadMs;
  }

  every(intervalMs: number, task: () => void): () => void {
    const timer = { intervalMs, task, dueAt: this.now() + intervalMs };
    this.#timers.add(timer);
    const stop = systemClock.every(intervalMs, () => run(timer, this.now()));
    return () => {
      this.#timers.delete(timer);
      stop();
    };
  }

  /** Moves the clock by `ms`. Each timer that is due runs once: what tasks do follows deadlines, not how often they run. */
  advance(ms: number): void {
    const isTime = !Number.isNaN(new Date(this.now() + ms).getTime());
    if (!(ms >= 0) || !isTime) throw new RangeError(`the clock cannot advance by ${ms} ms`);
    this.#aheadMs += ms;
    for (const timer of [...this.#timers]) {
      if (timer.dueAt <= this.now() && this.#timers.has(timer)) run(timer, this.now());
    }
  }
}

function run(timer: Timer, now: number): void {
  timer.dueAt = now + timer.intervalMs;
  timer.task();
}
