import type { ByteSink } from '../../src/realtime/sessions/sse-sink.ts';
import { EventParser } from '../support/event-parser.ts';

interface Writing {
  readonly text: string;
  /** The number of its bytes that the network has received. */
  taken: number;
  readonly onTaken: () => void;
}

/** A socket whose network receives all bytes, or none for a while. */
export class SimulatedSink implements ByteSink {
  readonly parser = new EventParser();
  /** The bytes that were written, as the same objects. */
  readonly written: (Buffer | string)[] = [];
  bytesWritten = 0;
  ended: 'soon' | 'at once' | null = null;
  /** The highest number of waiting bytes. */
  waitedMost = 0;
  /** Called when the connection breaks. */
  onEnd = () => {};
  /** The error of the next write. */
  defect: Error | null = null;
  #isTaking = true;
  #waiting: Writing[] = [];

  /** The events except snapshots. */
  get changes() {
    return this.parser.events.filter(({ type }) => type !== 'snapshot');
  }

  /** The changes as `user line`. */
  get lines(): string[] {
    return this.changes.map(({ data }) => `${data.id} ${data.location.line}`);
  }

  /** Counts as a socket does: a write waits as a whole until its last byte is sent. */
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

  /** From now on the network receives nothing. */
  stop(): void {
    this.#isTaking = false;
  }

  /** The network receives so many of the waiting bytes, and no more. */
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

  /** The network receives the waiting bytes, and all later ones. */
  flow(): void {
    this.#isTaking = true;
    const waiting = this.#waiting.splice(0);
    for (const { text, taken } of waiting) this.parser.take(text.slice(taken));
    for (const { onTaken } of waiting) onTaken();
  }
}
