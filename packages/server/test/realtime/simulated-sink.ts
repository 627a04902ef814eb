import type { StreamSink } from '../../src/realtime/stream-session.ts';
import { EventParser } from './event-parser.ts';

/** How much may wait before a writer is told so; small, so that little is a lot. */
const HIGH_WATER = 400;

/** A socket whose network takes what it is given, or does not for a while. */
export class SimulatedSink implements StreamSink {
  readonly parser = new EventParser();
  /** The very bytes that were written. */
  readonly written: (Buffer | string)[] = [];
  ended: 'soon' | 'at once' | null = null;
  /** The most that ever waited. */
  waitedMost = 0;
  #isTaking = true;
  #waiting: string[] = [];
  #onDrain: (() => void)[] = [];

  get writableLength(): number {
    return this.#waiting.reduce((length, text) => length + text.length, 0);
  }

  write(bytes: Buffer | string): boolean {
    if (this.ended !== null) return false;
    this.written.push(bytes);
    const text = bytes.toString();
    if (this.#isTaking) this.parser.take(text);
    else this.#waiting.push(text);
    this.waitedMost = Math.max(this.waitedMost, this.writableLength);
    return this.writableLength < HIGH_WATER;
  }

  once(_event: 'drain', listener: () => void): void {
    this.#onDrain.push(listener);
  }

  setTimeout(): void {}

  destroySoon(): void {
    this.ended ??= 'soon';
  }

  destroy(): void {
    this.ended = 'at once';
    this.#waiting = [];
  }

  /** The network takes nothing from now on. */
  stop(): void {
    this.#isTaking = false;
  }

  /** The network takes what waits, and whatever comes. */
  flow(): void {
    this.#isTaking = true;
    for (const text of this.#waiting.splice(0)) this.parser.take(text);
    for (const listener of this.#onDrain.splice(0)) listener();
  }
}
