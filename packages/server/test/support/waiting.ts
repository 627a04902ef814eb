/** Waits whose limits a busy machine does not exceed. */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

/** How long a test waits for what must come, in milliseconds: long enough for a machine that is busy with other tests. */
export const WAIT_MAX_MS = 120_000;
const POLL_MS = 10;
const TICK_MS = 20;

/** How many threads of the machine run or could run: `0.20 0.18 0.12 3/245 9876` means 3. */
const RUNNABLE = / (\d+)\/\d+ /;

/** The share of a processor that a thread gets now: below 1 where more threads could run than there are processors. */
function processorShare(): number {
  try {
    const [, runnable] = RUNNABLE.exec(readFileSync('/proc/loadavg', 'utf8')) ?? [];
    return Math.min(1, availableParallelism() / Number(runnable ?? 1));
  } catch {
    // Only Linux reports it.
    return 1;
  }
}

/**
 * The result of `work`, which must come within a limit of the contract. The time in which this process, its threads and its servers got no
 * processor does not count: a tick of the event loop that comes late counts as one tick, and by the share of a processor that
 * a thread gets at that moment.
 */
export async function within<Result>(
  limitMs: number,
  work: Promise<Result>,
  what = 'the result',
): Promise<Result> {
  const { promise: limit, reject } = Promise.withResolvers<never>();
  let ticksLeft = limitMs / TICK_MS;
  const ticking = setInterval(() => {
    ticksLeft -= processorShare();
    if (ticksLeft <= 0) reject(new Error(`${what} did not come within ${limitMs} ms`));
  }, TICK_MS);
  return await Promise.race([work, limit]).finally(() => clearInterval(ticking));
}

/** Polls a condition until it is true; a rejection counts as false. `withinMs` is counted as by {@link within}. */
export async function until(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  withinMs = WAIT_MAX_MS,
): Promise<void> {
  let isOver = false;
  let cause: unknown;
  const isReached = async () => {
    try {
      return await isTrue();
    } catch (error) {
      cause = error;
      return false;
    }
  };
  const poll = async () => {
    while (!isOver && !(await isReached())) await delay(POLL_MS);
  };
  try {
    await within(withinMs, poll(), what);
  } catch (error) {
    throw new Error((error as Error).message, { cause });
  } finally {
    isOver = true;
  }
}

/** Waits for a condition, which is checked again at every signal. */
export class Arrivals {
  #wake: () => void = () => {};

  /** Checks the waiting conditions again. */
  notify(): void {
    this.#wake();
  }

  /** Resolves when the condition is true. The error has the text of `state`. */
  async until(what: string, isTrue: () => boolean, state: () => string): Promise<void> {
    const deadline = performance.now() + WAIT_MAX_MS;
    while (!isTrue()) {
      const left = deadline - performance.now();
      if (left <= 0) throw new Error(`${what} did not come; so far: ${state()}`);
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const timer = setTimeout(resolve, left);
      await promise.finally(() => clearTimeout(timer));
    }
  }
}
