import { endBySignal, onStopSignals, type StopSignal } from '../stop-signals.ts';

/** A signal ended the command before its work was done. */
export class InterruptedError extends Error {
  readonly signal: StopSignal;

  /** `outcome`: what was done, or left undone. */
  constructor(signal: StopSignal, outcome?: string) {
    const reason = `interrupted by ${signal === 'SIGINT' ? 'Ctrl-C' : signal}`;
    super(outcome === undefined ? reason : `${reason}; ${outcome}`);
    this.name = 'InterruptedError';
    this.signal = signal;
  }
}

/**
 * Runs a long command. Its signal aborts with an {@link InterruptedError} on the first Ctrl-C, SIGTERM or SIGHUP, so that the command
 * ends what it began; a second one ends the process at once.
 */
export async function withInterruption<Result>(
  use: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const ignore = onStopSignals((signal) => controller.abort(new InterruptedError(signal)), endBySignal);
  try {
    return await use(controller.signal);
  } finally {
    ignore();
  }
}

/** The result of the work; null where the signal aborts first, which leaves the work under way. */
export async function untilAborted<Result>(
  work: Promise<Result>,
  signal: AbortSignal,
): Promise<Result | null> {
  // A promise for each call: one that lives longer would hold every result that it was raced with.
  const { promise: aborted, resolve } = Promise.withResolvers<null>();
  const onAbort = () => resolve(null);
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([aborted, work]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** The same items until the signal aborts. Then it throws the signal's reason, also while the source is waiting. */
export async function* interruptible<Item>(
  source: AsyncIterable<Item>,
  signal: AbortSignal,
): AsyncGenerator<Item> {
  const items = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await untilAborted(items.next(), signal);
      if (next === null) throw signal.reason;
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    // Not awaited: a source that waits for input ends with the process.
    items.return?.()?.catch(() => {});
  }
}
