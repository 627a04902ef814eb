import assert from 'node:assert/strict';
import type {
  PresenceEvent,
  PresenceScope,
  PresenceStore,
  PresenceWatch,
} from '../../../src/presence/presence-store.ts';
import { Arrivals } from '../../support/waiting.ts';

/** A watch and all of its events. Checks that every offset is the next one. */
export class WatchRecorder {
  /** Set right after the watch is open: an event may come before. */
  watch!: PresenceWatch;
  readonly events: PresenceEvent[] = [];
  readonly offsets: number[] = [];
  readonly checksums: (string | undefined)[] = [];
  isLost = false;
  readonly #arrivals = new Arrivals();

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
        recorder.#arrivals.notify();
      },
    });
    return recorder;
  }

  /** Resolves with the first `count` events. */
  async first(count: number): Promise<PresenceEvent[]> {
    await this.#until(() => this.events.length >= count, `${count} events`);
    return this.events.slice(0, count);
  }

  /** Resolves with all events up to this offset. */
  async upTo(offset: number): Promise<PresenceEvent[]> {
    return this.first(offset - this.watch.position.offset);
  }

  /** Resolves when the watch is lost. */
  lost(): Promise<void> {
    return this.#until(() => this.isLost, 'onLost');
  }

  /** Checks that the offsets are in order and without a gap from the watch's position on. */
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
    this.#arrivals.notify();
  }

  #until(isTrue: () => boolean, what: string): Promise<void> {
    return this.#arrivals.until(what, isTrue, () => JSON.stringify(this.events));
  }
}
