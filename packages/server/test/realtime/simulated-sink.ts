import type { StreamSink } from '../../src/realtime/sessions/stream-sink.ts';
import { EventParser } from '../support/event-parser.ts';

interface Writing {
  readonly text: string;
  /** How much of it the network has. */
  taken: number;
  readonly onTaken: () => void;
}

/** A socket whose network takes what it is given, or does not for a while. */
export class SimulatedSink implements StreamSink {
  readonly parser = new EventParser();
  /** The very bytes that were written. */
  readonly written: (Buffer | string)[] = [];
  bytesWritten = 0;
  ended: 'soon' | 'at once' | null = null;
  /** The most that ever waited. */
  waitedMost = 0;
  /** To be called when its connection breaks. */
  onEnd = () => {};
  /** What throws with the next writing. */
  defect: Error | null = null;
  #isTaking = true;
  #waiting: Writing[] = [];

  /** As a socket counts: a writing waits whole until its last byte is taken. */
  get writableLength(): number {
    return this.#waiting.reduce((length, { text }) => length + text.length, 0);
  }

  write(bytes: Buffer | string, onTaken: () => void = () => {}): void {
    if (this.defect !== null) throw this.defect;
    if (this.ended !== null) return;
    this.written.push(bytes);
    const text = bytes.toString();
    this.bytesWritten += text.length;
    if (this.#isTaking) {
      this.parser.take(text);
      queueMicrotask(onTaken);
    } else this.#waiting.push({ text, taken: 0, onTaken });
    this.waitedMost = Math.max(this.waitedMost, this.writableLength);
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

  /** The network takes so many of the bytes that wait, and no more. */
  trickle(bytes: number): void {
    for (let left = bytes; left > 0; ) {
      const [first] = this.#waiting;
      if (first === undefined) return;
      const taken = Math.min(left, first.text.length - first.taken);
      this.parser.take(first.text.slice(first.taken, first.taken + taken));
      first.taken += taken;
      left -= taken;
      if (first.taken < first.text.length) return;
      this.#waiting.shift();
      first.onTaken();
    }
  }

  /** The network takes what waits, and whatever comes. */
  flow(): void {
    this.#isTaking = true;
    const waiting = this.#waiting.splice(0);
    for (const { text, taken } of waiting) this.parser.take(text.slice(taken));
    for (const { onTaken } of waiting) onTaken();
  }
}
