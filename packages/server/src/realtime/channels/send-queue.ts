import type { Clock } from '../../core/clock.ts';
import type { Channel } from './channel.ts';
import type { WriteBudget } from './write-budget.ts';

/** How often waiting channels are checked, in milliseconds: so long one can wait in vain. The timer runs only while one waits. */
const CHECK_MS = 2;

/**
 * Decides when a channel sends its events: each event at once while the process has writes to spare. Without, a channel waits
 * and then sends its events together, merged to one change for each user. No channel waits longer than `mergeMs`; with 0
 * none waits.
 */
export class SendQueue {
  readonly #clock: Clock;
  readonly #mergeMs: number;
  readonly #budget: WriteBudget;
  /** With the time at which each began to wait, the longest waiting first. */
  readonly #waiting = new Map<Channel, number>();
  #stopChecking: (() => void) | null = null;

  constructor(clock: Clock, mergeMs: number, budget: WriteBudget) {
    this.#clock = clock;
    this.#mergeMs = mergeMs;
    this.#budget = budget;
  }

  add(channel: Channel): void {
    // The channel is added again when its batch has been sent.
    if (channel.isSending || this.#waiting.has(channel)) return;
    const now = this.#clock.now();
    if (this.#mergeMs === 0 || this.#budget.isFree(now)) {
      this.#send(channel, false);
    } else {
      this.#waiting.set(channel, now);
      this.#stopChecking ??= this.#clock.every(CHECK_MS, () => this.#check());
    }
  }

  close(): void {
    this.#waiting.clear();
    this.#stopChecking?.();
  }

  #check(): void {
    const now = this.#clock.now();
    for (const [channel, since] of this.#waiting) {
      const isOverdue = now - since >= this.#mergeMs || now < since;
      // The others have waited less.
      if (!isOverdue && !this.#budget.isFree(now)) break;
      this.#waiting.delete(channel);
      this.#send(channel, true);
    }
    if (this.#waiting.size > 0) return;
    this.#stopChecking?.();
    this.#stopChecking = null;
  }

  #send(channel: Channel, isMerged: boolean): void {
    this.#budget.spend(channel.readers.size);
    void channel.send(isMerged)?.then(() => {
      if (channel.hasPending) this.add(channel);
    });
  }
}
