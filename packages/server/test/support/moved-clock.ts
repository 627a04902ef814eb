import type { Clock } from '../../src/core/clock.ts';

interface Timer {
  readonly intervalMs: number;
  readonly task: () => void;
  dueAt: number;
}

/**
 * A clock that a test moves. As on a real machine, timers follow elapsed time, not the time of day,
 * which can jump.
 */
export class MovedClock implements Clock {
  #elapsed = 0;
  #epoch: number;
  readonly #timers = new Set<Timer>();

  /** @param start milliseconds since the epoch; a fixed day, so that a failure repeats. */
  constructor(start: number = Date.UTC(2026, 0, 15, 12)) {
    this.#epoch = start;
  }

  now(): number {
    return this.#epoch + this.#elapsed;
  }

  /** How many timers are active: none after everything that uses the clock was closed. */
  get timers(): number {
    return this.#timers.size;
  }

  every(intervalMs: number, task: () => void): () => void {
    if (!(intervalMs > 0)) throw new RangeError(`a timer needs an interval above 0 ms, not ${intervalMs}`);
    const timer = { intervalMs, task, dueAt: this.#elapsed + intervalMs };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Moves the clock by `ms`: timers fire in the order of their due times, and each task sees its due time. */
  move(ms: number): void {
    if (!(ms >= 0)) throw new RangeError(`time cannot move by ${ms} ms; see jump()`);
    const end = this.#elapsed + ms;
    for (let timer = this.#nextDue(end); timer !== null; timer = this.#nextDue(end)) {
      this.#elapsed = timer.dueAt;
      timer.dueAt += timer.intervalMs;
      timer.task();
    }
    this.#elapsed = end;
  }

  /** Changes the time of day, as an operator or NTP does. No time passes, so no timer fires. */
  jump(ms: number): void {
    this.#epoch += ms;
  }

  #nextDue(end: number): Timer | null {
    let next: Timer | null = null;
    for (const timer of this.#timers) {
      if (timer.dueAt <= end && (next === null || timer.dueAt < next.dueAt)) next = timer;
    }
    return next;
  }
}
