import { onAbort } from '../listen.ts';
import { DELAY_MAX_MS, RollcallError } from '../rollcall-error.ts';

/** A signal of the caller's that may be absent. */
export type MaybeSignal = AbortSignal | undefined;

/**
 * Combines several signals and a time limit into one signal, and knows afterwards which of them aborted. Call `end()`:
 * it removes the listeners, so that a signal used for a thousand requests does not collect a thousand listeners.
 */
export class Deadline {
  readonly #controller = new AbortController();
  readonly signal: AbortSignal = this.#controller.signal;
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #releases: (() => void)[] = [];

  /** @param ms `Infinity` for no limit; so is more than a day. */
  constructor(ms: number, signals: readonly MaybeSignal[]) {
    if (ms <= DELAY_MAX_MS)
      this.#timer = setTimeout(
        () => this.fail(new RollcallError('timeout', `no response within ${ms} ms`)),
        ms,
      );
    for (const signal of signals) {
      const fail = () =>
        this.fail(new RollcallError('aborted', 'request aborted', { cause: signal?.reason }));
      this.#releases.push(onAbort(signal, fail));
    }
  }

  /** Aborts with this error, unless it has happened already. */
  fail(reason: RollcallError): void {
    this.end();
    this.#controller.abort(reason);
  }

  /** The error behind a failure: the deadline's, the server's, or `network`. */
  explain(error: unknown): RollcallError {
    if (this.signal.aborted) return this.signal.reason;
    if (error instanceof RollcallError) return error;
    return new RollcallError('network', `the server was not reached: ${reasonOf(error)}`, { cause: error });
  }

  /** The value, or the deadline's error if that comes first: for promises that take no signal. */
  race<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const release = onAbort(this.signal, () => reject(this.signal.reason));
      promise.then(resolve, reject).finally(release);
    });
  }

  /** Removes the time limit; the signals still apply. */
  lift(): void {
    clearTimeout(this.#timer);
  }

  /** Clears the timer and removes the listeners of the signals. */
  end(): void {
    this.lift();
    for (const release of this.#releases) release();
  }
}

/** The value, unless a signal aborts or the time is up first. @throws RollcallError */
export function within<T>(ms: number, signals: readonly MaybeSignal[], promise: Promise<T>): Promise<T> {
  const deadline = new Deadline(ms, signals);
  return deadline.race(promise).finally(() => deadline.end());
}

/** `fetch` fails with "fetch failed"; the reason is in the cause. */
export function reasonOf(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { message?: string; code?: string } };
  return cause?.message || cause?.code || message || String(error);
}
