import type { Logger } from 'pino';
import type { PresenceStore } from '../presence/presence-store.ts';
import type { Clock } from './clock.ts';

/**
 * How often expired presence is dropped, in milliseconds. Readings leave it out before that; who watches hears of it
 * then, and within a second at the latest.
 */
const SWEEP_INTERVAL_MS = 250;
/** After how many sweeps an engine that is still away is told of again: those of a minute. */
const REMINDED_SWEEPS = 240;

interface Parts {
  readonly presence: PresenceStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Drops expired presence, until closed. What one sweep fails to drop, the next one does: while the engine is away the log
 * has one line when that begins, one each minute, and one when it is over.
 */
export class PresenceSweeps {
  readonly #parts: Parts;
  readonly #stop: () => void;
  #isSweeping = false;
  #failed = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#stop = parts.clock.every(SWEEP_INTERVAL_MS, () => void this.#sweep());
  }

  close(): void {
    this.#stop();
  }

  async #sweep(): Promise<void> {
    // One at a time, however long it takes.
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    const { presence, clock, log } = this.#parts;
    try {
      await presence.sweep(clock.now());
      if (this.#failed > 0) log.info('expired presence is dropped again');
      this.#failed = 0;
    } catch (err) {
      if (this.#failed % REMINDED_SWEEPS === 0) log.error({ err }, 'expired presence is not dropped');
      this.#failed += 1;
    } finally {
      this.#isSweeping = false;
    }
  }
}
