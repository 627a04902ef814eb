import type { Clock } from '../core/clock.ts';
import type { Channel } from './channel.ts';
import type { WriteBudget } from './write-budget.ts';

/** How often waiting channels are looked at, in milliseconds; while none waits, not at all. */
const LOOK_MS = 10;

/**
 * Decides when a channel tells its readers: every event at once while the process has writes to spare, which is so below
 * some number of readers times events; above it, what comes meanwhile is gathered and told together, each user once.
 * Nothing waits longer than `mergeMs`; with 0 nothing waits at all.
 */
export class TellingQueue {
  readonly #clock: Clock;
  readonly #mergeMs: number;
  readonly #budget: WriteBudget;
  /** With the time at which each began to wait, the longest waiting first. */
  readonly #waiting = new Map<Channel, number>();
  #stopLooking: (() => void) | null = null;

  constructor(clock: Clock, mergeMs: number, budget: WriteBudget) {
    this.#clock = clock;
    this.#mergeMs = mergeMs;
    this.#budget = budget;
  }

  offer(channel: Channel): void {
    // It is offered again when it has told what it is telling.
    if (channel.isTelling || this.#waiting.has(channel)) return;
    const now = this.#clock.now();
    if (this.#mergeMs === 0 || this.#budget.isFree(now)) {
      this.#tell(channel, false);
    } else {
      this.#waiting.set(channel, now);
      this.#stopLooking ??= this.#clock.every(LOOK_MS, () => this.#look());
    }
  }

  close(): void {
    this.#waiting.clear();
    this.#stopLooking?.();
  }

  #look(): void {
    const now = this.#clock.now();
    for (const [channel, since] of this.#waiting) {
      const isOverdue = now - since >= this.#mergeMs || now < since;
      if (!isOverdue && !this.#budget.isFree(now)) continue;
      this.#waiting.delete(channel);
      this.#tell(channel, true);
    }
    if (this.#waiting.size > 0) return;
    this.#stopLooking?.();
    this.#stopLooking = null;
  }

  #tell(channel: Channel, isMerged: boolean): void {
    this.#budget.spend(channel.readers.size);
    void channel.tell(isMerged).then(() => {
      if (channel.hasPending) this.offer(channel);
    });
  }
}
