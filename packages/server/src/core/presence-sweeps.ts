import type { Logger } from 'pino';
import type { PresenceStore } from '../presence/presence-store.ts';
import type { Clock } from './clock.ts';

/**
 * How often expired presence is dropped, in milliseconds. Readings leave it out before that; who watches hears of it
 * then, and within a second at the latest.
 */
const SWEEP_INTERVAL_MS = 250;
/** The ticks of a minute: after so many an engine that is still away is told of again, and one that did not fail is back. */
const MINUTE_TICKS = 240;

interface Parts {
  readonly presence: PresenceStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Drops expired presence, until closed. What one sweep fails to drop, the next one does: while the engine is away, or comes
 * and goes, the log has one line when that begins, one each minute, and one when it has been over for a minute.
 */
export class PresenceSweeps {
  readonly #parts: Parts;
  readonly #stop: () => void;
  #isSweeping = false;
  #ticks = 0;
  /** When it was told that the engine is away; null where it is not. */
  #toldAt: number | null = null;
  #failedAt = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#stop = parts.clock.every(SWEEP_INTERVAL_MS, () => {
      this.#ticks += 1;
      void this.#sweep();
    });
  }

  close(): void {
    this.#stop();
  }

  async #sweep(): Promise<void> {
    // One at a time, however long it takes.
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    const { presence, clock } = this.#parts;
    try {
      await presence.sweep(clock.now());
      this.#succeeded();
    } catch (err) {
      this.#failed(err);
    } finally {
      this.#isSweeping = false;
    }
  }

  #failed(err: unknown): void {
    this.#failedAt = this.#ticks;
    if (this.#toldAt !== null && this.#ticks - this.#toldAt < MINUTE_TICKS) return;
    this.#toldAt = this.#ticks;
    this.#parts.log.error({ err }, 'expired presence is not dropped');
  }

  #succeeded(): void {
    if (this.#toldAt === null || this.#ticks - this.#failedAt < MINUTE_TICKS) return;
    this.#toldAt = null;
    this.#parts.log.info('expired presence is dropped again');
  }
}
