import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Store } from '../store/store.ts';
import type { Clock } from './clock.ts';

/** How often expired records are removed, in milliseconds. */
const SWEEP_INTERVAL_MS = 60 * 60 * 1_000;

interface Parts {
  readonly store: Pick<Store, 'changes'>;
  readonly clock: Clock;
  readonly changesSeconds: number;
}

/** Removes the records of what writes changed when they are older than the setting, until closed. */
export class ChangeRetention {
  readonly #parts: Parts;
  readonly #stop: () => void;
  #isClosed = false;
  #isSweeping = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#stop = parts.clock.every(SWEEP_INTERVAL_MS, () => void this.#sweep());
  }

  close(): void {
    this.#isClosed = true;
    this.#stop();
  }

  /** One small step after the other, so that other writes hardly wait. A step that fails is repeated by the next sweep. */
  async #sweep(): Promise<void> {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    const { store, clock, changesSeconds } = this.#parts;
    try {
      const before = clock.now() - changesSeconds * 1_000;
      while (!this.#isClosed && (await store.changes.removeBefore(before))) await nextIteration();
    } catch {
      // The store is away.
    } finally {
      this.#isSweeping = false;
    }
  }
}
