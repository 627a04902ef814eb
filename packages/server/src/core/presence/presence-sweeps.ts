import type { Logger } from 'pino';
import { Repeated } from '../../concurrency/repeated.ts';
import type { PresenceStore } from '../../presence/presence-store.ts';
import type { Clock } from '../clock.ts';

/** How often expired presence is swept, in milliseconds. Readings leave it out before that; streams report it then. */
const SWEEP_INTERVAL_MS = 250;
/** The ticks of a minute: after so many, an engine that is still away is logged again, and one without failures is back. */
const MINUTE_TICKS = 240;

interface Parts {
  readonly presence: PresenceStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Sweeps expired presence until closed. A failed sweep is repeated by the next one. While the engine is away, or comes and
 * goes, the log has one line when that begins, one each minute, and one after a minute without failures.
 */
export class PresenceSweeps {
  readonly #parts: Parts;
  readonly #stop: () => void;
  /** One sweep at a time, however long it takes. What became due at a tick meanwhile is swept right after it. */
  readonly #sweeps = new Repeated(() => this.#sweep());
  #ticks = 0;
  /** The tick of the last log line about an engine that is away; null where it is not away. */
  #loggedAt: number | null = null;
  #failedAt = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#stop = parts.clock.every(SWEEP_INTERVAL_MS, () => {
      this.#ticks += 1;
      void this.#sweeps.request();
    });
  }

  close(): void {
    this.#stop();
    void this.#sweeps.close();
  }

  async #sweep(): Promise<void> {
    // A failed sweep is repeated with the next tick, not at once.
    if (this.#failedAt === this.#ticks) return;
    const { presence, clock } = this.#parts;
    try {
      await presence.sweep(clock.now());
      this.#succeeded();
    } catch (err) {
      this.#failed(err);
    }
  }

  #failed(err: unknown): void {
    this.#failedAt = this.#ticks;
    if (this.#loggedAt !== null && this.#ticks - this.#loggedAt < MINUTE_TICKS) return;
    this.#loggedAt = this.#ticks;
    this.#parts.log.error(
      { err },
      'expired presence could not be swept; streams report departures late until a sweep succeeds',
    );
  }

  #succeeded(): void {
    if (this.#loggedAt === null || this.#ticks - this.#failedAt < MINUTE_TICKS) return;
    this.#loggedAt = null;
    this.#parts.log.info('expired presence is swept again; there was no failure for a minute');
  }
}
