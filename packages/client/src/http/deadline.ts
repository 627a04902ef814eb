import { RollcallError } from '../rollcall-error.ts';

/** A signal of the caller's that may be absent. */
export type MaybeSignal = AbortSignal | undefined;

/**
 * One signal out of several and a time limit, that can say afterwards which of them it was. It holds on to the signals
 * until `end()`, which a caller with one signal for a thousand requests is thankful for.
 */
export class Deadline {
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #signals: readonly AbortSignal[];
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #ms: number;
  #reason: RollcallError | undefined;

  /** @param ms `Infinity` for no limit. */
  constructor(ms: number, signals: readonly MaybeSignal[]) {
    this.#ms = ms;
    this.signal = this.#controller.signal;
    this.#signals = signals.filter((signal) => signal !== undefined);
    for (const signal of this.#signals) signal.addEventListener('abort', this.#onAbort);
    const aborted = this.#signals.find((signal) => signal.aborted);
    if (aborted !== undefined) this.#onAbort({ target: aborted });
    else if (Number.isFinite(ms)) this.#timer = setTimeout(this.#onTimeUp, ms);
  }

  readonly #onAbort = ({ target }: { target: unknown }): void => {
    const cause = (target as AbortSignal).reason;
    this.fail(new RollcallError('aborted', 'the request was aborted', { cause }));
  };

  readonly #onTimeUp = (): void => {
    this.fail(new RollcallError('timeout', `no answer within ${this.#ms} ms`));
  };

  /** Aborts with this error, unless it has happened already. */
  fail(reason: RollcallError): void {
    this.#reason ??= reason;
    this.end();
    this.#controller.abort(this.#reason);
  }

  /** What a failure really was: the deadline, a refusal, or the network. */
  explain(error: unknown): RollcallError {
    if (this.#reason !== undefined) return this.#reason;
    if (error instanceof RollcallError) return error;
    return new RollcallError('network', `the server was not reached: ${reasonOf(error)}`, { cause: error });
  }

  /** The value, or the deadline's error if that comes first: for promises that know no signals. */
  race<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const onAbort = () => reject(this.#reason);
      if (this.signal.aborted) onAbort();
      this.signal.addEventListener('abort', onAbort);
      promise.then(resolve, reject).finally(() => this.signal.removeEventListener('abort', onAbort));
    });
  }

  /** Takes the time limit away; the signals stay. */
  lift(): void {
    clearTimeout(this.#timer);
  }

  /** Lets go of the timer and the caller's signals. */
  end(): void {
    this.lift();
    for (const signal of this.#signals) signal.removeEventListener('abort', this.#onAbort);
  }
}

/** `fetch` says "fetch failed", and why in the cause. */
export function reasonOf(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { message?: string; code?: string } };
  return cause?.message || cause?.code || message || String(error);
}
