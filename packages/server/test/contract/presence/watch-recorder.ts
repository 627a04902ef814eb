import assert from 'node:assert/strict';
import type {
  PresenceEvent,
  PresenceScope,
  PresenceStore,
  PresenceWatch,
} from '../../../src/presence/presence-store.ts';

/** How long an event may take to come from another process. A test waits for it, never for the time. */
const ARRIVAL_MAX_MS = 10_000;

/** A watch and all that it was told. Every offset is held to be the next one. */
export class WatchRecorder {
  /** Set right after the watch is open: an event may be told before. */
  watch!: PresenceWatch;
  readonly events: PresenceEvent[] = [];
  readonly offsets: number[] = [];
  readonly checksums: (string | undefined)[] = [];
  isLost = false;
  #wake: () => void = () => {};

  static async open(
    store: PresenceStore,
    scope: PresenceScope,
    now: number,
    onEvent: (offset: number) => void = () => {},
  ): Promise<WatchRecorder> {
    const recorder = new WatchRecorder();
    recorder.watch = await store.watch(scope, now, {
      onEvent(offset, event, checksum) {
        recorder.checksums.push(checksum);
        recorder.#record(offset, event);
        onEvent(offset);
      },
      onLost() {
        recorder.isLost = true;
        recorder.#wake();
      },
    });
    return recorder;
  }

  /** The first `count` events, once they have come. */
  async first(count: number): Promise<PresenceEvent[]> {
    await this.#until(() => this.events.length >= count, `${count} events`);
    return this.events.slice(0, count);
  }

  /** All events up to this offset, once they have come. */
  async upTo(offset: number): Promise<PresenceEvent[]> {
    return this.first(offset - this.watch.position.offset);
  }

  /** Resolves when the watch is told that it is lost. */
  lost(): Promise<void> {
    return this.#until(() => this.isLost, 'onLost');
  }

  /** Holds the offsets to be in order and without a gap from the watch's position on. */
  assertOrder(): void {
    const { offset } = this.watch.position;
    assert.deepEqual(
      this.offsets,
      this.events.map((_, index) => offset + 1 + index),
    );
  }

  #record(offset: number, event: PresenceEvent): void {
    this.offsets.push(offset);
    this.events.push(event);
    this.#wake();
  }

  async #until(holds: () => boolean, what: string): Promise<void> {
    const deadline = performance.now() + ARRIVAL_MAX_MS;
    while (!holds()) {
      const left = deadline - performance.now();
      assert.ok(left > 0, `waited for ${what}; told ${this.events.length}: ${JSON.stringify(this.events)}`);
      await this.#change(left);
    }
  }

  /** Resolves at the next call, or when the time is over. */
  #change(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
