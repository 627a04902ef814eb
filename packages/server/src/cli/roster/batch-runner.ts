import { reasonOf } from '../reason-of.ts';
import type { LineOrigin } from '../records/record-line.ts';
import { Batch, conflict, type Unit } from './batch-planner.ts';

/** A run that ended early: every line before the origin was applied or rejected, later ones may or may not be applied. */
export class RunStopped extends Error {
  readonly origin: LineOrigin;

  constructor(origin: LineOrigin, cause: unknown) {
    super(reasonOf(cause), { cause });
    this.origin = origin;
  }
}

/**
 * Submits batches, at most `concurrency` at once, with the outcome of one after the other: a batch starts when those before
 * it have started and none that it conflicts with is under way. No batch starts after a failure.
 * @throws RunStopped when a batch failed; what the source throws, after the batches under way have ended
 */
export async function runBatches<Sent extends Unit>(
  batches: AsyncIterable<Sent>,
  concurrency: number,
  submit: (batch: Sent) => Promise<void>,
): Promise<void> {
  const running = new BatchesUnderWay(submit);
  let sourceFailure: { readonly error: unknown } | null = null;
  try {
    for await (const batch of batches) {
      await running.until(() => running.size < concurrency && !running.conflictWith(batch));
      if (running.failed) break;
      running.start(batch);
    }
  } catch (error) {
    sourceFailure = { error };
  }
  await running.until(() => running.size === 0);
  running.throwFirstFailure();
  if (sourceFailure !== null) throw sourceFailure.error;
}

class BatchesUnderWay<Sent extends Unit> {
  readonly #submit: (batch: Sent) => Promise<void>;
  readonly #running = new Map<Unit, Promise<void>>();
  readonly #failures: { readonly position: number; readonly batch: Unit; readonly error: unknown }[] = [];
  #started = 0;

  constructor(submit: (batch: Sent) => Promise<void>) {
    this.#submit = submit;
  }

  get size(): number {
    return this.#running.size;
  }

  get failed(): boolean {
    return this.#failures.length > 0;
  }

  conflictWith(batch: Unit): boolean {
    return this.#running.keys().some((other) => conflict(other, batch));
  }

  start(batch: Sent): void {
    const position = this.#started++;
    const ended = this.#submit(batch)
      .catch((error: unknown) => void this.#failures.push({ position, batch, error }))
      .finally(() => this.#running.delete(batch));
    this.#running.set(batch, ended);
  }

  /** Waits until the condition is true, or no batch is under way. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition() && this.#running.size > 0) await Promise.race(this.#running.values());
  }

  throwFirstFailure(): void {
    const [first] = this.#failures.sort((a, b) => a.position - b.position);
    if (first === undefined) return;
    const [entry] = first.batch instanceof Batch ? first.batch.entries : [first.batch];
    if (entry !== undefined) throw new RunStopped(entry.origin, first.error);
  }
}
