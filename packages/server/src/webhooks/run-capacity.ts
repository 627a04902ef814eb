import type { WebhookRun } from './webhook-run.ts';

/** Most webhooks that a process delivers for at once: as many connections, and a timer or two each. */
const RUNS_MAX = 1_000;
/** Most of them whose delivery has failed before: receivers that hang leave room for the others. */
const REPEATS_MAX = 500;
/** Most memory for their deliveries, in bytes, before no more are leased. */
const BYTES_MAX = 128 * 1_024 * 1_024;

/** How many webhooks a process delivers for at once. */
export class RunCapacity {
  #wasShort = false;

  /** Whether the last call of `free` returned less than its limit. */
  get wasShort(): boolean {
    return this.#wasShort;
  }

  /** How many more may be leased, `most` at once. Runs that wait for changes give their room to others. */
  free(runs: Iterable<WebhookRun>, most: number): { readonly limit: number; readonly hasRepeats: boolean } {
    let [count, repeats, bytes] = [0, 0, 0];
    const lingering: WebhookRun[] = [];
    for (const run of runs) {
      count += 1;
      bytes += run.bytes;
      if (run.webhook.failures > 0) repeats += 1;
      if (run.isLingering) lingering.push(run);
    }
    const room = Math.max(0, RUNS_MAX - count);
    for (const run of lingering.slice(0, Math.max(0, most - room))) run.end();
    const limit = bytes > BYTES_MAX ? 0 : Math.min(most, room);
    const repeatRoom = REPEATS_MAX - repeats;
    const hasRepeats = repeatRoom >= limit;
    this.#wasShort = limit < most || !hasRepeats;
    return { limit, hasRepeats };
  }
}
