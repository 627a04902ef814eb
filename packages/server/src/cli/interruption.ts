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
 * Runs a long command. Its signal aborts with an {@link InterruptedError} on the first Ctrl-C or SIGTERM, so that the command
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

/** The same items until the signal aborts. Then it throws the signal's reason, also while the source is waiting. */
export async function* interruptible<Item>(
  source: AsyncIterable<Item>,
  signal: AbortSignal,
): AsyncGenerator<Item> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  aborted.catch(() => {});
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  const items = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await Promise.race([aborted, items.next()]);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    // Not awaited: a source that waits for input ends with the process.
    items.return?.()?.catch(() => {});
  }
}
